//! The page as one file, with everything inside that a served page loads.
//!
//! ```text
//! index.html of the page          in the one file
//! <link rel="stylesheet" …>       <style>…</style>
//! <meta http-equiv="…-Policy">    a stricter policy
//! <link rel="(module)preload" …>  nothing
//! <script … src="…page.js">       <script type="module" nonce="…">…</script>
//!                                 <script data-part="…"> gzip as base64: the wasm programs and their glue
//!                                 <script data-file="NAME"> a packed snapshot as base64
//! ```
//! `www/page.js` finds the parts and files by these attributes. A policy forbids the page to load or send anything:
//! only its own script and what that creates (`blob:`) may run.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use vramscope_serve::{Asset, Page};
use vramscope_view::address::FileKey;

use crate::failure::Failure;

/// The beginnings of other lines that are left out: the policy of a served page, and links to its files.
const LEFT_OUT: [&str; 4] = [
    "<meta http-equiv",
    "<link rel=\"manifest\"",
    "<link rel=\"preload\"",
    "<link rel=\"modulepreload\"",
];

/// The page's programs: the script loads a wasm module and its JavaScript for each.
const PROGRAMS: [&str; 3] = ["vramscope_app", "vramscope_worker", "vramscope_planner"];

/// A snapshot to put into the page.
pub(super) struct Embedded {
    pub(super) name: String,
    /// The snapshot, packed and compressed.
    pub(super) packed: Vec<u8>,
}

impl Embedded {
    /// The key under which the page knows the file.
    pub(super) fn key(&self) -> FileKey {
        FileKey {
            name: self.name.clone(),
            bytes: Some(self.packed.len() as u64),
            copy: 0,
        }
    }

    /// The size in the page, as base64.
    pub(super) fn base64_bytes(&self) -> u64 {
        self.packed.len().div_ceil(3) as u64 * 4
    }
}

/// Builds the page with files in it. `shown` is the address to open first.
///
/// # Errors
/// When a part of the page that is built into this program is missing.
pub(super) fn one_file(page: &Page, files: &[Embedded], shown: &str) -> Result<String, Failure> {
    let nonce = nonce(files, shown);
    let index = page.text("index.html").map_err(Failure::page)?;
    let mut html = String::new();
    for line in index.lines() {
        let tag = line.trim_start();
        if tag.starts_with("<html") {
            let place = attribute(shown);
            html.push_str(&line.replacen("<html", &format!("<html data-place=\"{place}\""), 1));
        } else if tag.starts_with("<meta charset") {
            html.push_str(line);
            html.push_str(&policy(&nonce));
        } else if tag.starts_with("<link rel=\"stylesheet\"") {
            let style = page.text(address(tag)?).map_err(Failure::page)?;
            let _ = write!(html, "<style>\n{style}</style>");
        } else if tag.starts_with("<script") {
            let script = page.text(address(tag)?).map_err(Failure::page)?;
            let _ = write!(
                html,
                "<script type=\"module\" nonce=\"{nonce}\">\n{script}</script>"
            );
        } else if tag.starts_with("</body") {
            push_data(&mut html, page, files)?;
            html.push_str(line);
        } else if !LEFT_OUT.iter().any(|start| tag.starts_with(start)) {
            html.push_str(line);
        }
        html.push('\n');
    }
    Ok(html)
}

/// Adds the parts and files. Samples are left out: they exist only beside a served page.
fn push_data(html: &mut String, page: &Page, files: &[Embedded]) -> Result<(), Failure> {
    html.push_str("<style>.start section:has(#samples-title) { display: none }</style>\n");
    for (part, asset) in parts(page) {
        let gzip = STANDARD.encode(&asset.gzip);
        let _ = writeln!(
            html,
            "<script type=\"application/octet-stream\" data-part=\"{part}\">{gzip}</script>"
        );
    }
    for file in files {
        let (name, data) = (attribute(&file.name), STANDARD.encode(&file.packed));
        let _ = writeln!(
            html,
            "<script type=\"application/octet-stream\" data-file=\"{name}\">{data}</script>"
        );
    }
    Ok(())
}

/// The word by which the policy recognises the page's own script. Equal files make equal pages, so it is not random but
/// a hash of all content in the page that others chose: none of that can contain its own hash.
fn nonce(files: &[Embedded], shown: &str) -> String {
    let mut hasher = blake3::Hasher::new();
    let of_files = files
        .iter()
        .flat_map(|file| [file.name.as_bytes(), &file.packed]);
    for text in of_files.chain([shown.as_bytes()]) {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text);
    }
    hasher.finalize().to_hex()[..32].to_owned()
}

/// The content security policy. Nothing is loaded from anywhere: `default-src` covers everything not named.
fn policy(nonce: &str) -> String {
    format!(
        "\n<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'nonce-{nonce}' \
         'wasm-unsafe-eval' blob:; style-src 'unsafe-inline'; img-src data: blob:; worker-src blob:; \
         connect-src blob:; base-uri 'none'; form-action 'none'\">"
    )
}

/// Quotes a text as an attribute's value. Parsers change a bare carriage return, so it is escaped.
fn attribute(text: &str) -> String {
    let mut value = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' | '<' | '>' | '"' | '\'' | '\r' | '\n' => {
                let _ = write!(value, "&#{};", u32::from(character));
            }
            '\0' => value.push('\u{fffd}'),
            plain => value.push(plain),
        }
    }
    value
}

/// The address to which a tag of `index.html` refers.
fn address(tag: &str) -> Result<&str, Failure> {
    let after = |start| tag.split_once(start).map(|(_, rest)| rest);
    let rest = after(" href=\"").or_else(|| after(" src=\""));
    rest.and_then(|rest| rest.split('"').next())
        .ok_or_else(|| Failure::page(vramscope_serve::Error::Page(tag.to_owned())))
}

/// The files that the script loads, with their last path component: the folder's name is a hash of its content.
fn parts(page: &Page) -> impl Iterator<Item = (&str, &Asset)> {
    let assets = page.assets().iter();
    assets
        .map(move |asset| (asset.name.rsplit('/').next().unwrap_or(&asset.name), asset))
        .filter(|(name, _)| {
            let program = name.strip_suffix(".js").or(name.strip_suffix("_bg.wasm"));
            program.is_some_and(|program| PROGRAMS.contains(&program))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_pages_have_equal_nonces_and_others_have_not() {
        let file = |name: &str, packed: &[u8]| {
            let (name, packed) = (name.to_owned(), packed.to_vec());
            [Embedded { name, packed }]
        };
        let of = |name, packed, shown| nonce(&file(name, packed), shown);
        assert_eq!(of("a", b"bc", "d"), of("a", b"bc", "d"));
        for other in [
            of("ab", b"c", "d"),
            of("a", b"b", "cd"),
            of("a", b"bd", "d"),
        ] {
            assert_ne!(other, of("a", b"bc", "d"));
        }
    }

    #[test]
    fn names_stay_in_their_attribute() {
        assert_eq!(
            attribute("a\"><script>alert('x')</script>&amp;\r\n\0.pickle"),
            "a&#34;&#62;&#60;script&#62;alert(&#39;x&#39;)&#60;/script&#62;&#38;amp;&#13;&#10;\u{fffd}.pickle"
        );
    }
}
