//! `SHA256SUMS`: a sum of every file, as `sha256sum --check` reads it.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use sha2::{Digest, Sha256};

const NAME: &str = "SHA256SUMS";

/// Writes the sums of all files in a folder into it.
pub(super) fn write(folder: &Path) -> Result<()> {
    let mut out = String::new();
    for file in all_files(folder)? {
        for byte in Sha256::digest(fs::read(&file)?) {
            write!(out, "{byte:02x}")?;
        }
        writeln!(out, "  {}", file.strip_prefix(folder)?.display())?;
    }
    Ok(fs::write(folder.join(NAME), out)?)
}

/// Whether a folder has sums, and no file that is not among them.
pub(super) fn are_of(folder: &Path) -> bool {
    let (Ok(sums), Ok(files)) = (fs::read_to_string(folder.join(NAME)), all_files(folder)) else {
        return false;
    };
    let names = sums.lines().filter_map(|line| line.split_once("  "));
    let names: HashSet<_> = names.map(|(_, name)| folder.join(name)).collect();
    let mut others = files.iter().filter(|file| **file != folder.join(NAME));
    others.all(|file| names.contains(file))
}

/// All files below a folder, in order, also hidden ones. Links are not followed.
fn all_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let (mut files, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            match entry.file_type()?.is_dir() {
                true => folders.push(entry.path()),
                false => files.push(entry.path()),
            }
        }
    }
    files.sort();
    Ok(files)
}
