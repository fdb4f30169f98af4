//! The page's files, compressed.

use std::borrow::Cow;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

use crate::error::Error;

/// One file of a page.
#[derive(Clone)]
pub struct Asset {
    /// Path relative to the page's folder, with forward slashes.
    pub name: Cow<'static, str>,
    pub gzip: Cow<'static, [u8]>,
}

impl Asset {
    /// A file that is part of the program.
    #[must_use]
    pub const fn of_program(name: &'static str, gzip: &'static [u8]) -> Self {
        Self {
            name: Cow::Borrowed(name),
            gzip: Cow::Borrowed(gzip),
        }
    }
}

/// All files of a page, ordered by name.
pub struct Page(Cow<'static, [Asset]>);

impl Page {
    /// A page that is part of the program, ordered by name; empty if the program was built without it.
    #[must_use]
    pub const fn of_program(assets: &'static [Asset]) -> Self {
        Self(Cow::Borrowed(assets))
    }

    /// Reads a page from its folder.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn read(folder: &Path) -> Result<Self, Error> {
        let doing = format!("cannot read the page in {}", folder.display());
        let read = || {
            let mut files = Vec::new();
            list(folder, &mut files)?;
            let asset = |path: &PathBuf| {
                Ok(Asset {
                    name: name_in_page(folder, path).into(),
                    gzip: compress(&fs::read(path)?)?.into(),
                })
            };
            let mut assets = files.iter().map(asset).collect::<io::Result<Vec<_>>>()?;
            assets.sort_by(|one, other| one.name.cmp(&other.name));
            Ok(Self(assets.into()))
        };
        read().map_err(Error::io(doing))
    }

    /// The files, ordered by name.
    #[must_use]
    pub fn assets(&self) -> &[Asset] {
        &self.0
    }

    /// Finds a file by its path relative to the page.
    #[must_use]
    pub fn find(&self, path: &str) -> Option<&Asset> {
        let row = self.0.binary_search_by_key(&path, |asset| &asset.name);
        self.0.get(row.ok()?)
    }

    /// A file's text, by its path relative to the page.
    ///
    /// # Errors
    /// When there is no such file, or it is not text.
    pub fn text(&self, path: &str) -> Result<String, Error> {
        let asset = self
            .find(path)
            .ok_or_else(|| Error::Page(path.to_owned()))?;
        let mut text = String::new();
        let read = GzDecoder::new(&*asset.gzip).read_to_string(&mut text);
        read.map_err(Error::io(format!("cannot unpack {path} of the page")))?;
        Ok(text)
    }
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

/// The browser is on the same machine, so better compression would only take time.
fn compress(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes)?;
    encoder.finish()
}

/// The header `Content-Type`, by file name extension.
pub(crate) fn content_type(name: &str) -> &'static str {
    match name.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "wasm" => "application/wasm",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "json" | "webmanifest" => "application/json",
        "txt" => "text/plain; charset=utf-8",
        "woff2" => "font/woff2",
        _ => "application/octet-stream",
    }
}
