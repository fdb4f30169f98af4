//! Sizes and counts as text.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A number of bytes that prints as `512 B`, `1.50 KiB`, `31.2 GiB`.
///
/// It is rounded to three significant digits, halves up. What would be 1024 of a unit is `1.00` of the next.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Bytes(pub u64);

const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.to_digits(Self::DIGITS))
    }
}

impl Bytes {
    /// The significant digits of a single size.
    const DIGITS: usize = 3;

    /// Beyond this many significant digits a reader wants the exact bytes.
    const MOST_DIGITS: usize = 6;

    /// How many significant digits, 3 to 6, are needed for different sizes to print differently, if that many suffice.
    ///
    /// For sizes shown next to each other: 21.68 GiB active of 21.72 GiB reserved.
    pub fn digits_apart(sizes: &[u64]) -> usize {
        let mut sizes = sizes.to_vec();
        sizes.sort_unstable();
        sizes.dedup();
        let differ = |digits: &usize| {
            // Rounding keeps the order, so equal texts are adjacent.
            let texts: Vec<_> = sizes
                .iter()
                .map(|&size| Self(size).to_digits(*digits))
                .collect();
            texts.windows(2).all(|pair| pair[0] != pair[1])
        };
        (Self::DIGITS..Self::MOST_DIGITS)
            .find(differ)
            .unwrap_or(Self::MOST_DIGITS)
    }

    /// The size as text with this many significant digits, or more if the integer part has more.
    pub fn to_digits(self, digits: usize) -> String {
        // Each unit is ten bits, so the highest set bit determines the unit.
        let unit = (63 - (self.0 | 1).leading_zeros() as usize) / 10;
        let in_unit = |unit: usize, decimals: usize| {
            let scaled = u128::from(self.0) * 10_u128.pow(decimals as u32);
            // Half of the last digit's unit is added, so that truncating rounds half up. There are no halves of bytes.
            (scaled + (1 << (10 * unit) >> 1)) >> (10 * unit)
        };
        if unit == 0 {
            return format!("{} B", self.0);
        }
        let (unit, whole) = match in_unit(unit, 0) {
            1024.. if unit + 1 < UNITS.len() => (unit + 1, 1),
            _ => (unit, self.0 >> (10 * unit)),
        };
        let mut decimals = digits.saturating_sub(whole.to_string().len());
        let mut number = in_unit(unit, decimals);
        // 9.996 rounds to 10.0, which has one decimal less.
        if decimals > 0 && number.to_string().len() > digits {
            decimals -= 1;
            number = in_unit(unit, decimals);
        }
        let name = UNITS[unit];
        let one = 10_u128.pow(decimals as u32);
        match decimals {
            0 => format!("{number} {name}"),
            _ => format!("{}.{:0decimals$} {name}", number / one, number % one),
        }
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
/// A part that is neither nothing nor all never prints as such: `<0.1 %`, `99.9 %`. Of an empty whole it is `0 %`.
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
            (1535, "1.50 KiB"),
            ((10 << 20) - 1, "10.0 MiB"),
            ((100 << 20) - 1, "100 MiB"),
            ((1023 << 20) + 1, "1023 MiB"),
            ((1 << 30) - 1, "1.00 GiB"),
            (33_554_432_000, "31.3 GiB"),
            (u64::MAX, "16.0 EiB"),
        ] {
            assert_eq!(Bytes(bytes).to_string(), text);
        }
    }

    #[test]
    fn sizes_beside_each_other_print_differently() {
        let (gib, mib) = (1_u64 << 30, 1_u64 << 20);
        let texts = |sizes: &[u64]| -> Vec<_> {
            let digits = Bytes::digits_apart(sizes);
            sizes.iter().map(|&s| Bytes(s).to_digits(digits)).collect()
        };
        assert_eq!(texts(&[gib, 2 * gib]), ["1.00 GiB", "2.00 GiB"]);
        let close = [22 * gib - 290 * mib, 22 * gib - 330 * mib, 22 * gib];
        assert_eq!(texts(&close), ["21.72 GiB", "21.68 GiB", "22.00 GiB"]);
        // Equal sizes need no digits, and sizes too close for any number of digits are given up.
        assert_eq!(texts(&[gib, gib]), ["1.00 GiB", "1.00 GiB"]);
        assert_eq!(texts(&[gib, gib + 1]), ["1.00000 GiB", "1.00000 GiB"]);
    }

    #[test]
    fn more_digits_never_lose_the_order() {
        for shift in 0..64 {
            for off in -2..=2_i64 {
                let size = (1_u64 << shift).saturating_add_signed(off);
                for digits in 1..=8 {
                    let text = Bytes(size).to_digits(digits);
                    let (number, name) = text.split_once(' ').unwrap();
                    let unit = UNITS.iter().position(|unit| *unit == name).unwrap();
                    let number: f64 = number.parse().unwrap();
                    let error = (number * 1024_f64.powi(unit as i32) - size as f64).abs();
                    let least = size as f64 * 0.5001 / 10_f64.powi(digits as i32 - 1);
                    assert!(error <= least.max(0.6), "{size}: {text}");
                }
            }
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
