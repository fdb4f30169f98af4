//! Splits the page's module: what it needs at once, and parts that are loaded when they are first needed.
//!
//! `crates/vramscope-app/src/parts.rs` declares the functions behind which a part begins. What only they reach goes
//! into their part, and what several parts reach into modules between them. All share one memory and one table
//! of functions.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, ensure};
use wasm_split_cli_support::{Options, transform};
use wasmparser::{Parser, Payload};

/// Where `www/page.js` names the files of each part.
const PLACE: &str = "const PARTS = {};";

/// The split module.
pub(super) struct Parts {
    /// The module that is loaded at once.
    pub(super) first: PathBuf,
    /// Part → its files in the order in which they are to be loaded.
    files: BTreeMap<String, Vec<String>>,
}

/// Splits `module`. The parts are written into `app`, the first module beside `module`.
///
/// # Errors
///
/// If the module has no relocations, or a file cannot be read or written.
pub(super) fn split(module: &Path, app: &Path) -> Result<Parts> {
    let first = module.with_extension("first.wasm");
    let bytes = fs::read(module).with_context(|| format!("cannot read {}", module.display()))?;
    let mut options = Options::new(&bytes);
    options.output_dir = app;
    options.main_out_path = &first;
    // JavaScript that loads the parts, which `page.js` does instead.
    const LOADER: &str = "loader.js";
    options.link_name = LOADER;
    let split = transform(options).map_err(|error| anyhow!("wasm-split: {error:#}"))?;
    fs::remove_file(app.join(LOADER))?;
    for part in split.split_modules {
        let bytes = fs::read(&part)?;
        fs::write(&part, without_names(&bytes)?)?;
    }
    let files = split.prefetch_map.into_iter().collect();
    Ok(Parts { first, files })
}

/// A module without the names of its functions and of its tools.
fn without_names(module: &[u8]) -> Result<Vec<u8>> {
    let mut bare = Vec::new();
    for payload in Parser::new(0).parse_all(module) {
        let payload = payload?;
        if let Payload::Version { range, .. } = &payload {
            bare.extend(&module[range.clone()]);
        }
        if let Some((id, range)) = payload.as_section().filter(|(id, _)| *id != CUSTOM) {
            bare.push(id);
            leb128(range.len(), &mut bare);
            bare.extend(&module[range]);
        }
    }
    Ok(bare)
}

/// The number of sections of which none is needed to run a module.
const CUSTOM: u8 = 0;

fn leb128(mut number: usize, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

impl Parts {
    /// The files of a part, without their ending.
    pub(super) fn of(&self, part: &str) -> &[String] {
        self.files.get(part).map_or(&[], Vec::as_slice)
    }

    /// Writes the files of each part into `page.js`.
    ///
    /// # Errors
    ///
    /// If the file has no place for them, or cannot be written.
    pub(super) fn tell(&self, page_js: &Path) -> Result<()> {
        let script = fs::read_to_string(page_js)?;
        ensure!(script.contains(PLACE), "www/page.js lacks `{PLACE}`");
        let files = serde_json::to_string(&self.files)?;
        Ok(fs::write(
            page_js,
            script.replace(PLACE, &format!("const PARTS = {files};")),
        )?)
    }
}

/// The files of a part, as the `page.js` of a built page names them.
///
/// # Errors
///
/// If it does not.
pub(super) fn told(page_js: &str, part: &str) -> Result<Vec<String>> {
    let (start, end) = PLACE.split_once("{}").context("a place for the parts")?;
    let parts = page_js
        .split_once(start)
        .and_then(|(_, rest)| rest.split_once(end));
    let (parts, _) = parts.context("page.js names no parts")?;
    let mut parts: BTreeMap<String, Vec<String>> = serde_json::from_str(parts)?;
    parts
        .remove(part)
        .with_context(|| format!("page.js names no part {part}"))
}
