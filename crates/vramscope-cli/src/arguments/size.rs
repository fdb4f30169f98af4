//! Sizes and whole numbers as arguments: `70GiB`, `512MB`, `1000`, `1,000`.

use vramscope_core::analysis::search::filter;
use vramscope_core::analysis::search::filter::{parse_bytes, parse_whole};

/// A number of bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Size(pub(crate) u64);

/// Parses a size, for clap's `value_parser`. The error has an example.
pub(crate) fn parse_size(text: &str) -> Result<Size, String> {
    parse_bytes(text)
        .map(Size)
        .map_err(|instead| format!("write {instead}"))
}

/// Parses an amount of memory, a size or a card's name, for clap's `value_parser`. The error has examples.
pub(crate) fn parse_capacity(text: &str) -> Result<Size, String> {
    filter::parse_capacity(text).map(Size)
}

/// Parses a whole number, for clap's `value_parser`. The error has an example.
pub(crate) fn parse_number(text: &str) -> Result<u64, String> {
    parse_whole(text).map_err(|instead| format!("write {instead}"))
}
