//! Code outside all libraries, generated while the program runs.
//!
//! Such code has no unwind information, so framehop follows the frame pointer, which most generated code keeps.
//! Python's trampolines (`python -X perf` generates one per function so that profilers see Python functions) do not
//! keep it on x86-64 before Python 3.14, but they all consist of the same few instructions.

use super::{maps, memory};
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

/// Maximum number of mappings with generated code. Further ones are ignored.
const MAX_GENERATED: usize = 1024;
/// Maximum number of failed lookups. A lookup takes as long as a hundred stacks, so lookups end if unwinding keeps
/// going astray.
const MAX_FAILED_LOOKUPS: u32 = 256;

static FAILED_LOOKUPS: AtomicU32 = AtomicU32::new(0);

/// Instructions after a trampoline's call: `add rsp, 8; ret`.
#[cfg(target_arch = "x86_64")]
const TRAMPOLINE_END: Option<[u8; 5]> = Some([0x48, 0x83, 0xC4, 0x08, 0xC3]);
/// Trampolines keep the frame pointer on aarch64.
#[cfg(target_arch = "aarch64")]
const TRAMPOLINE_END: Option<[u8; 5]> = None;

/// Unwind information for a mapping of trampolines at any address: the caller's frame is 16 bytes up, the return
/// address just below it. An `.eh_frame` with addresses relative to the start of the mapping.
pub(super) static TRAMPOLINE_FRAMES: [u8; 56] = [
    // CIE: 20 bytes, id 0, version 1, no augmentation, alignment factors 1 and -8, return address in register 16.
    20, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0x78, 16, // DW_CFA_def_cfa(rsp, 16)
    0x0C, 7, 16, // DW_CFA_offset(16, 1), nops
    0x90, 1, 0, 0, 0, 0, 0, 0, // FDE: 20 bytes, CIE 28 bytes before, 1 GiB from 0.
    20, 0, 0, 0, 28, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x40, 0, 0, 0, 0, // The end.
    0, 0, 0, 0, 0, 0, 0, 0,
];

/// A mapping with generated code.
#[derive(Clone)]
pub(super) struct Generated {
    pub(super) range: Range<u64>,
    pub(super) is_trampolines: bool,
}

/// The mapping of a return address, if it holds code and is not in `known`.
pub(super) fn find(address: u64, known: &[Generated]) -> Option<Generated> {
    if known.len() >= MAX_GENERATED || FAILED_LOOKUPS.load(Ordering::Relaxed) >= MAX_FAILED_LOOKUPS
    {
        return None;
    }
    let mapping = maps::find(address.wrapping_sub(1)).filter(|mapping| mapping.is_executable);
    let Some(mapping) = mapping else {
        FAILED_LOOKUPS.fetch_add(1, Ordering::Relaxed);
        return None;
    };
    let mut bytes = [0; 5];
    let is_trampolines = memory::copy(address, &mut bytes) && Some(bytes) == TRAMPOLINE_END;
    Some(Generated {
        range: mapping.range,
        is_trampolines,
    })
}
