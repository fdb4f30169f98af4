//! `cargo xtask dist`: the files for release.
//!
//! ```text
//! dist/site/                      the page, for any folder of any static host; nothing is loaded from elsewhere
//! dist/site/book/                 the documentation
//! dist/site/gallery/              recordings that it shows
//! dist/Containerfile, nginx.conf  an image that serves it
//! dist/bin/TARGET/                both programs, each a single file that runs on old systems too
//! dist/wheels/                    the Python package
//! dist/packages/                  for npm, and for VS Code
//! dist/SHA256SUMS                 for `sha256sum --check`
//! ```
//!
//! Each contains, or has beside it, a list of its components (`.cdx.json`, CycloneDX) and their licences
//! (`THIRD-PARTY`).

mod inside;
mod licences;
mod portable;
mod sbom;
mod symbols;
mod wheel;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::Args;
use sha2::{Digest as _, Sha256};

use crate::book;
use crate::fingerprint::files_named;
use crate::fleet;
use crate::packages;
use crate::page::{Given, INDEX, copy_folder, replace_folder, write_offline};
use crate::process::root;
use crate::python;
use crate::toolchain::WASM;

use self::inside::{Crates, Part};

pub(crate) use self::wheel::build as wheel;

#[derive(Args)]
pub(crate) struct Options {
    /// Where to write: a new or an empty folder; the default one is replaced
    #[arg(long, default_value = OUT)]
    out: PathBuf,
    #[command(flatten)]
    page: Given,
    /// The targets of programs and wheels; aarch64-unknown-linux-gnu is another
    #[arg(long, value_name = "TARGET", default_value = TARGET)]
    target: Vec<String>,
    /// With the engine of `vramscope sql` in the program: DataFusion takes half an hour to build on two cores
    #[arg(long, conflicts_with = "site")]
    sql: bool,
    /// Only the page with the book
    #[arg(long)]
    site: bool,
}

/// The project's licences, which accompany every release.
const LICENCES: [&str; 2] = ["LICENSE-MIT", "LICENSE-APACHE"];

/// The default output folder.
const OUT: &str = "dist";

/// The default target.
pub(crate) const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Builds everything, and writes it to a folder relative to the repository's root.
pub(crate) fn run(options: &Options) -> Result<()> {
    let out = root().join(&options.out);
    let given = options.page.page.as_ref();
    let given = given.map(fs::canonicalize).transpose();
    let given = given.context("the page to take is not there")?;
    check(&out, out == root().join(OUT), given.as_deref())?;
    let page = options.page.folder()?;
    replace_folder(&out)?;
    copy_licences(&out)?;
    // Each kind is one function that writes below `out` with its notices.
    site(&page, &out)?;
    if !options.site {
        packages_and_programs(options, &page, &out)?;
    }
    let mut sums = String::new();
    for file in files_named(&out, |_| true)? {
        let content = fs::read(&file)?;
        let name = file.strip_prefix(&out)?.display();
        for byte in Sha256::digest(&content) {
            write!(sums, "{byte:02x}")?;
        }
        writeln!(sums, "  {name}")?;
        println!("{:>8} KiB  {name}", content.len().div_ceil(1024));
    }
    fs::write(out.join("SHA256SUMS"), sums)?;
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

/// Fails if the folder may hold somebody's files, or the page to take: it is removed before anything is written.
fn check(out: &Path, is_ours: bool, page: Option<&Path>) -> Result<()> {
    let is_empty = fs::read_dir(out).map_or(!out.exists(), |mut files| files.next().is_none());
    ensure!(
        is_ours || is_empty,
        "{} would be removed with what is in it: name a new folder, or remove it yourself",
        out.display()
    );
    let real = fs::canonicalize(out);
    let real = real.as_deref().unwrap_or(out);
    ensure!(
        page.is_none_or(|page| is_empty || !page.starts_with(real)),
        "the page to take lies in {}, which is removed before: name another --out",
        out.display()
    );
    Ok(())
}

/// The components of the page.
const PAGE: [Part<'static>; 3] = [
    ("vramscope-app", WASM, &[]),
    ("vramscope-worker", WASM, &[]),
    ("vramscope-planner", WASM, &[]),
];

/// The page with the book, and how to serve it.
pub(crate) fn site(page: &Path, out: &Path) -> Result<()> {
    let site = out.join("site");
    copy_folder(page, &site)?;
    book::build(&site, &site.join(book::IN_SITE))?;
    link_book(&site.join(INDEX))?;
    write_offline(&site)?;
    copy_licences(&site)?;
    let components = Crates::read()?.inside(&PAGE)?;
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
    ensure!(page.contains("</head>"), "no head in {}", index.display());
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
    let [app, worker, planner] = PAGE;
    let library: Part = ("vramscope-inject", target, &[]);
    let parts: [&[Part<'_>]; 2] = [
        &[("vramscope-cli", target, features), app, worker, planner],
        &[("vramscope-capture", target, &[]), library],
    ];
    for (program, parts) in built.iter().zip(parts) {
        copy_into(program, &folder)?;
        let mut components = crates.inside(parts)?;
        components.extend(linked.iter().cloned());
        let copy = folder.join(program.file_name().unwrap_or_default());
        let beside = |ending| copy.with_extension(ending);
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
        check(&out, false, None)?;
        fs::create_dir_all(&out)?;
        check(&out, false, None)?;
        fs::write(out.join(".thesis"), "")?;
        check(&out, false, None).expect_err("it has a file");
        check(&out.join(".thesis"), false, None).expect_err("it is a file");
        check(&out, true, Some(&folder))?;
        check(&out, true, Some(&out.join("site"))).expect_err("the page would be removed");
        Ok(fs::remove_dir_all(folder)?)
    }
}
