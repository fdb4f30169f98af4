//! Writes the page as a static site: relative addresses, no server logic, nothing foreign.

use std::path::Path;

use anyhow::Result;

use crate::fingerprint::files_under;
use crate::page::{self, Profile, copy_folder, replace_folder};
use crate::process::root;

/// Builds the page and copies it to `out` (relative to the repository's root).
///
/// # Errors
///
/// When the build fails or a file cannot be written.
pub(crate) fn run(out: &Path) -> Result<()> {
    let page = page::build(Profile::Full)?;
    let out = root().join(out);
    replace_folder(&out)?;
    copy_folder(&page, &out)?;
    for file in files_under(&out)? {
        let size = std::fs::metadata(&file)?.len().div_ceil(1024);
        println!("{size:>8} KiB  {}", file.strip_prefix(&out)?.display());
    }
    println!("static site in {}", out.display());
    Ok(())
}
