//! Writes and reads values by the same calls.

use crate::budget::Budget;
use crate::limits::Read;
use crate::{ErrorKind, Limits};

type Result<T> = std::result::Result<T, ErrorKind>;

/// Writes values, or reads and overwrites them.
pub(super) struct Codec<'a> {
    mode: Mode<'a>,
}

enum Mode<'a> {
    Write(Vec<u8>),
    Read { rest: &'a [u8], budget: Budget },
}

impl Codec<'_> {
    pub(super) fn writer() -> Self {
        Self {
            mode: Mode::Write(Vec::new()),
        }
    }

    pub(super) fn written(&self) -> &[u8] {
        match &self.mode {
            Mode::Write(bytes) => bytes,
            Mode::Read { .. } => &[],
        }
    }
}

impl<'a> Codec<'a> {
    /// Reads `bytes`, which were unpacked from a file of `file_bytes`.
    pub(super) fn reader(bytes: &'a [u8], file_bytes: u64, limits: &Limits) -> Result<Self> {
        let mut budget = Budget::new(*limits, None);
        let read = Read {
            file_bytes,
            unwrapped_bytes: bytes.len() as u64,
            has_records: true,
        };
        budget.update(read, bytes.len() as u64)?;
        Ok(Self {
            mode: Mode::Read {
                rest: bytes,
                budget,
            },
        })
    }

    /// How many of `of` bytes have been read.
    pub(super) fn offset(&self, of: usize) -> u64 {
        match &self.mode {
            Mode::Write(_) => 0,
            Mode::Read { rest, .. } => of.saturating_sub(rest.len()) as u64,
        }
    }

    /// Fails unless everything has been read.
    pub(super) fn must_be_at_end(&self) -> Result<()> {
        match &self.mode {
            Mode::Read { rest, .. } if !rest.is_empty() => {
                Err(malformed("there is more after the end"))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn number(&mut self, value: &mut u64) -> Result<()> {
        match &mut self.mode {
            Mode::Write(out) => {
                let mut left = *value;
                while left >= 0x80 {
                    out.push(left as u8 | 0x80);
                    left >>= 7;
                }
                out.push(left as u8);
            }
            Mode::Read { rest, .. } => *value = read_number(rest)?,
        }
        Ok(())
    }

    pub(super) fn signed(&mut self, value: &mut i64) -> Result<()> {
        let mut zigzag = ((*value << 1) ^ (*value >> 63)) as u64;
        self.number(&mut zigzag)?;
        *value = (zigzag >> 1) as i64 ^ -((zigzag & 1) as i64);
        Ok(())
    }

    /// A number as its difference from `before`.
    pub(super) fn after(&mut self, value: &mut u64, before: u64) -> Result<()> {
        let mut difference = value.wrapping_sub(before) as i64;
        self.signed(&mut difference)?;
        *value = before.wrapping_add(difference as u64);
        Ok(())
    }

    pub(super) fn small(&mut self, value: &mut u32) -> Result<()> {
        let mut wide = u64::from(*value);
        self.number(&mut wide)?;
        *value = u32::try_from(wide)
            .map_err(|_too_large| malformed("a number has more than 32 bits"))?;
        Ok(())
    }

    /// A row number of a table with `count` rows.
    pub(super) fn row(&mut self, value: &mut u32, count: usize) -> Result<()> {
        self.small(value)?;
        let is_reading = matches!(self.mode, Mode::Read { .. });
        if is_reading && *value as usize >= count {
            return Err(malformed("a row is beyond its table"));
        }
        Ok(())
    }

    /// A value that may be missing.
    pub(super) fn option<T: Default>(
        &mut self,
        value: &mut Option<T>,
        inner: impl FnOnce(&mut Self, &mut T) -> Result<()>,
    ) -> Result<()> {
        let mut is_some = u64::from(value.is_some());
        self.number(&mut is_some)?;
        match is_some {
            0 => *value = None,
            1 => inner(self, value.get_or_insert_default())?,
            _ => return Err(malformed("a flag is neither 0 nor 1")),
        }
        Ok(())
    }

    pub(super) fn text(&mut self, value: &mut String) -> Result<()> {
        let mut length = value.len() as u64;
        self.number(&mut length)?;
        match &mut self.mode {
            Mode::Write(out) => out.extend_from_slice(value.as_bytes()),
            Mode::Read { rest, budget } => {
                let length = usize::try_from(length).unwrap_or(usize::MAX);
                let Some((text, after)) = rest.split_at_checked(length) else {
                    return Err(ErrorKind::Truncated("a text is cut off"));
                };
                let text =
                    str::from_utf8(text).map_err(|_invalid| malformed("a text is not UTF-8"))?;
                budget.check(length)?;
                budget.add(length);
                text.clone_into(value);
                *rest = after;
            }
        }
        Ok(())
    }

    /// The length of a list of items that take at least `least` bytes each. When reading, the list is filled with that many
    /// default items.
    pub(super) fn length<T: Clone + Default>(
        &mut self,
        list: &mut Vec<T>,
        least: usize,
    ) -> Result<()> {
        let mut length = list.len() as u64;
        self.number(&mut length)?;
        if let Mode::Read { rest, budget } = &mut self.mode {
            if length > (rest.len() / least.max(1)) as u64 {
                return Err(ErrorKind::Truncated("a list is cut off"));
            }
            *list = Vec::new();
            budget.room(list, length as usize)?;
            list.resize(length as usize, T::default());
        }
        Ok(())
    }

    /// A list of items that take at least `least` bytes each.
    pub(super) fn list<T: Clone + Default>(
        &mut self,
        list: &mut Vec<T>,
        least: usize,
        mut item: impl FnMut(&mut Self, &mut T) -> Result<()>,
    ) -> Result<()> {
        self.length(list, least)?;
        list.iter_mut().try_for_each(|value| item(self, value))
    }
}

fn read_number(rest: &mut &[u8]) -> Result<u64> {
    let mut number = 0;
    // 64 bits are 9 × 7 bits and one more.
    for (place, &byte) in rest.iter().enumerate().take(10) {
        let bits = u64::from(byte & 0x7f);
        if place == 9 && bits > 1 {
            break;
        }
        number |= bits << (7 * place);
        if byte & 0x80 == 0 {
            *rest = &rest[place + 1..];
            return Ok(number);
        }
    }
    Err(match rest.len() {
        0..10 => ErrorKind::Truncated("a number is cut off"),
        _ => malformed("a number has more than 64 bits"),
    })
}

pub(super) fn malformed(what: &str) -> ErrorKind {
    ErrorKind::Malformed(format!("fleet: {what}"))
}
