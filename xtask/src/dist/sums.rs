//! `SHA256SUMS`: a sum of every file, as `sha256sum --check` reads it.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::Result;
use sha2::{Digest, Sha256};

use crate::fingerprint::files_under;

/// Writes the sums of all files in a folder into it.
///
/// # Errors
///
/// If a file cannot be read or written.
pub(super) fn write(folder: &Path) -> Result<()> {
    let mut out = String::new();
    for file in files_under(folder)? {
        for byte in Sha256::digest(fs::read(&file)?) {
            write!(out, "{byte:02x}")?;
        }
        writeln!(out, "  {}", file.strip_prefix(folder)?.display())?;
    }
    Ok(fs::write(folder.join("SHA256SUMS"), out)?)
}
