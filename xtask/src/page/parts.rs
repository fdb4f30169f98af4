//! Splits the page's module: what it needs at once, and parts that are loaded when they are first needed.
//!
//! `crates/vramscope-app/src/parts.rs` declares the functions behind which a part begins. What only they reach goes
//! into their part, and what several parts reach into modules between them. All share one memory and one table
//! of functions.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Result, anyhow, ensure};
use wasm_encoder::{Module, RawSection, SectionId};
use wasm_split_cli_support::{Options, transform};
use wasmparser::{Parser, Payload};

/// Where `www/page.js` names the files of each part.
const PLACE: &str = "const PARTS = {};";

/// Part → its files in the order in which they are to be loaded.
type Parts = BTreeMap<String, Vec<String>>;

/// Splits `module`. The parts are written into `app`, the first module is written as `first`. The part `unused` is left out.
pub(super) fn split(module: &[u8], first: &Path, app: &Path, unused: &str) -> Result<Parts> {
    let mut options = Options::new(module);
    options.output_dir = app;
    options.main_out_path = first;
    // JavaScript that loads the parts, which `page.js` does instead.
    const LOADER: &str = "loader.js";
    options.link_name = LOADER;
    let split = transform(options).map_err(|error| anyhow!("wasm-split: {error:#}"))?;
    fs::remove_file(app.join(LOADER))?;
    let mut files: Parts = split.prefetch_map.into_iter().collect();
    files.remove(unused);
    for path in split.split_modules {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let bare = without_names(&fs::read(&path)?)?;
        let is_used = files.values().flatten().any(|file| *file == name);
        // A part whose doors are closed has nothing of its own.
        if is_used && has_code(&bare)? {
            fs::write(&path, bare)?;
            continue;
        }
        for files in files.values_mut() {
            files.retain(|file| *file != name);
        }
        fs::remove_file(&path)?;
    }
    Ok(files)
}

/// Whether a module defines functions or data.
fn has_code(module: &[u8]) -> Result<bool> {
    for payload in Parser::new(0).parse_all(module) {
        match payload? {
            Payload::CodeSectionStart { count, .. } if count > 0 => return Ok(true),
            Payload::DataSection(section) if section.count() > 0 => return Ok(true),
            _ => {}
        }
    }
    Ok(false)
}

/// A module without the names of its functions and of its tools.
fn without_names(module: &[u8]) -> Result<Vec<u8>> {
    let mut bare = Module::new();
    for payload in Parser::new(0).parse_all(module) {
        // None of the others is needed to run it.
        let needed = payload?.as_section();
        if let Some((id, range)) = needed.filter(|(id, _)| *id != SectionId::Custom as u8) {
            let data = &module[range];
            bare.section(&RawSection { id, data });
        }
    }
    Ok(bare.finish())
}

/// Writes the files of each part into `page.js`.
pub(super) fn tell(parts: &Parts, page_js: &Path) -> Result<()> {
    let script = fs::read_to_string(page_js)?;
    ensure!(script.contains(PLACE), "www/page.js lacks `{PLACE}`");
    let told = format!("const PARTS = {};", serde_json::to_string(parts)?);
    Ok(fs::write(page_js, script.replace(PLACE, &told))?)
}
