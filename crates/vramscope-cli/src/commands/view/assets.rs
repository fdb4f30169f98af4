//! The page that is built into this program.

use std::io::Read as _;

use flate2::read::GzDecoder;

use crate::failure::Failure;

/// One file of the page.
pub(crate) struct Asset {
    /// Path below the page's folder, with forward slashes.
    pub(crate) name: &'static str,
    /// Its content, compressed.
    pub(crate) gzip: &'static [u8],
}

/// All files of a page, ordered by name.
#[derive(Clone, Copy)]
pub(crate) struct Page(pub(crate) &'static [Asset]);

/// The page; without files if the program was built without it.
pub(crate) const PAGE: Page = Page(include!(concat!(env!("OUT_DIR"), "/assets.rs")));

impl Page {
    /// Fails with build instructions if the program was built without the page.
    pub(crate) fn must_be_here(self) -> Result<(), Failure> {
        if !self.0.is_empty() {
            return Ok(());
        }
        Err(Failure::Usage(
            "this vramscope was built without the page. In a clone of its repository, `cargo xtask view \
             FILE` builds the page and opens FILE in it; `cargo xtask build` builds a program that has \
             the page inside. With a page that is built already, such as the one that `cargo xtask dist` puts into \
             dist/site: VRAMSCOPE_PAGE=\"$PWD/dist/site\" cargo build --release --package vramscope-cli"
                .to_owned(),
        ))
    }

    /// Finds a file by its path below the page.
    pub(crate) fn find(self, path: &str) -> Option<&'static Asset> {
        let row = self.0.binary_search_by_key(&path, |asset| asset.name);
        self.0.get(row.ok()?)
    }

    /// The text of a file by its path below the page.
    ///
    /// # Errors
    /// When there is no such file, or it is no text.
    pub(crate) fn text(self, path: &str) -> Result<String, Failure> {
        let asset = self.find(path).ok_or_else(|| unexpected(path))?;
        let mut text = String::new();
        let read = GzDecoder::new(asset.gzip).read_to_string(&mut text);
        read.map_err(Failure::io(format!(
            "cannot unpack {path} of the page in this program"
        )))?;
        Ok(text)
    }
}

/// The failure for a page that lacks something or has it in another form.
pub(crate) fn unexpected(what: &str) -> Failure {
    Failure::Usage(format!(
        "the page in this vramscope is not one that it can use ({what} is not as expected): build both from the same \
         sources, with `cargo xtask build`"
    ))
}

/// The header `Content-Type` for a file's ending.
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
