//! Sizes that users type into fields.

use vramscope_core::analysis::search::filter::parse_bytes;
use vramscope_core::cards::is_a_card_meant;

/// Fewer bytes than these are hardly meant without a unit: `24` rather means 24 GiB.
const LEAST_BARE_BYTES: u64 = 1 << 20;

/// The question to a user whose size is not clear: a small number without a unit, or what cards are sold with. `None` if
/// the text is clear, or no size.
#[must_use]
pub fn unclear(text: &str) -> Option<String> {
    without_unit(text).or_else(|| is_a_card_meant(text))
}

/// The question to a user who typed a small number without a unit; `None` if the text has one or is no size.
fn without_unit(text: &str) -> Option<String> {
    let text = text.trim();
    let bytes = parse_bytes(text).ok()?;
    let is_bare = !text.contains(char::is_alphabetic);
    (is_bare && (1..LEAST_BARE_BYTES).contains(&bytes))
        .then(|| format!("{text} what? Write {text}GiB."))
}

/// The size in a field, in bytes; 0 for an empty field.
///
/// # Errors
/// If the text is no size: advice on what to write, as a sentence.
pub fn typed_bytes(text: &str) -> Result<u64, String> {
    if text.trim().is_empty() {
        return Ok(0);
    }
    let bytes = parse_bytes(text).map_err(|instead| format!("Not a size: write {instead}."))?;
    unclear(text).map_or(Ok(bytes), Err)
}

/// The most memory that a device is believed to have, in bytes.
const MOST_CAPACITY_BYTES: u64 = 1 << 60;

/// A device's memory in a field, in bytes; a small number without a unit is one of GiB. `None` if the text is no such
/// size.
#[must_use]
pub fn typed_capacity(text: &str) -> Option<u64> {
    let unit = without_unit(text).map_or("", |_question| "GiB");
    let bytes = parse_bytes(&format!("{text}{unit}")).ok()?;
    (1..MOST_CAPACITY_BYTES).contains(&bytes).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use vramscope_core::cards::CARDS;

    #[test]
    fn a_bare_number_is_asked_for_its_unit() {
        let asked = Err("24 what? Write 24GiB.".to_owned());
        assert_eq!(typed_bytes(" 24 "), asked);
        assert_eq!(typed_bytes("24 B"), Ok(24));
        assert_eq!(typed_bytes("1.5 GiB"), Ok(3 << 29));
        assert_eq!(typed_bytes("25769803776"), Ok(24 << 30));
        assert_eq!([typed_bytes(""), typed_bytes("0")], [Ok(0), Ok(0)]);
        assert!(typed_bytes("24 GB").unwrap_err().contains("RTX 4090"));
        assert_eq!(typed_bytes("25GB"), Ok(25_000_000_000));
        assert!(typed_bytes("abc").unwrap_err().starts_with("Not a size"));
    }

    #[test]
    fn what_is_typed_for_a_card_is_its_size() {
        for card in CARDS {
            assert_eq!(
                typed_bytes(&card.typed()),
                Ok(card.bytes()),
                "{}",
                card.name
            );
        }
    }

    #[test]
    fn a_bare_capacity_is_in_gib() {
        assert_eq!(typed_capacity(" 80 "), Some(80 << 30));
        assert_eq!(typed_capacity(" 79.5 GiB "), Some(85_362_475_008));
        assert_eq!(typed_capacity("80gb"), Some(80_000_000_000));
        assert_eq!(typed_capacity("85,899,345,920"), Some(80 << 30));
        for wrong in [
            "", "GiB", "-3", "1 parsec", "1e99 GiB", "0", "79,5", "80.", "8EiB",
        ] {
            assert_eq!(typed_capacity(wrong), None, "{wrong}");
        }
    }
}
