//! Writes the files for distribution: the page as a static site (relative addresses, no server code, nothing
//! loaded from elsewhere), and the programs for machines like this one, each as a single file.
//!
//! ```text
//! dist/site/                      for any folder of any static host
//! dist/site/book/                 the documentation
//! dist/bin/vramscope              with the page inside
//! dist/bin/vramscope-capture      with the library that it starts programs with inside
//! ```

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::book;
use crate::fingerprint::files_under;
use crate::page::{self, Profile, copy_folder, replace_folder};
use crate::process::root;
use crate::program::{self, Speed};

/// Builds the page and the programs, and copies them to `out`, relative to the repository's root.
///
/// # Errors
///
/// If a build fails or a file cannot be written.
pub(crate) fn run(out: &Path) -> Result<()> {
    let page = page::build(Profile::Full)?;
    let out = root().join(out);
    replace_folder(&out)?;
    copy_folder(&page, &out.join("site"))?;
    book::build(&out.join("site"))?;
    let bin = out.join("bin");
    fs::create_dir_all(&bin)?;
    for program in [
        program::build(&page, Speed::Release)?,
        program::build_capture()?,
    ] {
        let name = program.file_name().unwrap_or_default();
        fs::copy(&program, bin.join(name))
            .with_context(|| format!("cannot copy {}", program.display()))?;
    }
    for file in files_under(&out)? {
        let size = std::fs::metadata(&file)?.len().div_ceil(1024);
        println!("{size:>8} KiB  {}", file.strip_prefix(&out)?.display());
    }
    println!("static site and programs in {}", out.display());
    Ok(())
}
