//! Integers in pickle bytes.

use super::opcode as op;
use crate::container::WINDOW;

/// The integer that the first opcode pushes, and the opcode's length; `None` for other opcodes and for integers of more
/// than eight bytes.
#[inline(always)]
pub(super) fn integer(window: &[u8; WINDOW]) -> Option<(usize, i64)> {
    match window[0] {
        op::BININT1 => Some((2, i64::from(window[1]))),
        op::BININT2 => Some((3, i64::from(u16_at(window)))),
        op::BININT => Some((5, i64::from(u32_at(window) as i32))),
        op::LONG1 if window[1] <= 8 => {
            let size = usize::from(window[1]);
            Some((2 + size, short_integer(u64_at(window, 2), size)))
        }
        _ => None,
    }
}

/// The memo number that the first opcode fetches, and the opcode's length; `None` for other opcodes.
#[inline(always)]
pub(super) fn fetched(window: &[u8; WINDOW]) -> Option<(usize, u32)> {
    match window[0] {
        op::BINGET => Some((2, u32::from(window[1]))),
        op::LONG_BINGET => Some((5, u32_at(window))),
        _ => None,
    }
}

pub(super) fn u16_at(window: &[u8; WINDOW]) -> u16 {
    u16::from_le_bytes([window[1], window[2]])
}

pub(super) fn u32_at(window: &[u8; WINDOW]) -> u32 {
    u32::from_le_bytes([window[1], window[2], window[3], window[4]])
}

pub(super) fn u64_at(window: &[u8; WINDOW], start: usize) -> u64 {
    let bytes = window
        .get(start..start + 8)
        .and_then(|bytes| bytes.first_chunk());
    bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// Two's complement of `length` ≤ 8 bytes.
pub(super) fn short_integer(bytes: u64, length: usize) -> i64 {
    if length == 0 {
        return 0;
    }
    let unused_bits = 64 - 8 * length as u32;
    ((bytes << unused_bits) as i64) >> unused_bits
}
