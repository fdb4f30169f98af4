//! Numbers of floating point from text.
//!
//! std's reader has a table of 10 KiB, which no compression makes smaller and which the page would load at once. Texts of
//! such numbers are short and rare, so here they are read in long arithmetic, with the same results.

/// The most digits that are looked at one by one. 767 tell any number from its neighbours.
const MOST_DIGITS: usize = 800;

/// The number that is nearest to a text; `None` if it is no number. What [`str::parse`] gives.
#[must_use]
pub fn parse(text: &str) -> Option<f64> {
    let (sign, text) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    let is = |word: &str| text.eq_ignore_ascii_case(word);
    if is("nan") {
        return Some(f64::NAN.copysign(sign));
    }
    if is("inf") || is("infinity") {
        return Some(sign * f64::INFINITY);
    }
    let (digits, exponent) = match text.split_once(['e', 'E']) {
        Some((digits, exponent)) => (digits, whole(exponent)?),
        None => (text, 0),
    };
    let (before, after) = digits.split_once('.').unwrap_or((digits, ""));
    let digits = before.to_owned() + after;
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let power = exponent - after.len() as i64;
    Some(sign * of_digits(digits.trim_start_matches('0'), power))
}

/// A whole number; at its limits if it is beyond any exponent.
fn whole(text: &str) -> Option<i64> {
    let number = text.trim_start_matches(['-', '+']);
    let is_whole = text.len() - number.len() < 2
        && !number.is_empty()
        && number.bytes().all(|digit| digit.is_ascii_digit());
    let limit = i64::from(i32::MAX);
    let size = number.parse::<i64>().unwrap_or(limit).min(limit);
    is_whole.then_some(if text.starts_with('-') { -size } else { size })
}

/// The number nearest to these digits, times a power of ten.
fn of_digits(digits: &str, power: i64) -> f64 {
    // The exponent of the first digit.
    let first = digits.len() as i64 + power;
    if digits.is_empty() || first < -330 {
        return 0.0;
    }
    if first > 310 {
        return f64::INFINITY;
    }
    let (seen, others) = digits.split_at(digits.len().min(MOST_DIGITS));
    let power = power + others.len() as i64;
    let mut number = Long::default();
    for digit in seen.bytes() {
        number.times_ten(u32::from(digit - b'0'));
    }
    number.is_more = others.bytes().any(|digit| digit != b'0');
    for _ in 0..power {
        number.times_ten(0);
    }
    let tenths = usize::try_from(-power).unwrap_or(0);
    // So that more bits are left than a number has.
    let limbs = tenths / 9 + 3;
    number.limbs.splice(0..0, vec![0; limbs]);
    for _ in 0..tenths {
        number.tenth();
    }
    number.nearest(-32 * limbs as i32)
}

/// A whole number in base 2^32, the lowest limb first. The last limb is not 0.
#[derive(Default)]
struct Long {
    limbs: Vec<u32>,
    /// Whether the number is a little larger than its limbs say.
    is_more: bool,
}

impl Long {
    fn times_ten(&mut self, more: u32) {
        let mut carry = u64::from(more);
        for limb in &mut self.limbs {
            carry += u64::from(*limb) * 10;
            *limb = carry as u32;
            carry >>= 32;
        }
        if carry > 0 {
            self.limbs.push(carry as u32);
        }
    }

    fn tenth(&mut self) {
        let mut rest = 0;
        for limb in self.limbs.iter_mut().rev() {
            rest = rest << 32 | u64::from(*limb);
            *limb = (rest / 10) as u32;
            rest %= 10;
        }
        self.is_more |= rest > 0;
        self.limbs.pop_if(|limb| *limb == 0);
    }

    /// The number nearest to this one, times a power of two; of two as near that whose last bit is 0.
    fn nearest(&self, power: i32) -> f64 {
        let mut top = 0_u128;
        let mut is_more = self.is_more;
        let (low, high) = self.limbs.split_at(self.limbs.len().saturating_sub(3));
        for &limb in high.iter().rev() {
            top = top << 32 | u128::from(limb);
        }
        is_more |= low.iter().any(|&limb| limb != 0);
        let bits = top.ilog2() as i32 + 1;
        let power = power + 32 * low.len() as i32;
        // Of the smallest numbers fewer bits are left.
        let drop = (bits - 53).max(-1074 - power).max(0);
        let (kept, rest) = match drop {
            ..128 => (top >> drop, top & ((1 << drop) - 1)),
            _ => (0, 0),
        };
        let half = if drop > 0 {
            1_u128 << (drop - 1).min(127)
        } else {
            1
        };
        let is_up = rest > half || rest == half && (is_more || kept & 1 == 1);
        let power = power + drop;
        // In two steps, as the power alone may be none.
        (kept + u128::from(is_up)) as f64 * 2_f64.powi(power / 2) * 2_f64.powi(power - power / 2)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::parse;

    fn check(text: &str) {
        let (ours, std) = (parse(text), text.parse::<f64>().ok());
        assert_eq!(ours.map(f64::to_bits), std.map(f64::to_bits), "{text}");
    }

    #[test]
    fn hard_numbers_are_read_as_std_reads_them() {
        for text in [
            "",
            "-",
            "+",
            ".",
            "e5",
            "1e",
            "1e+",
            "1e++5",
            "--1",
            "0x1",
            "1_0",
            " 1",
            "1 ",
            "nan5",
            "١",
            "0",
            "-0",
            "+0.0e9",
            "1",
            ".5",
            "5.",
            "-1.5e3",
            "1E-3",
            "inf",
            "-Infinity",
            "NaN",
            "9007199254740993",
            "9007199254740992.99999",
            "0.1",
            "1e23",
            "8.5e-324",
            "4.9e-324",
            "2.4703282292062328e-324",
            "2.4703282292062327e-324",
            "2.2250738585072011e-308",
            "2.2250738585072014e-308",
            "1.7976931348623157e308",
            "1.7976931348623159e308",
            "1e309",
            "1e-400",
            "1e99999999999999999999",
            "1e-99999999999999999999",
            "0e99999999999999999999",
            "18446744073709551616",
            "0.000000000000000000000000000000000001",
        ] {
            check(text);
        }
        let half = "1.00000000000000011102230246251565404236316680908203125";
        for text in [
            half.to_owned(),
            half.to_owned() + &"0".repeat(900),
            half.to_owned() + &"0".repeat(900) + "1",
        ] {
            check(&text);
        }
    }

    proptest! {
        #[test]
        fn all_numbers_are_read_as_std_reads_them(bits: u64, digits in "[0-9]{1,40}", place in 0_usize..40, power in -345_i32..330) {
            let number = f64::from_bits(bits);
            check(&number.to_string());
            check(&format!("{number:e}"));
            check(&format!("{digits}e{power}"));
            let (before, after) = digits.split_at(place.min(digits.len()));
            check(&format!("{before}.{after}"));
        }
    }
}
