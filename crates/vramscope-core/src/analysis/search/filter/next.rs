//! The next match of a filter, in the order of births.

use serde::{Deserialize, Serialize};

use crate::bitset::BitSet;
use crate::ids::AllocationId;

/// A match, and its position among all matches.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct NextMatch {
    /// The allocation.
    pub allocation: AllocationId,
    /// The first moment at which it is live.
    pub moment: u32,
    /// Its number among the matches, from 1.
    pub place: u64,
}

/// The match after `from` or before it; without `from`, the first one born at `moment` or later, or the last one born
/// before. Wraps around at the ends. `born` has the first moment of each allocation, ascending. `None` if nothing
/// matches.
#[must_use]
pub fn next_match(
    born: &[u32],
    matches: &BitSet,
    from: Option<AllocationId>,
    moment: Option<u32>,
    is_forward: bool,
) -> Option<NextMatch> {
    let start = from.map(AllocationId::index).or_else(|| {
        let first = born.partition_point(|&born| born < moment.unwrap_or(0));
        if is_forward {
            first.checked_sub(1)
        } else {
            Some(first)
        }
    });
    let row = if is_forward {
        let mut after = matches
            .iter()
            .filter(|&row| start.is_none_or(|start| row > start));
        after.next().or_else(|| matches.iter().next())
    } else {
        let before = matches
            .iter()
            .take_while(|&row| start.is_none_or(|start| row < start));
        before.last().or_else(|| matches.iter().last())
    }?;
    Some(NextMatch {
        allocation: AllocationId::from_index(row),
        moment: born[row],
        place: matches.iter().take_while(|&other| other <= row).count() as u64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_goes_round_at_both_ends() {
        let mut matches = BitSet::new(4);
        matches.insert(1);
        matches.insert(3);
        let next = |from: Option<usize>, moment, is_forward| {
            let from = from.map(AllocationId::from_index);
            let next = next_match(&[0, 1, 2, 3], &matches, from, moment, is_forward).unwrap();
            (next.allocation.index(), next.moment, next.place)
        };
        assert_eq!(next(None, None, true), (1, 1, 1));
        assert_eq!(next(None, Some(2), true), (3, 3, 2));
        assert_eq!(next(None, Some(2), false), (1, 1, 1));
        assert_eq!(next(Some(3), None, true), (1, 1, 1));
        assert_eq!(next(Some(1), None, false), (3, 3, 2));
        assert_eq!(next_match(&[0], &BitSet::new(1), None, None, true), None);
    }
}
