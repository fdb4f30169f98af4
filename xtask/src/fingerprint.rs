//! A fingerprint of files by content, so that what is built already is not built again.

use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Every file under `path` (or `path` itself), sorted; build outputs and hidden files left out.
///
/// # Errors
///
/// When a folder cannot be read.
pub(crate) fn files_under(path: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut open = vec![path.to_path_buf()];
    while let Some(path) = open.pop() {
        if !path.is_dir() {
            files.push(path);
            continue;
        }
        let entries =
            fs::read_dir(&path).with_context(|| format!("cannot read {}", path.display()))?;
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if !name.starts_with('.') && name != "target" {
                open.push(entry.path());
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Mixes names and contents of all files under `paths`, and `extra`, into 64 bits.
///
/// # Errors
///
/// When a file cannot be read.
pub(crate) fn of(paths: &[PathBuf], extra: &str) -> Result<String> {
    let mut hasher = DefaultHasher::new();
    hasher.write(extra.as_bytes());
    for path in paths {
        for file in files_under(path)? {
            let content =
                fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
            hasher.write(file.as_os_str().as_encoded_bytes());
            hasher.write_usize(content.len());
            hasher.write(&content);
        }
    }
    Ok(format!("{:016x}", hasher.finish()))
}
