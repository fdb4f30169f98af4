//! `cargo xtask size`: how large the page is as it is loaded.
//!
//! The budgets stand here, and `cargo xtask test` holds the page to them.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::fingerprint::files_under;
use crate::page::{self, FIRST, MINI, MINI_APP, VIEWER};

/// The most that a browser may load before the page is there, in KiB of brotli: what opens a plain pickle and draws
/// its timelines, for the page and its workers together. That is six seconds at a megabit, and half a second at ten.
///
/// It is 724, of which the verdict above every file's first picture took 15. Two compilers build the page, and theirs differ a
/// little.
///
/// Whatever else is wanted later belongs into a part (`crates/vramscope-app/src/parts.rs`).
const MOST_AT_ONCE_KIB: u64 = 740;

/// The most that `<vramscope-viewer controls="mini">` may load until its picture is there, element included.
///
/// A page of others has several, and few of its readers look closer. It is 310.
const MOST_FOR_PICTURE_KIB: u64 = 320;

/// The most that all files of the page together may take, in KiB of brotli, without those of an embedded viewer's first
/// picture. Parts that share much are better one part. It is 1,850, of which the ranks beside each other are 60, and 15 what
/// packs ten million events in seconds instead of a minute.
const MOST_IN_ALL_KIB: u64 = 1880;

/// A file of the page with its sizes in bytes.
struct Sizes {
    name: String,
    raw: u64,
    gzip: u64,
    brotli: u64,
}

/// Builds the page and prints its sizes.
pub(crate) fn run() -> Result<()> {
    let page = page::build(page::FULL)?;
    let files = measure(&page)?;
    print_files(&files);
    if let Some(module) = page::compiled(page::FULL) {
        println!(
            "what the module is made of: twiggy top -n 40 {}",
            module.display()
        );
    }
    check(&files)
}

/// Holds a built page to its budget.
pub(crate) fn hold(page: &Path) -> Result<()> {
    check(&measure(page)?)
}

fn check(files: &[Sizes]) -> Result<()> {
    let kib = |is_meant: fn(&Sizes) -> bool| {
        let meant = files.iter().filter(|file| is_meant(file));
        meant.map(|file| file.brotli).sum::<u64>().div_ceil(1024)
    };
    for (what, is, most) in [
        ("at once", kib(Sizes::is_at_once), MOST_AT_ONCE_KIB),
        (
            "for an embedded viewer's first picture",
            kib(Sizes::is_for_picture),
            MOST_FOR_PICTURE_KIB,
        ),
        (
            "in all",
            kib(|file| !file.name.starts_with(MINI_APP)),
            MOST_IN_ALL_KIB,
        ),
    ] {
        ensure!(
            is <= most,
            "the page takes {is} KiB of brotli {what}; its budget is {most} KiB (xtask/src/size.rs)"
        );
    }
    Ok(())
}

impl Sizes {
    /// Whether the page loads it before anything is opened.
    fn is_at_once(&self) -> bool {
        let is_mini = self.name == MINI || self.name.starts_with(MINI_APP);
        let is_later = self.name == VIEWER || self.name.ends_with(".wasm");
        !is_mini && (!is_later || self.name.ends_with(FIRST))
    }

    /// Whether an embedded viewer of one picture loads it until that is there.
    fn is_for_picture(&self) -> bool {
        let own = self
            .name
            .split_once('/')
            .filter(|(folder, _)| folder.starts_with(MINI_APP));
        match own {
            // The other styles come with the page.
            Some((_, name)) => name == FIRST || !(name.ends_with(".wasm") || name == "index.css"),
            None => [VIEWER, MINI].contains(&self.name.as_str()),
        }
    }
}

/// The files of the page, the largest first: all but the samples.
fn measure(page: &Path) -> Result<Vec<Sizes>> {
    let mut sizes = Vec::new();
    for path in files_under(page)? {
        let name = path.strip_prefix(page)?;
        if name.starts_with("samples") {
            continue;
        }
        let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        sizes.push(Sizes {
            name: name.display().to_string(),
            raw: bytes.len() as u64,
            gzip: gzip(&bytes)?.len() as u64,
            brotli: brotli(&bytes)?.len() as u64,
        });
    }
    sizes.sort_by_key(|file| std::cmp::Reverse(file.brotli));
    Ok(sizes)
}

fn gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?)
}

fn brotli(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let best = brotli::enc::BrotliEncoderParams::default();
    brotli::BrotliCompress(&mut &bytes[..], &mut out, &best)?;
    Ok(out)
}

fn print_files(files: &[Sizes]) {
    let (at_once, later): (Vec<_>, Vec<_>) = files.iter().partition(|file| file.is_at_once());
    let picture = files.iter().filter(|file| file.is_for_picture());
    print_group(&at_once, "loaded before anything is opened (bytes)");
    print_group(&later, "loaded when first needed (bytes)");
    print_group(
        &picture.collect::<Vec<_>>(),
        "loaded for an embedded viewer's first picture (bytes)",
    );
}

fn print_group(files: &[&Sizes], title: &str) {
    println!("{:>10} {:>10} {:>10}  {title}", "raw", "gzip", "brotli");
    let sum = |size: fn(&Sizes) -> u64| files.iter().map(|file| size(file)).sum();
    let all = Sizes {
        name: "all".to_owned(),
        raw: sum(|file| file.raw),
        gzip: sum(|file| file.gzip),
        brotli: sum(|file| file.brotli),
    };
    for Sizes {
        name,
        raw,
        gzip,
        brotli,
    } in files.iter().copied().chain([&all])
    {
        println!("{raw:>10} {gzip:>10} {brotli:>10}  {name}");
    }
}
