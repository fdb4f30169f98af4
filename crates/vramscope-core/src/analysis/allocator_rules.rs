//! The sizes that PyTorch's caching allocator works with: what a request becomes, and what is asked of CUDA for it.
//! (c10/cuda/CUDACachingAllocator.h, c10/core/AllocatorConfig.cpp)

use serde_json::{Map, Value};

/// The smallest block, and what all sizes are multiples of.
pub(crate) const UNIT_BYTES: u64 = 512;
/// The largest request that the small pool serves, and the largest rest that stays with a large block.
pub(crate) const SMALL_BYTES: u64 = 1 << 20;
/// The segment, and the page of expandable segments, for small requests; those for large ones are larger.
pub(crate) const SMALL_SEGMENT_BYTES: u64 = 2 << 20;
/// The same for large ones, unless set otherwise.
pub(crate) const LARGE_SEGMENT_BYTES: u64 = 20 << 20;
/// Requests from here on get a segment of their own size, rounded up to [`OWN_SEGMENT_UNIT_BYTES`].
pub(crate) const OWN_SEGMENT_BYTES: u64 = 10 << 20;
/// See [`OWN_SEGMENT_BYTES`].
pub(crate) const OWN_SEGMENT_UNIT_BYTES: u64 = 2 << 20;

/// Intervals of sizes with their own number of divisions: from 1 MiB by powers of two, the last open.
pub(crate) const INTERVALS: usize = 16;

/// `roundup_power2_divisions`: into how many parts the way to the next power of two is divided; below 2 = not.
pub(crate) type Divisions = [u64; INTERVALS];

/// The divisions that `allocator_settings` name; what is absent or odd counts as not set.
pub(crate) fn divisions(settings: &Map<String, Value>) -> Option<Divisions> {
    let named = settings.get("roundup_power2_divisions")?.as_object()?;
    Some(std::array::from_fn(|interval| {
        let value = named.get(&(1_u64 << interval).to_string());
        value.and_then(Value::as_u64).unwrap_or(0)
    }))
}

/// `max_split_size` in `allocator_settings`. -1, or 2^64 - 1 from some builds, stands for no bound.
pub(crate) fn max_split_bytes(settings: &Map<String, Value>) -> Option<u64> {
    let bytes = settings.get("max_split_size")?.as_u64();
    bytes.filter(|&bytes| bytes < i64::MAX as u64)
}

/// The size of a block for a request, if the rest of the free block is cut off.
pub(crate) fn rounded(bytes: u64, divisions: &Divisions) -> u64 {
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

/// What is asked of CUDA for a rounded request, in ordinary segments; `large`: of requests that share a segment.
pub(crate) fn segment_bytes(bytes: u64, large: u64) -> u64 {
    if bytes <= SMALL_BYTES {
        SMALL_SEGMENT_BYTES
    } else if bytes < OWN_SEGMENT_BYTES {
        large
    } else {
        let own = bytes.checked_next_multiple_of(OWN_SEGMENT_UNIT_BYTES);
        own.unwrap_or(u64::MAX)
    }
}
