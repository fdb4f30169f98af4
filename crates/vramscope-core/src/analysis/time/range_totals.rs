//! Totals of the live bytes between any two moments, without a pass over the events between them.
//!
//! There can be thousands of ranges (annotations, steps, a selection being drawn). So sums are prepared once: bytes
//! born up to each allocation, and the highest moment of each stretch.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::history::History;
use super::selection::Moments;

/// Moments or rows per stretch. Kept are the highest moment of each stretch, and the bytes of all stretches before it.
const STRETCH: usize = 64;

/// The live bytes of one device between two moments. All bytes are requested bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct RangeTotals {
    /// Bytes live at the first moment.
    pub before_bytes: u64,
    /// Bytes live at the last moment.
    pub after_bytes: u64,
    /// Peak of live bytes over all moments of the range, both ends included.
    pub peak_bytes: u64,
    /// The first moment of that peak.
    pub peak_moment: u32,
    /// Bytes allocated by the events in the range.
    pub allocated_bytes: u64,
    /// Bytes whose free was completed by events in the range.
    pub freed_bytes: u64,
    /// Number of allocations made by the events in the range.
    pub allocations: u32,
    /// Number of events in the range.
    pub events: u32,
}

impl RangeTotals {
    /// Live bytes after the range minus those before it.
    #[must_use]
    pub fn net_bytes(&self) -> i64 {
        let net = i128::from(self.after_bytes) - i128::from(self.before_bytes);
        net.clamp(i64::MIN.into(), i64::MAX.into()) as i64
    }

    /// The peak minus the bytes live at the first moment.
    #[must_use]
    pub fn rise_bytes(&self) -> u64 {
        self.peak_bytes.saturating_sub(self.before_bytes)
    }
}

/// Prepared sums of one history, for computing [`RangeTotals`]. Takes about a byte per event.
#[derive(Clone, Debug, Default)]
pub struct RangeSums {
    /// By stretch of rows: bytes of all allocations before it. The last stretch may have no rows. Empty if the sum of
    /// all bytes overflows, as in damaged files.
    bytes_before: Vec<u64>,
    /// Level 0: the highest moment of each stretch. Level `k`: the highest moment of the 2^k stretches that begin at
    /// each stretch.
    highest: Vec<Vec<u32>>,
}

impl RangeSums {
    /// Prepares the sums of a history.
    #[must_use]
    pub fn of(history: &History) -> Self {
        let stretches = history.allocations.bytes.chunks(STRETCH);
        let mut before = Some(0_u64);
        let mut bytes_before = Vec::with_capacity(stretches.len() + 1);
        for stretch in stretches.chain([&[][..]]) {
            bytes_before.push(before.unwrap_or(0));
            let sum = |before: u64, &bytes: &u64| before.checked_add(bytes);
            before = before.and_then(|before| stretch.iter().try_fold(before, sum));
        }
        Self {
            bytes_before: before.map(|_| bytes_before).unwrap_or_default(),
            highest: highest_levels(&history.active_bytes),
        }
    }

    /// The totals between two moments of `history`, from which the sums must have been made. Moments beyond the last
    /// count as the last one, and a range that runs backwards as empty.
    #[must_use]
    pub fn totals(&self, history: &History, (from, to): Moments) -> RangeTotals {
        let to = to.min(history.event_count);
        let from = from.min(to);
        let active = |moment: u32| history.active_bytes_at(moment);
        // Rows are sorted by birth.
        let row = |moment: u32| {
            let born = &history.allocations.born;
            born.partition_point(|&birth| birth <= moment)
        };
        let (first, end) = (row(from), row(to));
        let allocated_bytes = self.bytes_of_rows(history, first..end);
        let (before_bytes, after_bytes) = (active(from), active(to));
        let peak_moment = self.highest_in(&history.active_bytes, from, to);
        RangeTotals {
            before_bytes,
            after_bytes,
            peak_bytes: active(peak_moment),
            peak_moment,
            allocated_bytes,
            freed_bytes: before_bytes
                .saturating_add(allocated_bytes)
                .saturating_sub(after_bytes),
            allocations: (end - first) as u32,
            events: to - from,
        }
    }

    /// The bytes of consecutive allocations; saturating.
    fn bytes_of_rows(&self, history: &History, rows: Range<usize>) -> u64 {
        let sizes = &history.allocations.bytes;
        let before = |row: usize| {
            let stretch = self.bytes_before.get(row / STRETCH)?;
            let rest = sizes.get(row - row % STRETCH..row)?;
            Some(stretch + rest.iter().sum::<u64>())
        };
        match (before(rows.start), before(rows.end)) {
            (Some(before), Some(until)) => until - before,
            _ => {
                let sizes = history.allocations.bytes.get(rows).unwrap_or_default();
                sizes
                    .iter()
                    .fold(0, |sum, &bytes| sum.saturating_add(bytes))
            }
        }
    }

    /// The first of the highest moments in `from..=to`.
    fn highest_in(&self, active: &[u64], from: u32, to: u32) -> u32 {
        let (from, end) = (from as usize, (to as usize + 1).min(active.len()));
        if from >= end {
            return from as u32;
        }
        let (first, last) = (from.div_ceil(STRETCH), end / STRETCH);
        if first >= last {
            return highest(active, from as u32..end as u32);
        }
        // Two overlapping runs of a power of two cover all whole stretches.
        let level = (last - first).ilog2() as usize;
        let runs = &self.highest[level];
        let before = from as u32..(first * STRETCH) as u32;
        let after = (last * STRETCH) as u32..end as u32;
        let whole = [runs[first], runs[last - (1 << level)]];
        highest(active, before.chain(whole).chain(after))
    }
}

fn highest_levels(active: &[u64]) -> Vec<Vec<u32>> {
    let stretches = active.len() / STRETCH;
    let level_0 = (0..stretches)
        .map(|stretch| {
            let first = (stretch * STRETCH) as u32;
            highest(active, first..first + STRETCH as u32)
        })
        .collect();
    let mut levels: Vec<Vec<u32>> = vec![level_0];
    for level in 1.. {
        let half = 1_usize << (level - 1);
        let Some(below) = levels.last().filter(|below| below.len() > half) else {
            break;
        };
        let next = below
            .iter()
            .zip(&below[half..])
            .map(|(&a, &b)| highest(active, [a, b]))
            .collect();
        levels.push(next);
    }
    levels
}

/// The earliest of the given moments with the most live bytes. Moments beyond the recording count as 0.
fn highest(active: &[u64], moments: impl IntoIterator<Item = u32>) -> u32 {
    let mut best: Option<(u64, u32)> = None;
    for moment in moments {
        let bytes = active.get(moment as usize).copied().unwrap_or(0);
        let is_better =
            best.is_none_or(|(most, at)| bytes > most || (bytes == most && moment < at));
        if is_better {
            best = Some((bytes, moment));
        }
    }
    best.map_or(0, |(_, moment)| moment)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::time::history::{AllocationTable, NEVER};
    use proptest::prelude::*;

    fn history(lives: &[(u32, u32, u64)], events: u32) -> History {
        let mut lives = lives.to_vec();
        lives.sort_unstable();
        let column = |of: fn(&(u32, u32, u64)) -> u32| lives.iter().map(of).collect::<Vec<_>>();
        let bytes: Vec<u64> = lives.iter().map(|life| life.2).collect();
        let active = (0..=events).map(|m| {
            let live = lives.iter().filter(|life| life.0 <= m && m < life.1);
            live.map(|life| life.2).sum()
        });
        History {
            active_bytes: active.collect(),
            event_count: events,
            allocations: AllocationTable {
                address: vec![0; lives.len()],
                bytes,
                born: column(|life| life.0),
                free_requested: vec![NEVER; lives.len()],
                died: column(|life| life.1),
                version: vec![0; lives.len()],
            },
            ..History::default()
        }
    }

    /// The obvious implementation.
    fn slow(history: &History, (from, to): Moments) -> RangeTotals {
        let table = &history.allocations;
        let sum = |column: &[u32]| -> (u64, u32) {
            let rows = (0..table.len()).filter(|&row| from < column[row] && column[row] <= to);
            rows.fold((0, 0), |(bytes, count), row| {
                (bytes + table.bytes[row], count + 1)
            })
        };
        let moments = &history.active_bytes[from as usize..=to as usize];
        let peak_bytes = moments.iter().copied().max().unwrap();
        let place = moments
            .iter()
            .position(|&bytes| bytes == peak_bytes)
            .unwrap();
        RangeTotals {
            before_bytes: moments[0],
            after_bytes: moments[moments.len() - 1],
            peak_bytes,
            peak_moment: from + place as u32,
            allocated_bytes: sum(&table.born).0,
            freed_bytes: sum(&table.died).0,
            allocations: sum(&table.born).1,
            events: to - from,
        }
    }

    proptest! {
        #[test]
        fn any_range_is_as_summed_by_hand(
            lives in prop::collection::vec((0_u32..700, 1_u32..300, 0_u64..50), 0..300),
            ends in prop::collection::vec((0_u32..=600, 0_u32..=600), 20),
        ) {
            let events = 600;
            let lives: Vec<_> = lives
                .into_iter()
                .map(|(born, length, bytes)| {
                    let died = born + length;
                    (born.min(events), if died > events { NEVER } else { died }, bytes)
                })
                .collect();
            let history = history(&lives, events);
            let sums = RangeSums::of(&history);
            for (a, b) in ends {
                let range = (a.min(b), a.max(b));
                prop_assert_eq!(sums.totals(&history, range), slow(&history, range));
            }
        }
    }

    #[test]
    fn ranges_outside_are_cut() {
        let history = history(&[(1, NEVER, 10), (2, 3, 5)], 3);
        let sums = RangeSums::of(&history);
        assert_eq!(
            sums.totals(&history, (0, 99)),
            sums.totals(&history, (0, 3))
        );
        assert_eq!(sums.totals(&history, (3, 1)).events, 0);
        let whole = sums.totals(&history, (0, 3));
        assert_eq!((whole.peak_bytes, whole.peak_moment), (15, 2));
        assert_eq!((whole.net_bytes(), whole.rise_bytes()), (10, 15));
        let none = RangeSums::of(&History::default());
        assert_eq!(
            none.totals(&History::default(), (0, 7)),
            RangeTotals::default()
        );
    }
}
