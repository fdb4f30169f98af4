//! Virtual addresses reserved by expandable segments: for each pool, stream and size class, more than the size of the
//! device, however little is mapped. When a process runs out of addresses, it cannot get the device's remaining memory.

use std::collections::HashSet;

use crate::analysis::memory::allocator_state::AllocatorState;
use crate::analysis::memory::settings::variable_pairs;
use crate::analysis::recording::Device;

/// Bytes of addresses per process on machines with four levels of page tables: half of 48 bits.
pub const ADDRESSES: u64 = 1 << 47;

/// Settings that make segments reserve other sizes, so that the total is unknown.
const OTHER_SIZES: [&str; 2] = [
    "expandable_segments_reserve",
    "expandable_segments_reserve_by_class",
];

/// Lower bound of the addresses that the process's expandable segments reserve, in bytes: segments of the device from
/// the state, those of other devices from the end of the recording. torch reserves 9/8 of the device's memory for each.
pub(super) fn reserved(device: Device<'_>, state: &AllocatorState, device_bytes: u64) -> u64 {
    let snapshot = device.snapshot();
    let settings = variable_pairs(snapshot);
    if settings
        .iter()
        .any(|(key, _)| OTHER_SIZES.contains(&key.as_str()))
    {
        return 0;
    }
    let here = state
        .segments
        .iter()
        .filter(|segment| segment.is_expandable);
    let here: HashSet<_> = here
        .map(|segment| (segment.pool, segment.stream, segment.size_class))
        .collect();
    let own = i32::try_from(device.index()).unwrap_or(-1);
    let others = snapshot.segments.rows.iter().filter(|segment| {
        segment.is_expandable == Some(true) && segment.device >= 0 && segment.device != own
    });
    let others: HashSet<_> = others
        .map(|segment| (segment.device, segment.pool, segment.stream, segment.kind))
        .collect();
    let each = device_bytes.saturating_add(device_bytes / 8);
    each.saturating_mul((here.len() + others.len()) as u64)
}
