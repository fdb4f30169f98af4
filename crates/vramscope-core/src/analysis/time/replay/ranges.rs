//! A set of mapped address ranges with insertion, cutting and merging.

use std::collections::BTreeMap;

use crate::model::PoolId;

/// A contiguous range of device memory held from the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MappedRange {
    /// Start address.
    pub address: u64,
    /// Size in bytes.
    pub bytes: u64,
    /// The `cudaStream_t` as a number.
    pub stream: i64,
    /// The pool, if the file records it.
    pub pool: Option<PoolId>,
    /// Whether it belongs to an expandable segment, which may grow, shrink and be split.
    pub is_expandable: bool,
}

impl MappedRange {
    /// Whether two touching ranges belong to one expandable segment: never those of different streams or pools.
    pub(crate) fn joins(&self, other: &Self) -> bool {
        let is_other_pool = |(a, b)| a != b;
        self.is_expandable
            && other.is_expandable
            && self.stream == other.stream
            && !self.pool.zip(other.pool).is_some_and(is_other_pool)
    }

    /// The address after its last byte. In damaged files it can exceed 64 bits.
    fn end(&self) -> u128 {
        u128::from(self.address) + u128::from(self.bytes)
    }
}

/// Disjoint ranges, sorted by address.
#[derive(Clone, Default, Debug)]
pub(crate) struct Ranges {
    by_address: BTreeMap<u64, MappedRange>,
}

impl Ranges {
    pub(super) fn len(&self) -> usize {
        self.by_address.len()
    }

    pub(crate) fn to_vec(&self) -> Vec<MappedRange> {
        self.by_address.values().copied().collect()
    }

    /// Adds a range that stays separate even if it touches another, because the file lists it separately.
    pub(super) fn insert_apart(&mut self, range: MappedRange) {
        self.by_address.insert(range.address, range);
    }

    /// Adds a range, and merges it with touching expandable ranges of the same stream and pool. Returns whether it was
    /// free before; if not, nothing changes.
    pub(super) fn insert(&mut self, range: MappedRange) -> bool {
        let before = self
            .by_address
            .range(..=range.address)
            .next_back()
            .map(|(_, range)| *range);
        let after = self
            .by_address
            .range(range.address..)
            .next()
            .map(|(_, range)| *range);
        let overlaps = before.is_some_and(|before| before.end() > u128::from(range.address))
            || after.is_some_and(|after| u128::from(after.address) < range.end());
        if overlaps {
            return false;
        }
        let mut joined = range;
        let joins = |other: &MappedRange| range.joins(other);
        if let Some(after) =
            after.filter(|after| joins(after) && u128::from(after.address) == range.end())
        {
            self.by_address.remove(&after.address);
            joined.bytes = joined.bytes.saturating_add(after.bytes);
            joined.pool = joined.pool.or(after.pool);
        }
        if let Some(before) =
            before.filter(|before| joins(before) && before.end() == u128::from(range.address))
        {
            joined.address = before.address;
            joined.bytes = joined.bytes.saturating_add(before.bytes);
            joined.pool = joined.pool.or(before.pool);
        }
        self.by_address.insert(joined.address, joined);
        true
    }

    /// Removes a range: a whole segment, or a piece of an expandable one, whose parts before and after the piece
    /// remain. Returns whether it was mapped as one range; if not, nothing changes.
    pub(super) fn remove(&mut self, range: &MappedRange) -> bool {
        let Some((_, &holder)) = self.by_address.range(..=range.address).next_back() else {
            return false;
        };
        if range.end() > holder.end() || (!holder.is_expandable && holder.address != range.address)
        {
            return false;
        }
        self.by_address.remove(&holder.address);
        // An ordinary segment is removed as a whole, even if the event gives another size.
        if !range.is_expandable && !holder.is_expandable {
            return true;
        }
        let bytes_before = range.address - holder.address;
        if bytes_before > 0 {
            self.by_address.insert(
                holder.address,
                MappedRange {
                    bytes: bytes_before,
                    ..holder
                },
            );
        }
        let bytes_after = (holder.end() - range.end()) as u64;
        if bytes_after > 0 {
            let address = range.address.wrapping_add(range.bytes);
            self.by_address.insert(
                address,
                MappedRange {
                    address,
                    bytes: bytes_after,
                    ..holder
                },
            );
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expandable(address: u64, bytes: u64) -> MappedRange {
        MappedRange {
            address,
            bytes,
            stream: 0,
            pool: None,
            is_expandable: true,
        }
    }

    fn spans(ranges: &Ranges) -> Vec<(u64, u64)> {
        ranges
            .to_vec()
            .iter()
            .map(|range| (range.address, range.bytes))
            .collect()
    }

    #[test]
    fn expandable_ranges_join_and_are_cut() {
        let mut ranges = Ranges::default();
        assert!(ranges.insert(expandable(0, 10)));
        assert!(ranges.insert(expandable(20, 10)));
        assert!(ranges.insert(expandable(10, 10)));
        assert_eq!(spans(&ranges), [(0, 30)]);
        assert!(ranges.remove(&expandable(5, 10)));
        assert_eq!(spans(&ranges), [(0, 5), (15, 15)]);
        assert!(!ranges.remove(&expandable(0, 6)), "not mapped to its end");
        assert!(!ranges.insert(expandable(4, 2)), "already mapped in part");
        assert_eq!(spans(&ranges), [(0, 5), (15, 15)]);
    }

    #[test]
    fn other_streams_and_plain_segments_stay_apart() {
        let mut ranges = Ranges::default();
        ranges.insert(expandable(0, 10));
        ranges.insert(MappedRange {
            stream: 1,
            ..expandable(10, 10)
        });
        ranges.insert(MappedRange {
            is_expandable: false,
            ..expandable(20, 10)
        });
        assert_eq!(spans(&ranges), [(0, 10), (10, 10), (20, 10)]);
        assert!(!ranges.remove(&MappedRange {
            is_expandable: false,
            ..expandable(22, 3)
        }));
        assert!(ranges.remove(&MappedRange {
            is_expandable: false,
            ..expandable(20, 10)
        }));
        assert_eq!(spans(&ranges), [(0, 10), (10, 10)]);
    }
}
