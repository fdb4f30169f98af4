//! Size rules of PyTorch's caching allocator: the rounded size of a request, and the size of the segment obtained for
//! it (c10/cuda/CUDACachingAllocator.h, c10/core/AllocatorConfig.cpp).

use serde_json::{Map, Value};

use super::allocator_state::SizeClass;
use super::capture::AllocatorKind;

/// The smallest block. All sizes are multiples of it.
pub const UNIT_BYTES: u64 = 512;
/// The largest request that the small pool serves. Also the largest remainder that is not split off a large block.
pub const SMALL_BYTES: u64 = 1 << 20;
/// Segment size for small requests, and the page size of expandable segments for them.
pub const SMALL_SEGMENT_BYTES: u64 = 2 << 20;
/// Like [`SMALL_SEGMENT_BYTES`], for large requests, by default.
pub const LARGE_SEGMENT_BYTES: u64 = 20 << 20;
/// Size of the chunks of the driver's memory pools, which are given back one by one (observed with driver 580).
pub const POOL_CHUNK_BYTES: u64 = 32 << 20;
/// Requests of this size and above get a segment of their own size, rounded up to [`OWN_SEGMENT_UNIT_BYTES`].
pub const OWN_SEGMENT_BYTES: u64 = 10 << 20;
/// See [`OWN_SEGMENT_BYTES`].
pub const OWN_SEGMENT_UNIT_BYTES: u64 = 2 << 20;

/// Number of size intervals with their own divisions. The first begins at 1 MiB, each further one at twice the size of
/// the previous; the last is open-ended.
pub const INTERVALS: usize = 16;

/// `roundup_power2_divisions`: the number of steps up to the next power of two. Below 2 = off.
pub type Divisions = [u64; INTERVALS];

/// The divisions in `allocator_settings`. Absent or invalid values count as unset.
pub fn divisions(settings: &Map<String, Value>) -> Option<Divisions> {
    let named = settings.get("roundup_power2_divisions")?.as_object()?;
    Some(std::array::from_fn(|interval| {
        let value = named.get(&(1_u64 << interval).to_string());
        value.and_then(Value::as_u64).unwrap_or(0)
    }))
}

/// The size of the pieces in which a segment can be given back; `None` if only as a whole.
pub fn page_bytes(
    allocator: AllocatorKind,
    is_expandable: bool,
    class: Option<SizeClass>,
) -> Option<u64> {
    is_expandable.then_some(match (allocator, class) {
        (AllocatorKind::Driver, _) => POOL_CHUNK_BYTES,
        (AllocatorKind::Torch, Some(SizeClass::Small)) => SMALL_SEGMENT_BYTES,
        // If the class is unknown, assume large pages, which underestimates the returnable memory.
        (AllocatorKind::Torch, Some(SizeClass::Large) | None) => LARGE_SEGMENT_BYTES,
    })
}

/// `max_split_size` in `allocator_settings`. -1, or 2^64 - 1 in some builds, means unlimited.
pub fn max_split_bytes(settings: &Map<String, Value>) -> Option<u64> {
    let bytes = settings.get("max_split_size")?.as_u64();
    bytes.filter(|&bytes| bytes < i64::MAX as u64)
}

/// The block size for a request, if the remainder of the free block is split off.
pub fn rounded(bytes: u64, divisions: &Divisions) -> u64 {
    let bytes = bytes.max(1);
    let log2 = bytes.ilog2();
    let divisions = divisions[(log2.saturating_sub(20) as usize).min(INTERVALS - 1)];
    let is_divided =
        divisions > 1 && bytes > UNIT_BYTES.saturating_mul(divisions) && !bytes.is_power_of_two();
    let unit = if is_divided {
        ((1_u64 << log2) >> divisions.ilog2()).max(1)
    } else {
        UNIT_BYTES
    };
    bytes.checked_next_multiple_of(unit).unwrap_or(u64::MAX)
}

/// The size of an ordinary segment for a rounded request. `large` is the size of segments that large requests share.
pub fn segment_bytes(bytes: u64, large: u64) -> u64 {
    if bytes <= SMALL_BYTES {
        SMALL_SEGMENT_BYTES
    } else if bytes < OWN_SEGMENT_BYTES {
        large
    } else {
        let own = bytes.checked_next_multiple_of(OWN_SEGMENT_UNIT_BYTES);
        own.unwrap_or(u64::MAX)
    }
}
