//! Code that no library holds: made while the program runs.
//!
//! There is no unwind information for it, so framehop follows the frame pointer, which is what most makers of code
//! keep. Python's trampolines (`python -X perf`, one per function, so that profilers see which Python function
//! runs) do not on x86-64 before Python 3.14, but they are all the same few instructions.

use super::{maps, memory};
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

/// More mappings with code than these are not looked up.
const MOST_GENERATED: usize = 1024;
/// Looking for a mapping takes as long as a hundred stacks. Where unwinding goes astray again and again, it is given up.
const MOST_IN_VAIN: u32 = 256;

static IN_VAIN: AtomicU32 = AtomicU32::new(0);

/// What a trampoline returns to: `add rsp, 8; ret`.
#[cfg(target_arch = "x86_64")]
const TRAMPOLINE_END: Option<[u8; 5]> = Some([0x48, 0x83, 0xC4, 0x08, 0xC3]);
/// They keep the frame pointer.
#[cfg(target_arch = "aarch64")]
const TRAMPOLINE_END: Option<[u8; 5]> = None;

/// Unwind information of a mapping full of trampolines, wherever it is: the caller's frame is 16 bytes up, the return
/// address below it. In the form of an `.eh_frame` whose addresses count from the mapping's start.
pub(super) static TRAMPOLINE_FRAMES: [u8; 56] = [
    // Common part: 20 bytes, id 0, version 1, no augmentation, units of 1 and -8 bytes, return address in 16.
    20, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0x78, 16, // DW_CFA_def_cfa(rsp, 16)
    0x0C, 7, 16, // DW_CFA_offset(16, 1), nops
    0x90, 1, 0, 0, 0, 0, 0, 0,
    // Function: 20 bytes, the common part 28 bytes before, 1 GiB from 0.
    20, 0, 0, 0, 28, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x40, 0, 0, 0, 0, // The end.
    0, 0, 0, 0, 0, 0, 0, 0,
];

/// A mapping with code.
#[derive(Clone)]
pub(super) struct Generated {
    pub(super) range: Range<u64>,
    pub(super) is_trampolines: bool,
}

/// The mapping that a return address leads to, if it holds code and is not `known`.
pub(super) fn find(address: u64, known: &[Generated]) -> Option<Generated> {
    if known.len() >= MOST_GENERATED || IN_VAIN.load(Ordering::Relaxed) >= MOST_IN_VAIN {
        return None;
    }
    let mapping = maps::at(address.wrapping_sub(1)).filter(|mapping| mapping.is_executable);
    let Some(mapping) = mapping else {
        IN_VAIN.fetch_add(1, Ordering::Relaxed);
        return None;
    };
    let mut bytes = [0; 5];
    let is_trampolines = memory::copy(address, &mut bytes) && Some(bytes) == TRAMPOLINE_END;
    Some(Generated {
        range: mapping.range,
        is_trampolines,
    })
}
