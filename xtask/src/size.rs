//! `cargo xtask size`: how large the page is as it is loaded.
//!
//! The budgets stand here, and `cargo xtask test` holds the page to them.

use std::fs;
use std::path::Path;

use anyhow::{Result, ensure};

use crate::fingerprint::files_under;
use crate::page::{self, FIRST, MINI, MINI_APP, VIEWER};

/// The most that a browser may load before the page is there, in KiB of brotli: what opens a plain pickle and draws
/// its timelines, for the page and its workers together. That is six seconds at a megabit, and half a second at ten.
///
/// It is 724, of which the verdict above every file's first picture took 15. Two compilers build the page, and theirs differ a
/// little.
///
/// Whatever else is wanted later belongs into a part (`crates/vramscope-app/src/parts.rs`).
const MOST_AT_ONCE_KIB: usize = 740;

/// The most that `<vramscope-viewer controls="mini">` may load until its picture is there, element included.
///
/// A page of others has several, and few of its readers look closer. It is 310.
const MOST_FOR_PICTURE_KIB: usize = 320;

/// The most that all files of the page together may take, in KiB of brotli, without those of an embedded viewer's first
/// picture. Parts that share much are better one part. It is 1,850, of which the ranks beside each other are 60, and 15 what
/// packs ten million events in seconds instead of a minute.
const MOST_IN_ALL_KIB: usize = 1880;

/// What is loaded together, whether a file of a name belongs to it, and the most KiB.
type Budget = (&'static str, fn(&str) -> bool, usize);

const BUDGETS: [Budget; 3] = [
    ("before anything is opened", is_at_once, MOST_AT_ONCE_KIB),
    (
        "for an embedded viewer's first picture",
        is_for_picture,
        MOST_FOR_PICTURE_KIB,
    ),
    (
        "in all",
        |name| !name.starts_with(MINI_APP),
        MOST_IN_ALL_KIB,
    ),
];

/// Builds the page, prints its sizes, and holds it to its budgets.
pub(crate) fn run() -> Result<()> {
    let page = page::build(page::FULL)?;
    let files = measure(&page)?;
    for (what, is_meant, _) in BUDGETS {
        println!("{:>10} {:>10}  loaded {what}", "bytes", "brotli");
        for (name, raw, brotli) in files.iter().filter(|(name, ..)| is_meant(name)) {
            println!("{raw:>10} {brotli:>10}  {name}");
        }
    }
    let module = page::compiled(page::FULL)?;
    println!(
        "what the module is made of: twiggy top -n 40 {}",
        module.display()
    );
    check(&files)
}

/// Holds a built page to its budgets.
pub(crate) fn hold(page: &Path) -> Result<()> {
    check(&measure(page)?)
}

fn check(files: &[(String, usize, usize)]) -> Result<()> {
    for (what, is_meant, most) in BUDGETS {
        let meant = files.iter().filter(|(name, ..)| is_meant(name));
        let kib = meant
            .map(|(.., brotli)| brotli)
            .sum::<usize>()
            .div_ceil(1024);
        println!("{kib} KiB of brotli {what}, at most {most} KiB");
        ensure!(
            kib <= most,
            "the page takes {kib} KiB {what}; its budget is {most} KiB (xtask/src/size.rs)"
        );
    }
    Ok(())
}

/// Whether the page loads a file before anything is opened.
fn is_at_once(name: &str) -> bool {
    let is_mini = name == MINI || name.starts_with(MINI_APP);
    let is_later = name == VIEWER || name.ends_with(".wasm");
    !is_mini && (!is_later || name.ends_with(FIRST))
}

/// Whether an embedded viewer of one picture loads a file until that is there.
fn is_for_picture(name: &str) -> bool {
    match name.split_once('/') {
        // The other styles come with the page.
        Some((folder, name)) if folder.starts_with(MINI_APP) => {
            name == FIRST || !(name.ends_with(".wasm") || name == "index.css")
        }
        _ => [VIEWER, MINI].contains(&name),
    }
}

/// The files of the page with their bytes and those of brotli, the largest first: all but the samples.
fn measure(page: &Path) -> Result<Vec<(String, usize, usize)>> {
    let mut sizes = Vec::new();
    for path in files_under(page)? {
        let name = path.strip_prefix(page)?;
        if name.starts_with("samples") {
            continue;
        }
        let bytes = fs::read(&path)?;
        let mut packed = Vec::new();
        let best = brotli::enc::BrotliEncoderParams::default();
        brotli::BrotliCompress(&mut &bytes[..], &mut packed, &best)?;
        sizes.push((name.display().to_string(), bytes.len(), packed.len()));
    }
    sizes.sort_by_key(|(.., brotli)| std::cmp::Reverse(*brotli));
    Ok(sizes)
}
