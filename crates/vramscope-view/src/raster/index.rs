//! Data computed once per timeline, so that the cost of a frame depends only on what is visible.
//!
//! Births are visited in row order (or through a sorted list if rows are not sorted by birth),
//! deaths and free requests through rows sorted by moment. The highest total of an interval comes
//! from the maxima of blocks of 64 moments. About 8 bytes per allocation and 0.2 per event.

use vramscope_core::sorting::rows_by_moment;

use super::bands::{Bands, NEVER, Totals};
use std::ops::RangeInclusive;

/// Moments per block of the maximum structure.
const BLOCK: usize = 64;

/// Heights are rounded if this much memory or more is live: size-weighted sums of 12-bit colours
/// must stay below 2^63.
const EXACT_BYTES: u128 = 1 << 51;

/// Data computed once per [`Bands`] and used by every frame.
#[derive(Clone, Debug, Default)]
pub struct TimelineIndex {
    /// Rows sorted by birth; `None` if the rows themselves are.
    pub(super) by_birth: Option<Vec<u32>>,
    /// Rows that die within the recording, sorted by death.
    pub(super) by_death: Vec<u32>,
    /// Rows with a pending free, sorted by its start.
    pub(super) by_request: Vec<u32>,
    block_max_bytes: Vec<u64>,
    /// Per block, the earliest moment with its maximum.
    block_moment: Vec<u32>,
    /// Heights are drawn in units of `2^unit_shift` bytes: 0 unless 2 PiB or more are live at once.
    pub(super) unit_shift: u32,
    peak_moment: u32,
    peak_bytes: u64,
}

impl TimelineIndex {
    /// Computes the index; O(allocations + events).
    #[must_use]
    pub fn new(bands: &Bands<'_>) -> Self {
        let (rows, moments) = (bands.rows(), bands.moments());
        let (born, died) = (&bands.born[..rows], &bands.died[..rows]);
        let by_birth = (!born.is_sorted()).then(|| rows_by_moment(moments, rows, |row| born[row]));
        let by_death = rows_by_moment(moments, rows, |row| {
            if born[row] < died[row] {
                died[row]
            } else {
                NEVER
            }
        });
        let by_request = rows_by_moment(moments, rows, |row| {
            let requested = bands.free_requested[row];
            if requested < died[row] && born[row] < died[row] {
                requested
            } else {
                NEVER
            }
        });

        let mut block_max_bytes = Vec::with_capacity(moments.div_ceil(BLOCK));
        let mut block_moment = Vec::with_capacity(moments.div_ceil(BLOCK));
        for first in (0..moments).step_by(BLOCK) {
            let (at, max) = bands.total_bytes.highest(first, moments.min(first + BLOCK));
            block_max_bytes.push(max);
            block_moment.push(at as u32);
        }
        let blocks = Totals::Each(&block_max_bytes);
        let (peak_block, peak_bytes) = blocks.highest(0, block_max_bytes.len());
        Self {
            by_birth,
            by_death,
            by_request,
            unit_shift: unit_shift(&bands.bytes[..rows], peak_bytes),
            peak_moment: block_moment.get(peak_block).copied().unwrap_or(0),
            peak_bytes,
            block_max_bytes,
            block_moment,
        }
    }

    /// The earliest moment with the highest total; 0 without moments.
    #[must_use]
    pub fn peak_moment(&self) -> u32 {
        self.peak_moment
    }

    /// The highest total, in bytes.
    #[must_use]
    pub fn peak_bytes(&self) -> u64 {
        self.peak_bytes
    }

    /// The earliest moment of `moments` with the highest total. `moments` must lie within `bands`.
    #[must_use]
    pub fn highest_in(&self, bands: &Bands<'_>, moments: RangeInclusive<u32>) -> u32 {
        let (first, end) = (*moments.start() as usize, *moments.end() as usize + 1);
        let first_block = first.div_ceil(BLOCK);
        let end_block = end / BLOCK;
        let scan = |from: usize, to: usize| {
            let (at, max) = bands.total_bytes.highest(from, to);
            (at as u32, max)
        };
        if first_block >= end_block {
            return scan(first, end).0;
        }
        let mut best = (
            self.block_moment[first_block],
            self.block_max_bytes[first_block],
        );
        let blocks = Totals::Each(&self.block_max_bytes);
        let (block, max) = blocks.highest(first_block, end_block);
        if max > best.1 {
            best = (self.block_moment[block], max);
        }
        if first < first_block * BLOCK {
            let head = scan(first, first_block * BLOCK);
            if head.1 >= best.1 {
                best = head;
            }
        }
        if end_block * BLOCK < end {
            let tail = scan(end_block * BLOCK, end);
            if tail.1 > best.1 {
                best = tail;
            }
        }
        best.0
    }
}

/// The smallest shift that keeps the peak below [`EXACT_BYTES`].
fn unit_shift(bytes: &[u64], peak_bytes: u64) -> u32 {
    let all: u128 = bytes.iter().map(|&b| u128::from(b)).sum();
    if all < EXACT_BYTES {
        return 0;
    }
    // If the totals saturated at `u64::MAX`, the sum of all allocations is the better bound.
    let bound = if peak_bytes == u64::MAX {
        all
    } else {
        all.min(u128::from(peak_bytes))
    };
    (128 - bound.leading_zeros()).saturating_sub(EXACT_BYTES.trailing_zeros())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bands(total_bytes: Totals<'_>) -> Bands<'_> {
        Bands {
            born: &[],
            died: &[],
            free_requested: &[],
            bytes: &[],
            total_bytes,
            moment_start_us: None,
        }
    }

    proptest! {
        #[test]
        fn highest_is_the_earliest_maximum(
            values in prop::collection::vec((0_u64..50, 1_usize..40), 1..90), cut in any::<(prop::sample::Index, prop::sample::Index)>()
        ) {
            let values: Vec<u64> = values.into_iter().flat_map(|(value, times)| vec![value; times]).collect();
            let (a, b) = (cut.0.index(values.len()), cut.1.index(values.len()));
            let (first, last) = (a.min(b), a.max(b));
            let max = *values[first..=last].iter().max().unwrap();
            let expected = first + values[first..=last].iter().position(|&v| v == max).unwrap();
            // The same in steps, some of which last long.
            let steps: Vec<_> = (0..).zip(values.iter().copied()).collect();
            let mut steps: Vec<(u32, u64)> = steps.chunk_by(|a, b| a.1 == b.1).map(|equal| equal[0]).collect();
            let all = Totals::Steps(values.len(), &steps);
            prop_assert!((0..).zip(&values).all(|(moment, &value)| all.at(moment) == value));
            for totals in [Totals::Each(&values), all] {
                let bands = bands(totals);
                let index = TimelineIndex::new(&bands);
                prop_assert_eq!(index.highest_in(&bands, first as u32..=last as u32), expected as u32);
                prop_assert_eq!(index.peak_bytes(), *values.iter().max().unwrap());
            }
            steps.clear();
            prop_assert_eq!(Totals::Steps(9, &steps).highest(2, 5), (2, 0));
        }
    }

    #[test]
    fn shift_only_beyond_two_pebibytes() {
        assert_eq!(unit_shift(&[1 << 50], 1 << 50), 0);
        assert_eq!(unit_shift(&[1 << 40; 4_096], 1 << 45), 0);
        assert_eq!(unit_shift(&[u64::MAX], u64::MAX), 13);
        assert_eq!(unit_shift(&[u64::MAX; 4], u64::MAX), 15);
    }
}
