//! Virtual addresses that expandable segments reserve: of each pool, stream and size class those of more than the whole device,
//! whatever is mapped there. A process has so many, and then there is no more memory to be had although the device has some.

use std::collections::HashSet;

use crate::analysis::memory::allocator_state::AllocatorState;
use crate::analysis::memory::settings::variable_pairs;
use crate::analysis::recording::Device;

/// Bytes of addresses that a process has on machines with four levels of page tables: half of 48 bits.
pub const ADDRESSES: u64 = 1 << 47;

/// Settings by which segments reserve other sizes, so that nothing is known of them.
const OTHER_SIZES: [&str; 2] = [
    "expandable_segments_reserve",
    "expandable_segments_reserve_by_class",
];

/// Bytes of addresses that the expandable segments of the process reserve at least: of the device those of the state, of its
/// other devices those at the end of the recording. torch reserves 9/8 of the device's memory for each.
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
