//! Addresses in a filter: digits, an address inside an allocation, an allocation's name, or a range.

use std::fmt;

/// A condition on an allocation's address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AddressMatch {
    /// The start address, in hexadecimal, contains these digits.
    Digits {
        /// The digits as a number.
        value: u64,
        /// Number of digits including leading zeros, 1 to 16.
        digits: u8,
    },
    /// `0x…`: the start address begins with these digits, or the allocation contains this address.
    At {
        /// The digits as a number.
        value: u64,
        /// Number of digits including leading zeros, 1 to 16.
        digits: u8,
    },
    /// `b<hex address>_<version>`, the name of an allocation in torch's viewer.
    Named {
        /// Start address.
        address: u64,
        /// Number of earlier allocations at the same address; `None` for any.
        version: Option<u32>,
    },
    /// The allocation overlaps `from ..= to`.
    Between {
        /// First address.
        from: u64,
        /// Last address.
        to: u64,
    },
}

impl AddressMatch {
    /// Parses the value of `addr:`, which must be in lower case; `None` if it is not an address.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if let Some((from, to)) = text.split_once("..") {
            let number = |text: &str| Some(hex(text.strip_prefix("0x").unwrap_or(text))?.0);
            return Some(Self::Between {
                from: number(from)?,
                to: number(to)?,
            });
        }
        if let Some(named) = Self::named(text) {
            return Some(named);
        }
        if let Some((value, digits)) = text.strip_prefix("0x").and_then(hex) {
            return Some(Self::At { value, digits });
        }
        let (value, digits) = hex(text)?;
        Some(Self::Digits { value, digits })
    }

    /// Parses a word without a key; `None` if it does not look like an address. Many English words are also hexadecimal
    /// numbers, so a word needs `0x`, or at least six digits, one of them decimal.
    #[must_use]
    pub fn of_word(text: &str) -> Option<Self> {
        let looks_so = text.len() >= 6 && text.bytes().any(|byte| byte.is_ascii_digit());
        let lower = text.to_ascii_lowercase();
        if text.contains("..") || !(lower.starts_with("0x") || looks_so) {
            return None;
        }
        Self::parse(&lower)
    }

    fn named(text: &str) -> Option<Self> {
        let rest = text.strip_prefix('b')?;
        let (address, version) = rest.split_once('_')?;
        Some(Self::Named {
            address: hex(address)?.0,
            version: match version {
                "" => None,
                version => Some(version.parse().ok()?),
            },
        })
    }

    /// Whether an allocation of `bytes` bytes at `address` meets the condition. Does not check the version, see
    /// [`wants_version`](Self::wants_version).
    #[must_use]
    pub fn holds(self, address: u64, bytes: u64) -> bool {
        let last = address.saturating_add(bytes.saturating_sub(1));
        match self {
            Self::Digits { value, digits } => has_digits(address, value, digits),
            Self::At { value, digits } => {
                (address <= value && value <= last) || {
                    let unseen = digits_of(address).saturating_sub(u32::from(digits));
                    address >> (4 * unseen) == value
                }
            }
            Self::Named { address: named, .. } => named == address,
            Self::Between { from, to } => address <= to && from <= last,
        }
    }

    /// The version that the allocation must have; `None` for any.
    #[must_use]
    pub fn wants_version(self) -> Option<u32> {
        match self {
            Self::Named { version, .. } => version,
            _ => None,
        }
    }
}

/// Parses 1 to 16 hexadecimal digits into their value and number.
fn hex(text: &str) -> Option<(u64, u8)> {
    let is_hex = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let value = u64::from_str_radix(text, 16).ok().filter(|_| is_hex)?;
    (text.len() <= 16).then_some((value, text.len() as u8))
}

/// Number of hexadecimal digits of `number` without leading zeros; 1 for zero.
fn digits_of(number: u64) -> u32 {
    (64 - (number | 1).leading_zeros()).div_ceil(4)
}

fn has_digits(address: u64, value: u64, digits: u8) -> bool {
    let digits = u32::from(digits);
    let mask = u64::MAX >> (64 - 4 * digits.clamp(1, 16));
    let places = (digits_of(address) + 1).saturating_sub(digits);
    (0..places).any(|place| (address >> (4 * place)) & mask == value)
}

impl fmt::Display for AddressMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Digits { value, digits } => {
                write!(f, "{value:0width$x}", width = usize::from(digits))
            }
            Self::At { value, digits } => {
                write!(f, "0x{value:0width$x}", width = usize::from(digits))
            }
            Self::Named { address, version } => {
                write!(f, "b{address:x}_")?;
                version.map_or(Ok(()), |version| write!(f, "{version}"))
            }
            Self::Between { from, to } => write!(f, "0x{from:x}..0x{to:x}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_are_addresses_only_when_they_look_so() {
        for word in ["add", "face", "decade", "facade", "b4", "1..2"] {
            assert_eq!(AddressMatch::of_word(word), None, "{word}");
        }
        for word in ["0x7f", "7f5a00", "B7f5a00000200_3"] {
            assert!(AddressMatch::of_word(word).is_some(), "{word}");
        }
    }

    #[test]
    fn an_address_inside_finds_what_is_around_it() {
        let at = AddressMatch::parse("0x7f5a00000210").unwrap();
        assert!(at.holds(0x7f5a_0000_0200, 0x20));
        assert!(!at.holds(0x7f5a_0000_0200, 0x10));
        assert!(
            AddressMatch::parse("0x7f5a")
                .unwrap()
                .holds(0x7f5a_0000_0200, 1)
        );
        let between = AddressMatch::parse("0x100..0x1ff").unwrap();
        assert!(between.holds(0, 0x101) && !between.holds(0, 0x100) && !between.holds(0x200, 8));
        let name = AddressMatch::parse("b7f_2").unwrap();
        assert!(name.holds(0x7f, 1) && name.wants_version() == Some(2));
    }

    proptest! {
        #[test]
        fn digits_are_found_as_in_the_text(bits in 0..64_u32, low in any::<u64>(), digits in "[0-9a-f]{1,4}") {
            let address = low >> bits;
            let text = format!("{address:x}");
            let found = AddressMatch::parse(&digits).unwrap();
            prop_assert_eq!(found.holds(address, 1), text.contains(&digits));
            let begins = AddressMatch::parse(&format!("0x{digits}")).unwrap();
            let value = u64::from_str_radix(&digits, 16).unwrap();
            prop_assert_eq!(begins.holds(address, 1), text.starts_with(&digits) || value == address);
        }
    }
}
