//! Demangles function names.

use addr2line::gimli::{self, DwLang};
use cpp_demangle::{DemangleOptions, ParseOptions};
use std::fmt::{self, Write as _};

/// Maximum length of a function's name in bytes. Template names in GPU libraries take kilobytes; hostile names expand
/// to gigabytes.
const MAX_NAME_BYTES: usize = 1024;

/// A name without mangling, hash, parameters and return type; unmangled names are unchanged. `language` is the source
/// language, if known.
pub(super) fn demangle(name: &str, language: Option<DwLang>) -> String {
    let mut short = BoundedText(String::new());
    let is_rust = language.is_none_or(|language| language == gimli::DW_LANG_Rust);
    if is_rust && let Ok(demangled) = rustc_demangle::try_demangle(name) {
        // A name that is too long is truncated.
        let _ = write!(short, "{demangled:#}");
    } else if name.starts_with("_Z") {
        let options = ParseOptions::default();
        let display = DemangleOptions::new().no_params().no_return_type();
        if let Ok(symbol) = cpp_demangle::Symbol::new_with_options(name.as_bytes(), &options) {
            let _ = symbol.structured_demangle(&mut short, &display);
        }
    }
    if short.0.is_empty() {
        // Remove the symbol version, as in `memcpy@GLIBC_2.14`.
        let end = name.find('@').filter(|&end| end > 0);
        let _ = short.write_str(&name[..end.unwrap_or(name.len())]);
    }
    short.0
}

/// Whether a name includes the function's namespace, not only its last part.
pub(super) fn is_mangled(name: &str) -> bool {
    name.starts_with("_Z") || name.starts_with("_R")
}

/// Text of at most [`MAX_NAME_BYTES`].
struct BoundedText(String);

impl fmt::Write for BoundedText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = MAX_NAME_BYTES.saturating_sub(self.0.len());
        if text.len() <= room {
            self.0.push_str(text);
            return Ok(());
        }
        self.0.push_str(&text[..text.floor_char_boundary(room)]);
        if !self.0.ends_with('…') {
            self.0.push('…');
        }
        Err(fmt::Error)
    }
}

#[cfg(test)]
mod tests {
    use super::demangle;

    #[test]
    fn names_are_as_they_were_written() {
        let cases = [
            (
                "_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE",
                "core::fmt::Write::write_fmt",
            ),
            ("_RNvC6_123foo3bar", "123foo::bar"),
            (
                "_ZN2at6native10empty_cudaEN3c108ArrayRefIlEE",
                "at::native::empty_cuda",
            ),
            ("_Z3addii", "add"),
            ("cuMemAlloc_v2", "cuMemAlloc_v2"),
            ("memcpy@@GLIBC_2.14", "memcpy"),
            ("_Zq", "_Zq"),
            ("", ""),
        ];
        for (mangled, written) in cases {
            assert_eq!(demangle(mangled, None), written);
        }
    }

    /// Each substitution doubles the name.
    #[test]
    fn names_that_explode_are_cut() {
        let mut name = "_Z1fI".to_owned();
        name.push_str("1aIiE");
        for index in 0..40_u32 {
            let digit = char::from_digit(index % 36, 36)
                .unwrap()
                .to_ascii_uppercase();
            name.push_str(&format!("S{digit}_1bIS{digit}_S{digit}_E"));
        }
        name.push_str("Evv");
        assert!(demangle(&name, None).len() < 2000);
        let long = "x".repeat(1_000_000);
        assert!(demangle(&long, None).ends_with("x…"));
    }
}
