//! Sizes as arguments: `70GiB`, `512MB`, `1000`.

use vramscope_core::analysis::search::filter::parse_bytes;

/// A number of bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Size(pub(crate) u64);

/// Parses a size, for clap's `value_parser`. The error has an example.
pub(crate) fn parse_size(text: &str) -> Result<Size, String> {
    parse_bytes(text)
        .map(Size)
        .map_err(|instead| format!("write {instead}"))
}
