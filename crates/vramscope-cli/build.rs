//! Builds the page into the program: every file below the folder named by `VRAMSCOPE_PAGE`, compressed, as one static
//! table. Without the variable the folder is `page` of the published crate; otherwise the table is empty.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use flate2::Compression;
use flate2::write::GzEncoder;

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-env-changed=VRAMSCOPE_PAGE");
    println!("cargo::rerun-if-changed=build.rs");
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?);
    let mut table = String::from("&[\n");
    // Cargo puts this file into every package. In a checkout, such a page was left by an interrupted `cargo xtask
    // publish`.
    let is_published = Path::new("Cargo.toml.orig").is_file();
    let carried = Some(PathBuf::from("page")).filter(|page| is_published && page.is_dir());
    let named = env::var_os("VRAMSCOPE_PAGE").map(PathBuf::from);
    if let Some(page) = named.or(carried) {
        println!("cargo::rerun-if-changed={}", page.display());
        let mut files = Vec::new();
        list(&page, &mut files)?;
        // An embedded viewer's first picture, which the program never shows.
        files.retain(|file| {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            !["mini.", "vramscope_mini"]
                .iter()
                .any(|start| name.starts_with(start))
        });
        files.sort();
        for (index, file) in files.iter().enumerate() {
            let compressed = out.join(format!("page-{index}.gz"));
            fs::write(&compressed, compress(&fs::read(file)?)?)?;
            let name = name_in_page(&page, file);
            writeln!(
                table,
                "Asset::of_program({name:?}, include_bytes!({compressed:?})),"
            )
            .map_err(io::Error::other)?;
        }
    }
    table.push(']');
    fs::write(out.join("assets.rs"), table)
}

/// All files below a folder.
fn list(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            list(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

/// The path relative to the page's folder, as it appears in an address.
fn name_in_page(page: &Path, file: &Path) -> String {
    let inside = file.strip_prefix(page).unwrap_or(file);
    let parts: Vec<_> = inside.iter().map(|part| part.to_string_lossy()).collect();
    parts.join("/")
}

fn compress(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    encoder.finish()
}
