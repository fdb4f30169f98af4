//! Folders of raw logs.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// File name extension of raw logs.
pub(crate) const LOG_EXTENSION: &str = "raw";

/// The given logs, and the logs in the given folders and their subfolders.
///
/// # Errors
/// If a folder cannot be read, or has no log.
pub(crate) fn find_logs(named: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut logs = Vec::new();
    for path in named {
        if !path.is_dir() {
            logs.push(path.clone());
            continue;
        }
        let mut found = files_in(path, LOG_EXTENSION)?;
        for run in folders_in(path)? {
            found.extend(files_in(&run, LOG_EXTENSION)?);
        }
        if found.is_empty() {
            return Err(Failure::input(format!(
                "{} contains no raw log (*.raw), and neither do its folders",
                path.display()
            )));
        }
        logs.extend(found);
    }
    Ok(logs)
}

/// The files in a folder with this extension, sorted by name.
///
/// # Errors
/// If the folder cannot be read.
pub(crate) fn files_in(folder: &Path, extension: &str) -> Result<Vec<PathBuf>, Failure> {
    let mut paths = entries(folder)?;
    paths.retain(|path| path.extension() == Some(OsStr::new(extension)));
    Ok(paths)
}

/// The subfolders, sorted by name. `run` creates one for its logs.
fn folders_in(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut paths = entries(folder)?;
    paths.retain(|path| path.is_dir());
    Ok(paths)
}

/// The entries of a folder, sorted by name.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let read = || {
        let entries = fs::read_dir(folder)?;
        entries
            .map(|entry| Ok(entry?.path()))
            .collect::<std::io::Result<Vec<_>>>()
    };
    let mut paths = read().map_err(Failure::io(format!("cannot read {}", folder.display())))?;
    paths.sort();
    Ok(paths)
}
