//! `cargo xtask size`: how large the page is as it is loaded, and which crates its module is made of.
//!
//! The budgets stand here, and `cargo xtask test` holds the page to them.

use std::collections::HashMap;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use flate2::Compression;
use flate2::write::GzEncoder;
use wasmparser::{KnownCustom, Name, Parser, Payload};

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
/// picture. Parts that share much are better one part. It is 1,820, of which the ranks beside each other are 60, and 15 what
/// packs ten million events in seconds instead of a minute.
const MOST_IN_ALL_KIB: u64 = 1840;

/// Crates below this share of the module are summed up.
const LEAST_SHARE: f64 = 0.005;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Also list so many functions, the largest first; all copies of a generic one as one
    #[arg(long, value_name = "N")]
    functions: Option<usize>,
}

/// A file of the page with its sizes in bytes.
struct Sizes {
    name: String,
    raw: u64,
    gzip: u64,
    brotli: u64,
}

/// Builds the page and prints its sizes.
///
/// # Errors
///
/// If the build fails, a file cannot be read, or the page is larger than its budget.
pub(crate) fn run(options: &Options) -> Result<()> {
    let page = page::build(page::FULL)?;
    let files = measure(&page)?;
    print_files(&files);
    let module = page::compiled(page::FULL);
    match module.as_deref().map(read).transpose()? {
        Some(module) => {
            print_crates(&module);
            if let Some(most) = options.functions {
                print_functions(&module, most);
            }
        }
        None => println!(
            "the module with its names has been removed: rebuild the page to see what it is made of"
        ),
    }
    check(&files)
}

/// Holds a built page to its budget.
///
/// # Errors
///
/// If it is larger, or a file cannot be read.
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

/// What a module holds.
struct Module {
    /// The symbols of its functions, and their bytes.
    functions: Vec<(String, u64)>,
    /// Bytes of texts and tables.
    data: u64,
}

fn read(module: &Path) -> Result<Module> {
    let bytes = fs::read(module).with_context(|| format!("cannot read {}", module.display()))?;
    let (mut sizes, mut names, mut imported, mut data) = (Vec::new(), HashMap::new(), 0, 0);
    for payload in Parser::new(0).parse_all(&bytes) {
        match payload? {
            Payload::ImportSection(imports) => {
                imported += imports
                    .into_imports()
                    .filter(|import| matches!(import, Ok(import) if matches!(import.ty, wasmparser::TypeRef::Func(_))))
                    .count();
            }
            Payload::CodeSectionEntry(body) => sizes.push(body.range().len() as u64),
            Payload::DataSection(section) => data += section.range().len() as u64,
            Payload::CustomSection(section) => {
                let KnownCustom::Name(subsections) = section.as_known() else {
                    continue;
                };
                for subsection in subsections {
                    if let Name::Function(functions) = subsection? {
                        for function in functions {
                            let function = function?;
                            names.insert(function.index as usize, function.name);
                        }
                    }
                }
            }
            _ => {}
        }
    }
    let symbol = |place| names.get(&(imported + place)).copied().unwrap_or_default();
    let functions = sizes.into_iter().enumerate();
    Ok(Module {
        functions: functions
            .map(|(place, size)| (symbol(place).to_owned(), size))
            .collect(),
        data,
    })
}

/// Bytes and number of a module's functions by a name of theirs, the largest first.
fn by_name(module: &Module, name: impl Fn(&str) -> String) -> Vec<(String, u64, usize)> {
    let mut sums: HashMap<String, (u64, usize)> = HashMap::new();
    for (symbol, size) in &module.functions {
        let sum = sums.entry(name(symbol)).or_default();
        *sum = (sum.0 + size, sum.1 + 1);
    }
    let mut sums: Vec<_> = sums
        .into_iter()
        .map(|(name, (size, count))| (name, size, count))
        .collect();
    sums.sort_by_key(|(name, size, _)| (std::cmp::Reverse(*size), name.clone()));
    sums
}

/// A function's name without what tells copies of a generic one apart.
fn name_of(symbol: &str) -> String {
    format!("{:#}", rustc_demangle::demangle(symbol))
}

/// The crate of a function: that of the type or the path that its name begins with.
fn crate_of(symbol: &str) -> String {
    let name = name_of(symbol);
    let path = name.trim_start_matches(|c: char| !c.is_ascii_alphabetic() && c != '_');
    // References, pointers and trait objects of a crate's types belong to it.
    let path = path
        .trim_start_matches("mut ")
        .trim_start_matches("dyn ")
        .trim_start_matches("const ");
    match path.split_once("::") {
        Some((first, _))
            if first
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') =>
        {
            first.to_owned()
        }
        _ => "(others)".to_owned(),
    }
}

fn print_crates(module: &Module) {
    let mut crates = by_name(module, crate_of);
    crates.push(("(texts and tables)".to_owned(), module.data, 1));
    crates.sort_by_key(|(_, size, _)| std::cmp::Reverse(*size));
    let all: u64 = crates.iter().map(|(_, size, _)| size).sum();
    println!(
        "\n{:>10} {:>8}  what the module is made of, by crate (generic code counts where it is written)",
        "bytes", "share"
    );
    let share = |size: u64| size as f64 / all as f64;
    let (large, small): (Vec<_>, Vec<_>) = crates
        .iter()
        .partition(|(_, size, _)| share(*size) >= LEAST_SHARE);
    let rest = (
        "(smaller ones)".to_owned(),
        small.iter().map(|(_, size, _)| size).sum(),
        small.len(),
    );
    for (name, size, _) in large.into_iter().chain([&rest]) {
        println!("{size:>10} {:>7.1}%  {name}", share(*size) * 100.0);
    }
}

fn print_functions(module: &Module, most: usize) {
    println!("\n{:>10} {:>8}  its functions", "bytes", "copies");
    for (name, size, copies) in by_name(module, name_of).iter().take(most) {
        println!("{size:>10} {copies:>8}  {name}");
    }
}

#[cfg(test)]
mod tests {
    use super::crate_of;

    #[test]
    fn a_function_belongs_to_the_crate_of_its_path() {
        for (symbol, name) in [
            ("yew::html::component::lifecycle::render", "yew"),
            (
                "<vramscope_app::state::Page as core::fmt::Debug>::fmt",
                "vramscope_app",
            ),
            (
                "<&mut serde_json::de::Deserializer<R> as serde::de::Deserializer>::deserialize_map",
                "serde_json",
            ),
            ("<alloc::vec::Vec<T> as core::clone::Clone>::clone", "alloc"),
            ("memcpy", "(others)"),
        ] {
            assert_eq!(crate_of(symbol), name, "{symbol}");
        }
    }
}
