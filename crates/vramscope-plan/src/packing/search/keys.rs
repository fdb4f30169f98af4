//! A buffer to place, as one number. From the highest bits down it holds the buffer's least offset, its rank and its
//! index in the part, so sorted keys are in the order in which they are tried.

/// Bits of an index, and bits of a rank.
pub(super) const INDEX_BITS: u32 = 11;
const OFFSET_SHIFT: u32 = 2 * INDEX_BITS;
/// Most buffers of a part. An index fits its bits, and all lists of a search fit in some 30 MB.
pub(super) const MOST_BUFFERS: usize = 1 << INDEX_BITS;
/// Upper limit of offsets in units; the sum of two still fits.
pub(super) const MOST_UNITS: u64 = 1 << (u64::BITS - OFFSET_SHIFT - 1);

pub(super) fn offset_of(key: u64) -> u64 {
    key >> OFFSET_SHIFT
}

pub(super) fn index_of(key: u64) -> usize {
    (key & ((1 << INDEX_BITS) - 1)) as usize
}

/// The key with another offset.
pub(super) fn at_offset(key: u64, offset: u64) -> u64 {
    offset << OFFSET_SHIFT | key & ((1 << OFFSET_SHIFT) - 1)
}

/// Merges `raised` into `keys[start..]`, which are ascending.
pub(super) fn merge(keys: &mut Vec<u64>, start: usize, raised: &mut Vec<u64>) {
    raised.sort_unstable();
    let mut from = keys.len();
    keys.extend_from_slice(raised);
    let mut to = keys.len();
    while let Some(&key) = raised.last() {
        to -= 1;
        if from > start && keys[from - 1] > key {
            from -= 1;
            keys[to] = keys[from];
        } else {
            keys[to] = key;
            raised.pop();
        }
    }
}
