//! Sizes that users type into fields.

use vramscope_core::analysis::search::filter::parse_bytes;

/// Nobody means fewer bytes than these without saying so: 24 are 24 GiB.
const LEAST_BARE_BYTES: u64 = 1 << 20;

/// What is to be asked of whoever typed a number of bytes, and meant another unit.
#[must_use]
pub fn without_unit(text: &str) -> Option<String> {
    let text = text.trim();
    let bytes = parse_bytes(text).ok()?;
    let is_bare = !text.contains(char::is_alphabetic);
    (is_bare && (1..LEAST_BARE_BYTES).contains(&bytes))
        .then(|| format!("{text} what? Write {text}GiB."))
}

/// What a field says, in bytes; nothing is 0.
///
/// # Errors
/// What to write instead, as a sentence.
pub fn typed_bytes(text: &str) -> Result<u64, String> {
    if text.trim().is_empty() {
        return Ok(0);
    }
    let bytes = parse_bytes(text).map_err(|instead| format!("Not a size: write {instead}."))?;
    without_unit(text).map_or(Ok(bytes), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_number_is_asked_for_its_unit() {
        let asked = Err("24 what? Write 24GiB.".to_owned());
        assert_eq!(typed_bytes(" 24 "), asked);
        assert_eq!(typed_bytes("24 B"), Ok(24));
        assert_eq!(typed_bytes("1.5 GiB"), Ok(3 << 29));
        assert_eq!(typed_bytes("25769803776"), Ok(24 << 30));
        assert_eq!([typed_bytes(""), typed_bytes("0")], [Ok(0), Ok(0)]);
        assert!(typed_bytes("abc").unwrap_err().starts_with("Not a size"));
    }
}
