//! A printed size: its bytes, its possible error, and the text itself.

use serde::Serialize;
use vramscope_core::units::Bytes;

/// A size as it was printed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Figure {
    /// The size in bytes, as precisely as it was printed.
    pub bytes: u64,
    /// The possible error in either direction, in bytes: half of the last printed digit. 0 if it was printed in bytes.
    pub off_bytes: u64,
    /// The number and its unit, as printed except for white space.
    pub text: String,
}

/// Units and their powers of 1024. Longer names come before their prefixes.
const UNITS: [(&[u8], u32); 14] = [
    (b"bytes", 0),
    (b"KiB", 1),
    (b"MiB", 2),
    (b"GiB", 3),
    (b"TiB", 4),
    (b"PiB", 5),
    (b"EiB", 6),
    (b"kB", 1),
    (b"KB", 1),
    (b"MB", 2),
    (b"GB", 3),
    (b"TB", 4),
    (b"PB", 5),
    (b"B", 0),
];

/// Units of XLA for TPUs, which are ambiguous elsewhere.
const SHORT_UNITS: [(&[u8], u32); 6] = [
    (b"K", 1),
    (b"M", 2),
    (b"G", 3),
    (b"T", 4),
    (b"P", 5),
    (b"E", 6),
];

/// Most digits of a number before and after its point.
const MOST_DIGITS: usize = 24;

impl Figure {
    /// Reads a size at the beginning of a text without white space. Returns also its length.
    pub(crate) fn at(text: &[u8]) -> Option<(Self, usize)> {
        Self::with_units(text, &UNITS)
    }

    /// The same with units of one letter.
    pub(crate) fn short_at(text: &[u8]) -> Option<(Self, usize)> {
        Self::with_units(text, &UNITS).or_else(|| Self::with_units(text, &SHORT_UNITS))
    }

    fn with_units(text: &[u8], units: &[(&[u8], u32)]) -> Option<(Self, usize)> {
        let (digits, decimals, length) = number(text)?;
        let (name, power) = units
            .iter()
            .find(|(name, _)| text[length..].starts_with(name))?;
        Some((
            Self::of(&text[..length], digits, decimals, name, *power),
            length + name.len(),
        ))
    }

    /// Reads a number whose unit is elsewhere.
    pub(crate) fn plain_at(text: &[u8], unit: &'static str) -> Option<(Self, usize)> {
        let (digits, decimals, length) = number(text)?;
        let (name, power) = UNITS.iter().find(|(name, _)| *name == unit.as_bytes())?;
        Some((
            Self::of(&text[..length], digits, decimals, name, *power),
            length,
        ))
    }

    fn of(number: &[u8], digits: u128, decimals: u32, unit: &[u8], power: u32) -> Self {
        let scale = 10_u128.pow(decimals);
        let one = 1_u128 << (10 * power);
        // There are too few digits for an overflow, except in absurd numbers.
        let bytes = digits.saturating_mul(one) / scale;
        let off = match power {
            0 => 0,
            _ => one.div_ceil(2 * scale),
        };
        let narrow = |value: u128| u64::try_from(value).unwrap_or(u64::MAX);
        Self {
            bytes: narrow(bytes),
            off_bytes: narrow(off),
            text: format!(
                "{} {}",
                String::from_utf8_lossy(number),
                String::from_utf8_lossy(unit)
            ),
        }
    }

    /// A number of bytes, as programs print it without a unit.
    pub(crate) fn of_bytes(bytes: u64) -> Self {
        Self {
            bytes,
            off_bytes: 0,
            text: format!("{bytes} bytes"),
        }
    }

    /// The sum of two sizes.
    pub(crate) fn and(&self, other: &Self) -> Self {
        Self {
            bytes: self.bytes.saturating_add(other.bytes),
            off_bytes: self.off_bytes.saturating_add(other.off_bytes),
            text: format!("{} + {}", self.text, other.text),
        }
    }

    /// How it was printed, and its possible error; empty for a size in bytes.
    #[must_use]
    pub fn remark(&self) -> String {
        match self.off_bytes {
            0 => String::new(),
            off => format!("printed as {}, ± {}", self.text, Bytes(off)),
        }
    }

    /// The least that the real size can be.
    pub(crate) fn least(&self) -> i128 {
        i128::from(self.bytes.saturating_sub(self.off_bytes))
    }

    /// The most that it can be.
    pub(crate) fn most(&self) -> i128 {
        i128::from(self.bytes) + i128::from(self.off_bytes)
    }
}

/// Digits with at most one decimal point: the number without it, the digits after it, and the length. A comma is a decimal
/// point in some languages, and separates thousands in others.
fn number(text: &[u8]) -> Option<(u128, u32, usize)> {
    let whole = run(text);
    if whole == 0 || whole > MOST_DIGITS {
        return None;
    }
    let mut length = whole;
    let mut digits = text[..whole].to_vec();
    // Groups of three digits after a comma are thousands.
    while text.get(length) == Some(&b',') && run(&text[length + 1..]) == 3 {
        digits.extend(&text[length + 1..length + 4]);
        length += 4;
        if digits.len() > MOST_DIGITS {
            return None;
        }
    }
    let mut decimals = 0;
    if matches!(text.get(length), Some(b'.' | b',')) {
        let more = run(&text[length + 1..]);
        if more > 0 && digits.len() + more <= MOST_DIGITS + 12 {
            digits.extend(&text[length + 1..length + 1 + more]);
            length += 1 + more;
            decimals = u32::try_from(more).ok()?;
        }
    }
    let digits = str::from_utf8(&digits).ok()?;
    Some((digits.parse().ok()?, decimals, length))
}

fn run(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_bytes_and_bounds() {
        for (text, bytes, off) in [
            ("20.00MiB", 20 << 20, 5243),
            ("2.26GiB", 2_426_656_522, 5_368_710),
            ("512bytes", 512, 0),
            ("0B", 0, 0),
            ("1024.00KiB", 1 << 20, 6),
            ("1900,00MiB", 1900 << 20, 5243),
            ("130,674GiB", 130_674 << 30, 1 << 29),
            ("17179869184.00GiB", u64::MAX, 5_368_710),
            ("8GB", 8 << 30, 1 << 29),
        ] {
            let (figure, length) = Figure::at(text.as_bytes()).unwrap();
            assert_eq!(
                (figure.bytes, figure.off_bytes, length),
                (bytes, off, text.len()),
                "{text}"
            );
        }
        // A size that is cut off does not count.
        for text in ["20.00Mi", "20.00", "2.26G", "512byt", "", "MiB", ".5GiB"] {
            assert_eq!(Figure::at(text.as_bytes()), None, "{text}");
        }
        assert_eq!(Figure::short_at(b"15.48Ghbm").unwrap().0.text, "15.48 G");
    }
}
