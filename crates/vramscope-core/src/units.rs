//! Sizes and counts as text.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A number of bytes that prints as `512 B`, `1.50 KiB`, `31.2 GiB`.
///
/// The digits are truncated, never rounded up, so that a printed peak is never larger than the real
/// one: 1023.99 MiB prints as `1023 MiB`.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Bytes(pub u64);

const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Each unit is ten bits; the highest set bit tells which one to use.
        let unit = (63 - (self.0 | 1).leading_zeros() as usize) / 10;
        let name = UNITS[unit];
        let text = if unit == 0 {
            format!("{} {name}", self.0)
        } else {
            let shift = 10 * unit;
            let whole = self.0 >> shift;
            // Below 2^10 × 1000, so the product cannot overflow.
            let fraction = u128::from(self.0 & ((1 << shift) - 1));
            match whole {
                0..10 => format!("{whole}.{:02} {name}", (fraction * 100) >> shift),
                10..100 => format!("{whole}.{} {name}", (fraction * 10) >> shift),
                _ => format!("{whole} {name}"),
            }
        };
        f.pad(&text)
    }
}

/// A number of bytes that prints as in torch's own tools: `512.0B`, `29.3MiB`, rounded.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct TorchBytes(pub u128);

impl fmt::Display for TorchBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut number = self.0 as f64;
        for unit in ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "Zi"] {
            if number < 1024.0 {
                return write!(f, "{number:.1}{unit}B");
            }
            number /= 1024.0;
        }
        write!(f, "{number:.1}YiB")
    }
}

/// A part of a whole that prints as `12.3 %`, rounded to the nearest tenth.
///
/// What is not nothing and not all never prints as such: `<0.1 %`, `99.9 %`. Of nothing, it is `0 %`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Percent {
    /// The part, at most `whole`.
    pub part: u64,
    /// The whole.
    pub whole: u64,
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (part, whole) = (u128::from(self.part), u128::from(self.whole));
        if part == 0 || whole == 0 {
            return f.pad("0 %");
        }
        if part >= whole {
            return f.pad("100 %");
        }
        match ((part * 2000 + whole) / (whole * 2)).min(999) {
            0 => f.pad("<0.1 %"),
            tenths => f.pad(&format!("{}.{} %", tenths / 10, tenths % 10)),
        }
    }
}

/// A count that prints with thousands separators: `1,234,567`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Count(pub u64);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        let mut text = String::with_capacity(digits.len() + digits.len() / 3);
        for (place, digit) in digits.chars().enumerate() {
            if place > 0 && (digits.len() - place).is_multiple_of(3) {
                text.push(',');
            }
            text.push(digit);
        }
        f.pad(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_significant_digits() {
        for (bytes, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.00 KiB"),
            (1536, "1.50 KiB"),
            (10 << 20, "10.0 MiB"),
            ((1 << 30) - 1, "1023 MiB"),
            (33_554_432_000, "31.2 GiB"),
            (u64::MAX, "15.9 EiB"),
        ] {
            assert_eq!(Bytes(bytes).to_string(), text);
        }
    }

    #[test]
    fn torch_rounds() {
        for (bytes, text) in [
            (0, "0.0B"),
            (1023, "1023.0B"),
            (1280, "1.2KiB"),
            ((1 << 30) - 1, "1024.0MiB"),
            (u128::from(u64::MAX) * 2, "32.0EiB"),
        ] {
            assert_eq!(TorchBytes(bytes).to_string(), text);
        }
    }

    #[test]
    fn only_nothing_and_all_print_as_such() {
        for (part, whole, text) in [
            (0, 5, "0 %"),
            (1, 0, "0 %"),
            (1, 1_000_000, "<0.1 %"),
            (1, 3, "33.3 %"),
            (2, 3, "66.7 %"),
            (9_999, 10_000, "99.9 %"),
            (5, 5, "100 %"),
            (u64::MAX, u64::MAX, "100 %"),
        ] {
            assert_eq!(Percent { part, whole }.to_string(), text);
        }
    }

    #[test]
    fn thousands_are_separated() {
        for (count, text) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(Count(count).to_string(), text);
        }
    }
}
