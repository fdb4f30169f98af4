//! Fingerprints of files by content, to skip builds whose inputs have not changed.

use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// All files below `path`, or `path` itself, sorted; without build outputs and hidden files.
pub fn files_under(path: &Path) -> Result<Vec<PathBuf>> {
    files_named(path, |name| !name.starts_with('.') && name != "target")
}

/// All files below `path`, sorted, for which the names of the file and its folders satisfy `is_taken`.
pub fn files_named(path: &Path, is_taken: fn(&str) -> bool) -> Result<Vec<PathBuf>> {
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
            if is_taken(&entry.file_name().to_string_lossy()) {
                open.push(entry.path());
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Hashes the names and contents of all files below `paths`, and `extra`, to 64 bits.
pub fn of(paths: &[PathBuf], extra: &str) -> Result<String> {
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
