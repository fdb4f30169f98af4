//! Parses and prints sizes, lengths of time and moments: `1.5GiB`, `5ms`, `1000ev`, `peak`.

use std::fmt;

use super::term::{LengthUnit, When};
use crate::cards::{Card, is_a_card_meant};
use crate::units::Bytes;

/// What to write instead of an invalid text, as the end of the sentence "write …".
pub(super) type Instead = &'static str;

const BYTE_UNITS: [(&str, u64); 18] = [
    ("", 1),
    ("b", 1),
    ("byte", 1),
    ("bytes", 1),
    ("k", 1 << 10),
    ("kib", 1 << 10),
    ("m", 1 << 20),
    ("mib", 1 << 20),
    ("g", 1 << 30),
    ("gib", 1 << 30),
    ("t", 1 << 40),
    ("tib", 1 << 40),
    ("kb", 1_000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
    ("tb", 1_000_000_000_000),
    ("pib", 1 << 50),
    ("eib", 1 << 60),
];

const TIME_UNITS: [(&str, u64); 12] = [
    ("us", 1),
    ("µs", 1),
    ("μs", 1),
    ("ms", 1_000),
    ("s", 1_000_000),
    ("sec", 1_000_000),
    ("second", 1_000_000),
    ("seconds", 1_000_000),
    ("min", 60_000_000),
    ("minutes", 60_000_000),
    ("h", 3_600_000_000),
    ("hours", 3_600_000_000),
];

const EVENT_UNITS: [&str; 3] = ["ev", "event", "events"];

const SIZE: Instead = "a size such as 512, 20KiB, 100MiB or 1.5GiB";
const WHOLE: Instead = "a whole number such as 20 or 1,024";
const LENGTH: Instead = "a length such as 5ms, 2.5s or, in events, 1000ev";
const WHEN: Instead = "an event's number, a time such as 2.5s, or peak, end, start, cursor";
const TOO_LARGE: Instead = "a smaller number: this one has more than 64 bits";
const NO_COMMA: Instead =
    "1.5GiB, 1500GiB or 1_500GiB: before a unit, a comma may mean a decimal point";
const SEPARATORS: Instead = "a number with a point before its decimals, and commas or underscores only before groups of three digits, as in 1.5, 1,024 or 1_024";

/// Whether a word is a unit of size, ignoring case.
pub(super) fn is_byte_unit(word: &str) -> bool {
    let word = word.to_lowercase();
    !word.is_empty() && BYTE_UNITS.iter().any(|&(name, _)| name == word)
}

/// Whether a word is a unit of time or of events, ignoring case.
pub(super) fn is_time_unit(word: &str) -> bool {
    let word = word.to_lowercase();
    TIME_UNITS.iter().any(|&(name, _)| name == word) || EVENT_UNITS.contains(&&*word)
}

/// Parses a size such as `1.5GiB`, `100 MB` or `512` into bytes. A number without a unit counts bytes; `k`, `m`, `g`
/// and `t` are powers of 1024. Commas may group only whole bytes: in `1,500GiB` half of the world sees a decimal point.
///
/// # Errors
/// If the text is not a size: what to write instead, as the end of a sentence.
pub fn bytes(text: &str) -> Result<u64, &'static str> {
    let (number, unit) = split(text, SIZE)?;
    let factor = BYTE_UNITS.iter().find(|(name, _)| *name == unit);
    let &(_, factor) = factor.ok_or(SIZE)?;
    if factor > 1 && text.contains(',') {
        return Err(NO_COMMA);
    }
    number.times(factor)
}

/// Parses how much memory a device or a program may use: a [size](bytes), or a card's name such as `rtx4090`.
///
/// # Errors
/// What to write instead, as a sentence without its full stop, or the [question](is_a_card_meant) whether a card is
/// meant.
pub fn capacity(text: &str) -> Result<u64, String> {
    if let Some(card) = Card::called(text) {
        return Ok(card.bytes());
    }
    match is_a_card_meant(text) {
        Some(question) => Err(question),
        None => bytes(text).map_err(|instead| match Card::near(text).as_slice() {
            [] => format!("write {instead}, or a card's name such as rtx4090"),
            near => format!(
                "write {instead}, or a card's name: near is {}",
                near.join("; ")
            ),
        }),
    }
}

/// Parses a whole number such as `512`, `1,024` or `1_024`.
///
/// # Errors
/// If the text is something else: what to write instead, as the end of a sentence.
pub fn whole(text: &str) -> Result<u64, &'static str> {
    let (number, unit) = split(text, WHOLE)?;
    match unit.is_empty() && number.decimals == 0 {
        true => number.times(1),
        false => Err(WHOLE),
    }
}

/// Parses a plain decimal number such as `12.5` or `1_000`; `None` for any other text.
#[must_use]
pub fn decimal(text: &str) -> Option<f64> {
    let text = Some(text).filter(|text| !text.contains(','))?;
    let (number, unit) = split(text, "").ok()?;
    let power = 10_f64.powi(number.decimals.cast_signed());
    unit.is_empty().then(|| number.digits as f64 / power)
}

/// Parses a length of time in microseconds, or a number of events. A unit is required.
pub(super) fn length(text: &str) -> Result<(LengthUnit, u64), Instead> {
    let (number, unit) = split(text, LENGTH)?;
    if EVENT_UNITS.contains(&&*unit) {
        return Ok((LengthUnit::Events, number.times(1)?));
    }
    let factor = TIME_UNITS.iter().find(|(name, _)| *name == unit);
    let &(_, factor) = factor.ok_or(LENGTH)?;
    Ok((LengthUnit::Us, number.times(factor)?))
}

/// Parses a moment: a word such as `peak`, an event's number, or a time.
pub(crate) fn when(text: &str) -> Result<When, Instead> {
    let lower = text.to_lowercase();
    match &*lower {
        "peak" => return Ok(When::Peak),
        "end" => return Ok(When::End),
        "start" | "begin" => return Ok(When::Start),
        "cursor" | "here" => return Ok(When::Cursor),
        _ => {}
    }
    let number = lower.strip_prefix(['+', '#']).unwrap_or(&lower);
    if number
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b',')
        && !number.is_empty()
    {
        return Ok(When::Event(split(number, WHEN)?.0.times(1)?));
    }
    match length(number).map_err(|_instead| WHEN)? {
        (LengthUnit::Events, number) => Ok(When::Event(number)),
        (LengthUnit::Us, us) => Ok(When::Us(us)),
    }
}

/// Parses an integer, decimal or hexadecimal with `0x`; `None` if it is not an integer of 64 bits.
pub(super) fn integer(text: &str) -> Option<i64> {
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        // A stream's handle is a pointer, so all 64 bits may be in use.
        return u64::from_str_radix(digits, 16).ok().map(u64::cast_signed);
    }
    text.parse().ok()
}

/// The decimal number `digits / 10^decimals`.
#[derive(Clone, Copy)]
struct Decimal {
    digits: u128,
    decimals: u32,
}

impl Decimal {
    /// Multiplies by a unit and rounds up to a whole number.
    fn times(self, factor: u64) -> Result<u64, Instead> {
        let product = self.digits.checked_mul(u128::from(factor));
        let whole = product.ok_or(TOO_LARGE)?;
        u64::try_from(whole.div_ceil(10_u128.pow(self.decimals))).map_err(|_large| TOO_LARGE)
    }
}

/// Splits a text into its number and the unit after it, in lower case.
fn split(text: &str, instead: Instead) -> Result<(Decimal, String), Instead> {
    let text = text.trim();
    let is_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | ',' | '_');
    let end = text.find(|c| !is_number(c)).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let (whole, part) = match number.split_once('.') {
        Some((whole, part)) => (whole, Some(part)),
        None => (number, None),
    };
    let is_part = part.is_none_or(is_digits);
    let Some(whole) = ungrouped(whole).filter(|_| is_part) else {
        let has_separator = number.contains([',', '_']);
        return Err(if has_separator { SEPARATORS } else { instead });
    };
    let part = part.unwrap_or_default();
    if whole.len() > 20 || part.len() > 12 {
        return Err(TOO_LARGE);
    }
    let digits = [&*whole, part].concat().parse();
    let decimal = Decimal {
        digits: digits.map_err(|_none| instead)?,
        decimals: part.len() as u32,
    };
    Ok((decimal, unit.trim().to_lowercase()))
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The digits of a whole number, with optional commas or underscores between groups of three. A comma may be meant as a
/// decimal point, so it is not ignored anywhere else: `1,5` would become 15.
fn ungrouped(text: &str) -> Option<String> {
    let separator = text.chars().find(|sign| !sign.is_ascii_digit());
    let mut groups = text.split(separator.unwrap_or(','));
    let first = groups.next().filter(|first| is_digits(first))?;
    let is_grouped = groups.all(|group| group.len() == 3 && is_digits(group));
    let is_first = separator.is_none() || first.len() <= 3;
    (is_grouped && is_first).then(|| text.chars().filter(char::is_ascii_digit).collect())
}

/// Prints a number of bytes exactly, in the largest unit that divides it. [`bytes`] parses the result.
#[derive(Clone, Copy, Debug)]
pub struct ExactBytes(pub u64);

impl fmt::Display for ExactBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_bytes(f, self.0)
    }
}

/// Prints bytes as [`ExactBytes`] does.
pub(super) fn write_bytes(f: &mut fmt::Formatter<'_>, bytes: u64) -> fmt::Result {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    let whole = units
        .into_iter()
        .find(|&(shift, _)| bytes != 0 && bytes.trailing_zeros() >= shift);
    match whole {
        Some((shift, name)) => write!(f, "{}{name}", bytes >> shift),
        // Always with a unit, so that the lexer does not take the next word as the unit.
        None => write!(f, "{bytes}B"),
    }
}

/// Prints microseconds exactly, in the largest unit that divides them.
pub(super) fn write_us(f: &mut fmt::Formatter<'_>, us: u64) -> fmt::Result {
    match us {
        0 => f.write_str("0us"),
        _ if us.is_multiple_of(1_000_000) => write!(f, "{}s", us / 1_000_000),
        _ if us.is_multiple_of(1_000) => write!(f, "{}ms", us / 1_000),
        _ => write!(f, "{us}us"),
    }
}

/// The least and the greatest size that [`Bytes`] prints like this one.
pub(super) fn shown_bytes(bytes: u64) -> (u64, u64) {
    let text = Bytes(bytes).to_string();
    // Rounding keeps the order, so sizes that print alike are contiguous, and each end can be bisected.
    let end = |mut alike: u64, mut beyond: u64| {
        if Bytes(beyond).to_string() == text {
            return beyond;
        }
        while alike.abs_diff(beyond) > 1 {
            let middle = alike.midpoint(beyond);
            match Bytes(middle).to_string() == text {
                true => alike = middle,
                false => beyond = middle,
            }
        }
        alike
    };
    (end(bytes, 0), end(bytes, u64::MAX))
}

/// The least and the greatest length of time, in microseconds, that prints like this one.
pub(super) fn shown_us(us: u64) -> (u64, u64) {
    match us {
        0..1_000 => (us, us),
        1_000..1_000_000 => alike(us, 1_000),
        _ => alike(us, 1_000_000),
    }
}

/// The least and the greatest number that equal `number` when cut to three digits in this unit.
fn alike(number: u64, unit: u64) -> (u64, u64) {
    let steps = match number / unit {
        _ if unit == 1 => 1,
        0..10 => 100,
        10..100 => 10,
        _ => 1,
    };
    let (number, unit) = (u128::from(number), u128::from(unit));
    let step = number * steps / unit;
    let first = (step * unit).div_ceil(steps);
    let last = ((step + 1) * unit).div_ceil(steps) - 1;
    let clamp = |number: u128| u64::try_from(number).unwrap_or(u64::MAX);
    (clamp(first), clamp(last))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_cards_gb_are_asked_for() {
        assert_eq!(capacity("24GiB"), Ok(24 << 30));
        let card = Card::called("rtx4090").unwrap().bytes();
        assert_eq!(capacity("RTX 4090"), Ok(card));
        assert_eq!(capacity("70GB"), Ok(70_000_000_000), "no card has it");
        assert_eq!(capacity("24000000000"), Ok(24_000_000_000));
        assert_eq!(
            capacity("24GB").unwrap_err(),
            is_a_card_meant("24GB").unwrap()
        );
        let wrong = capacity("much").unwrap_err();
        assert!(wrong.starts_with("write a size such as"), "{wrong}");
        let unknown = capacity("h100-nvl").unwrap_err();
        assert!(
            unknown.ends_with("or a card's name: near is H100 80 GB"),
            "{unknown}"
        );
    }

    #[test]
    fn sizes_are_read_in_their_units() {
        for (text, expected) in [
            ("512", 512),
            ("1,024", 1024),
            ("100MiB", 100 << 20),
            ("1.5 GiB", 3 << 29),
            ("2k", 2048),
            ("1GB", 1_000_000_000),
            ("1.53mib", 1_604_322),
        ] {
            assert_eq!(bytes(text), Ok(expected), "{text}");
        }
        for text in ["", "MiB", "1.2.3", "1 parsec", "-5", "1e9"] {
            assert_eq!(bytes(text), Err(SIZE), "{text}");
        }
        for text in ["5.", ".5", "5.GiB", "1 000", "1..5"] {
            assert_eq!(bytes(text), Err(SIZE), "{text}");
        }
        for (text, expected) in [("1_536KiB", 1536 << 10), ("1_000_000", 1_000_000)] {
            assert_eq!(bytes(text), Ok(expected), "{text}");
        }
        for text in [
            "1,5GiB",
            "1__0",
            "1_",
            "_1",
            "1,",
            ",5",
            "1,0000",
            "1234,567",
            "1,000_000",
            "1.5,000",
            "1,,000",
            "0,1",
        ] {
            assert_eq!(bytes(text), Err(SEPARATORS), "{text}");
        }
        for text in ["1,500GiB", "1,536 k", "1,000MB"] {
            assert_eq!(bytes(text), Err(NO_COMMA), "{text}");
        }
        assert_eq!(bytes("99999999999GiB"), Err(TOO_LARGE));
        assert_eq!(bytes("99999999999999999999999"), Err(TOO_LARGE));
    }

    #[test]
    fn lengths_and_moments_are_read() {
        assert_eq!(length("5ms"), Ok((LengthUnit::Us, 5_000)));
        assert_eq!(length("12 µs"), Ok((LengthUnit::Us, 12)));
        assert_eq!(length("1,000ev"), Ok((LengthUnit::Events, 1_000)));
        assert_eq!(length("5"), Err(LENGTH));
        assert_eq!(when("12,345"), Ok(When::Event(12_345)));
        assert_eq!(when("+2.5s"), Ok(When::Us(2_500_000)));
        assert_eq!(when("Peak"), Ok(When::Peak));
        assert_eq!(when("step"), Err(WHEN));
        assert_eq!(when("12,34"), Err(SEPARATORS));
        assert_eq!(length("1,5ms"), Err(SEPARATORS));
        assert_eq!(decimal("12.5"), Some(12.5));
        for text in ["5.", "1,5", "1,500", "1e3", "5 s", "inf", "-1", ""] {
            assert_eq!(decimal(text), None, "{text}");
        }
        assert_eq!(whole("1,000"), Ok(1_000));
        assert_eq!(whole("1_000"), Ok(1_000));
        for text in ["1.5", "5.0", "5 k", "", "-1"] {
            assert_eq!(whole(text), Err(WHOLE), "{text}");
        }
        assert_eq!(whole("10,00"), Err(SEPARATORS));
        assert_eq!(integer("0x10"), Some(16));
        assert_eq!(integer("-1"), Some(-1));
    }

    proptest! {
        #[test]
        fn what_is_shown_alike_is_printed_alike(bits in 0..64_u32, low in any::<u64>()) {
            let number = low >> bits;
            let (first, last) = shown_bytes(number);
            prop_assert!(first <= number && number <= last);
            let text = Bytes(number).to_string();
            prop_assert_eq!(Bytes(first).to_string(), &*text);
            prop_assert_eq!(Bytes(last).to_string(), &*text);
            if let Some(below) = first.checked_sub(1) {
                prop_assert_ne!(Bytes(below).to_string(), &*text);
            }
            if let Some(above) = last.checked_add(1) {
                prop_assert_ne!(Bytes(above).to_string(), &*text);
            }
            // A printed size, typed as a filter, finds the size it was printed from.
            if text != Bytes(u64::MAX).to_string() {
                let typed = bytes(&text).unwrap();
                prop_assert!(typed >= first && typed <= last);
            }
        }
    }
}
