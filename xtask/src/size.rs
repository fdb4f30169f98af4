//! `cargo xtask size`: the page's size as it is loaded.
//!
//! The budgets are here, and `cargo xtask test --all` checks the page against them. They are generous: they catch what
//! is included by mistake, and no line is written for the sake of a kilobyte.

use std::fs;
use std::path::Path;

use anyhow::{Result, ensure};

use crate::fingerprint::files_under;
use crate::page;

/// Each program and the most KiB of brotli that its module may take. The page takes 670 (a third of its code is Yew), the worker
/// 1,034, the planner 534, and the first picture of an embedded viewer 125.
///
/// The goal is 600 for the page, 800 for the worker and 450 for the planner.
const BUDGETS: [(&str, usize); 4] = [
    ("vramscope_app", 680),
    ("vramscope_worker", 1_050),
    ("vramscope_planner", 555),
    ("vramscope_mini", 130),
];

/// Builds the page, prints the sizes of its files, and checks its programs against their budgets.
pub(crate) fn run() -> Result<()> {
    let page = page::build(page::FULL)?;
    let files = measure(&page)?;
    println!("{:>10} {:>10}", "bytes", "brotli");
    for (name, raw, brotli) in &files {
        println!("{raw:>10} {brotli:>10}  {name}");
    }
    for module in page::compiled(page::FULL)? {
        println!("what it is made of: twiggy top -n 40 {}", module.display());
    }
    check(&files)
}

/// Checks a built page against the budgets.
pub(crate) fn hold(page: &Path) -> Result<()> {
    check(&measure(page)?)
}

fn check(files: &[(String, usize, usize)]) -> Result<()> {
    for (program, most) in BUDGETS {
        let module = format!("{program}_bg.wasm");
        let found = files.iter().find(|(name, ..)| name.ends_with(&module));
        let kib = found.map_or(0, |(.., brotli)| brotli.div_ceil(1024));
        println!("{program}: {kib} KiB of brotli, at most {most} KiB");
        ensure!(
            (1..=most).contains(&kib),
            "{program} takes {kib} KiB; its budget is {most} KiB (xtask/src/size.rs)"
        );
    }
    Ok(())
}

/// The files of the page with their bytes and those of brotli, largest first, without the samples.
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
