//! The page of this program as one file, with data inside.

use vramscope_serve::Page;
use vramscope_view::one_file::{Embedded, Loaded, needed, one_file as written};

use crate::failure::Failure;

/// Builds the page with files in it. `shown` is the address to open first.
///
/// # Errors
/// When a part of the page that is built into this program is missing.
pub(super) fn one_file(page: &Page, files: &[Embedded], shown: &str) -> Result<String, Failure> {
    let index = page.text("index.html").map_err(Failure::page)?;
    let (texts, parts) = needed(&index);
    let mut loaded = Loaded::default();
    for path in texts {
        let text = page.text(path).map_err(Failure::page)?;
        loaded.texts.insert(path.to_owned(), text);
    }
    for path in parts {
        let part = page.find(&path).map(|asset| asset.gzip.to_vec());
        loaded.parts.extend(part.map(|gzip| (path, gzip)));
    }
    let nonce = nonce(files, shown);
    let page = written(&index, &loaded, files, shown, &nonce);
    page.ok_or_else(|| Failure::page(vramscope_serve::Error::Page("index.html".to_owned())))
}

/// Equal files make equal pages, so the policy's word is not random but a hash of all content in the page that others chose:
/// none of that can contain its own hash.
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
}
