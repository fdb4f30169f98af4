//! Follows the segments and mappings of a trace, to know which memory was held after its last event.

use std::collections::BTreeMap;

/// Ranges of addresses that are known to be held or not. Nothing is known about all other addresses.
#[derive(Default)]
pub(crate) struct KnownRanges {
    /// By first address: the last address, and whether the range is held. Ranges do not overlap.
    ranges: BTreeMap<u64, (u64, bool)>,
}

impl KnownRanges {
    /// Notes whether a range is held from now on. Returns how many of its bytes were already known to be in that state.
    pub(crate) fn set(&mut self, address: u64, bytes: u64, is_held: bool) -> u64 {
        let Some(more) = bytes.checked_sub(1) else {
            return 0;
        };
        let last = address.saturating_add(more);
        let mut same = 0;
        while let Some((&start, &(end, was_held))) = self.ranges.range(..=last).next_back() {
            if end < address {
                break;
            }
            self.ranges.remove(&start);
            if was_held == is_held {
                same += end.min(last) - start.max(address) + 1;
            }
            if end > last {
                self.ranges.insert(last + 1, (end, was_held));
            }
            if start < address {
                self.ranges.insert(start, (address - 1, was_held));
            }
        }
        self.ranges.insert(address, (last, is_held));
        same
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with an array that has a cell for each address.
    #[test]
    fn as_an_array_has_it() {
        let mut random = 1_u64;
        let mut next = |below: u64| {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (random >> 33) % below
        };
        for _ in 0..200 {
            let mut known = KnownRanges::default();
            let mut cells = [None; 64];
            for _ in 0..60 {
                let (address, is_held) = (next(50), next(2) == 1);
                let bytes = next(14);
                let range = &mut cells[address as usize..(address + bytes) as usize];
                let same = range.iter().filter(|&&cell| cell == Some(is_held)).count();
                range.fill(Some(is_held));
                assert_eq!(known.set(address, bytes, is_held), same as u64);
            }
        }
    }

    #[test]
    fn up_to_the_last_address() {
        let mut known = KnownRanges::default();
        assert_eq!(known.set(u64::MAX - 7, 8, true), 0);
        assert_eq!(known.set(u64::MAX - 3, 4, true), 4);
        assert_eq!(known.set(u64::MAX, 1, false), 0);
        assert_eq!(known.set(u64::MAX - 7, 8, true), 7);
    }
}
