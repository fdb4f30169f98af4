//! `cargo xtask dist`: the files that are given to others.
//!
//! ```text
//! dist/site/                      the page, for any folder of any static host; nothing is loaded from elsewhere
//! dist/site/book/                 the documentation
//! dist/Containerfile, nginx.conf  an image that serves it
//! dist/bin/TARGET/                both programs, each a single file that runs on old systems too
//! dist/wheels/                    the Python package
//! dist/packages/                  for npm, and for VS Code
//! dist/SHA256SUMS                 for `sha256sum --check`
//! ```
//!
//! Beside or in each stands what it is made of (`.cdx.json`, CycloneDX) and under which licences (`THIRD-PARTY`).

mod inside;
mod licences;
mod portable;
mod sbom;
mod sums;
mod symbols;
mod wheel;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::book;
use crate::fingerprint::files_under;
use crate::fleet;
use crate::packages;
use crate::page::{Given, INDEX, copy_folder, replace_folder};
use crate::process::root;
use crate::python;
use crate::toolchain::WASM;

use self::inside::{Crates, Part};

pub(crate) use self::wheel::build as wheel;

/// Options of the command.
#[derive(Args)]
pub(crate) struct Options {
    /// Where to write it
    #[arg(long, default_value = "dist")]
    out: PathBuf,
    #[command(flatten)]
    page: Given,
    /// The machines that programs and wheels are for; aarch64-unknown-linux-gnu is another
    #[arg(long, value_name = "TARGET", default_value = TARGET)]
    target: Vec<String>,
    /// With the engine of `vramscope sql` in the program: DataFusion takes half an hour to build on two cores
    #[arg(long, conflicts_with = "site")]
    sql: bool,
    /// Only the page with the book
    #[arg(long)]
    site: bool,
}

/// The project's licences, which lie beside whatever is given to others.
const LICENCES: [&str; 2] = ["LICENSE-MIT", "LICENSE-APACHE"];

/// The target that is built for if no other is asked for.
pub(crate) const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Builds everything, and writes it to a folder relative to the repository's root.
///
/// # Errors
///
/// If a build fails, a program needs a newer system than it should, the licence of a crate is missing or unknown, or a
/// file cannot be written.
pub(crate) fn run(options: &Options) -> Result<()> {
    let out = root().join(&options.out);
    check(&out, options.page.page.as_deref())?;
    let page = options.page.folder()?;
    replace_folder(&out)?;
    copy_licences(&out)?;
    // Each kind is one function that writes below `out` with its notices.
    site(&page, &out)?;
    if !options.site {
        packages_and_programs(options, &page, &out)?;
    }
    sums::write(&out)?;
    for file in files_under(&out)? {
        let size = fs::metadata(&file)?.len().div_ceil(1024);
        println!("{size:>8} KiB  {}", file.strip_prefix(&out)?.display());
    }
    println!("all that is given to others is in {}", out.display());
    Ok(())
}

fn packages_and_programs(options: &Options, page: &Path, out: &Path) -> Result<()> {
    copy_into(&packages::npm::pack(page)?, &out.join("packages"))?;
    copy_into(&packages::vscode::pack(page)?, &out.join("packages"))?;
    let features: &[&str] = if options.sql { &fleet::FEATURE } else { &[] };
    for target in &options.target {
        programs(target, features, page, out)?;
        copy_into(&wheel(page, target)?, &out.join("wheels"))?;
    }
    Ok(())
}

/// Fails if what is in the folder may be somebody's: it is removed before anything is written.
fn check(out: &Path, page: Option<&Path>) -> Result<()> {
    let shown = out.display();
    ensure!(
        !out.is_symlink(),
        "{shown} is a link: name the folder itself"
    );
    if !out.exists() {
        return Ok(());
    }
    let is_empty = out.is_dir() && fs::read_dir(out)?.next().is_none();
    ensure!(
        is_empty || sums::are_of(out),
        "{shown} has something else than `cargo xtask dist` writes, and would be removed: name a new folder, or remove it yourself"
    );
    if let Some(page) = page {
        let page = fs::canonicalize(page).with_context(|| format!("no {}", page.display()))?;
        ensure!(
            !page.starts_with(fs::canonicalize(out)?),
            "the page to take lies in {shown}, which is removed before: name another --out"
        );
    }
    Ok(())
}

/// The page with the book, and how to serve it.
pub(crate) fn site(page: &Path, out: &Path) -> Result<()> {
    let site = out.join("site");
    copy_folder(page, &site)?;
    book::build(&site, &site.join(book::IN_SITE))?;
    link_book(&site.join(INDEX))?;
    copy_licences(&site)?;
    let components = Crates::read()?.inside(&[Part("vramscope-app", WASM, &[])])?;
    licences::write(&components, &site.join("THIRD-PARTY.txt"))?;
    sbom::write(&components, &out.join("site.cdx.json"))?;
    for name in ["Containerfile", "nginx.conf"] {
        copy_into(&root().join("xtask/src/dist").join(name), out)?;
    }
    Ok(())
}

/// Names the book in the page's head, where the page looks for it (`browser::documentation`).
fn link_book(index: &Path) -> Result<()> {
    let page = fs::read_to_string(index)?;
    let link = format!("<link rel=\"help\" href=\"{}/\">\n  </head>", book::IN_SITE);
    anyhow::ensure!(page.contains("</head>"), "no head in {}", index.display());
    fs::write(index, page.replacen("</head>", &link, 1))?;
    Ok(())
}

/// Both programs, the command line with these features.
fn programs(target: &str, features: &[&str], page: &Path, out: &Path) -> Result<()> {
    let crates = Crates::read()?;
    let builders = python::builders()?;
    let built = portable::build(target, features, page, &builders)?;
    let linked = portable::linked(&builders)?;
    let folder = out.join("bin").join(target);
    let parts = [
        [
            Part("vramscope-cli", target, features),
            Part("vramscope-app", WASM, &[]),
        ],
        [
            Part("vramscope-capture", target, &[]),
            Part("vramscope-inject", target, &[]),
        ],
    ];
    for (program, parts) in built.iter().zip(parts) {
        copy_into(program, &folder)?;
        let mut components = crates.inside(&parts)?;
        components.extend(linked.iter().cloned());
        let beside = |ending| {
            folder.join(
                program
                    .with_extension(ending)
                    .file_name()
                    .unwrap_or_default(),
            )
        };
        licences::write(&components, &beside("THIRD-PARTY.txt"))?;
        sbom::write(&components, &beside("cdx.json"))?;
    }
    copy_licences(&folder)
}

fn copy_into(file: &Path, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    let name = file.file_name().unwrap_or_default();
    fs::copy(file, folder.join(name)).with_context(|| format!("cannot copy {}", file.display()))?;
    Ok(())
}

pub(crate) fn copy_licences(folder: &Path) -> Result<()> {
    for name in LICENCES {
        copy_into(&root().join(name), folder)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_written_before_is_replaced() -> Result<()> {
        let folder = std::env::temp_dir().join(format!("vramscope-dist-{}", std::process::id()));
        let out = folder.join("out");
        check(&out, None)?;
        fs::create_dir_all(out.join("site"))?;
        check(&out, None).expect_err("it has a folder");
        fs::write(out.join("site/.nojekyll"), "")?;
        // What a download lists is not what lies beside it.
        fs::write(out.join("SHA256SUMS"), "00  image.iso\n")?;
        check(&out, None).expect_err("the sums are of another file");
        fs::remove_file(out.join("SHA256SUMS"))?;
        sums::write(&out)?;
        check(&out, None)?;
        check(&out, Some(&folder))?;
        check(&out, Some(&out.join("site"))).expect_err("the page would be removed");
        fs::write(out.join(".thesis"), "")?;
        check(&out, None).expect_err("it has another file");
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(&out, folder.join("link"))?;
            check(&folder.join("link"), None).expect_err("it is a link");
        }
        Ok(fs::remove_dir_all(folder)?)
    }
}
