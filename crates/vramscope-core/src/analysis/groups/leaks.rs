//! Memory that repetitions of the same work, such as training steps, leave behind: allocated in one repetition and
//! still live at the end of the last.
//!
//! A single repetition that leaves memory behind sets up state, for example of an optimizer or a cache. A leak occurs
//! in most repetitions. So groups are ranked by the median over all repetitions, which is 0 unless more than half of
//! them left something. The last repetition is not counted, because the next one might have freed its allocations, such
//! as gradients. A recording only shows which memory is live. Whether it is still needed, only the program's author
//! knows.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::grouping::GroupColumn;
use super::turnover::Amount;
use crate::analysis::time::history::History;
use crate::analysis::time::lanes::LaneRange;
use crate::analysis::time::selection::Moments;
use crate::sorting::SortFew;

/// What the repetitions left behind of one group.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct GroupLeft {
    /// Index into [`GroupColumn::labels`].
    pub group: u32,
    /// The sum over all repetitions.
    pub left: Amount,
    /// Number of repetitions that left something.
    pub repetitions: u64,
    /// The median over all counted repetitions of the bytes that each left; 0 if half of them left nothing.
    pub median_bytes: u64,
    /// The first repetition that left something: an index into [`Leaks::repetitions`].
    pub first: usize,
    /// The last repetition that left something: an index into [`Leaks::repetitions`].
    pub last: usize,
}

/// What all repetitions left behind.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Leaks {
    /// The end of the last repetition: memory live at this moment has been left behind.
    pub until: u32,
    /// What each repetition but the last left behind.
    pub repetitions: Vec<Amount>,
    /// The median of the bytes in `repetitions`.
    pub median_bytes: u64,
    /// Allocated between repetitions, and live at `until`.
    pub outside: Amount,
    /// Active bytes at the end of the first repetition.
    pub first_live_bytes: u64,
    /// Active bytes at the end of the last repetition.
    pub last_live_bytes: u64,
    /// By group, sorted by median, then by bytes left, both descending.
    pub groups: Vec<GroupLeft>,
}

impl Leaks {
    /// The sum over all repetitions.
    #[must_use]
    pub fn total(&self) -> Amount {
        let mut total = Amount::default();
        self.repetitions.iter().for_each(|&left| total.add(left));
        total
    }

    /// The mean change of active bytes between the ends of consecutive repetitions.
    #[must_use]
    pub fn growth_bytes(&self) -> i64 {
        let growth = i128::from(self.last_live_bytes) - i128::from(self.first_live_bytes);
        let growth = growth / (self.repetitions.len().max(1) as i128);
        growth.clamp(i64::MIN.into(), i64::MAX.into()) as i64
    }
}

/// The ranges that were recorded in full and do not overlap the previous one. `ranges` must be sorted by start.
#[must_use]
pub fn whole_repetitions(ranges: &[LaneRange]) -> Vec<LaneRange> {
    let mut whole: Vec<LaneRange> = Vec::new();
    for range in ranges {
        let overlaps = whole.last().is_some_and(|last| range.from < last.to);
        if !range.is_open_start && !range.is_open_end && !overlaps {
            whole.push(*range);
        }
    }
    whole
}

/// Computes what `repetitions` left behind. They must ascend without overlap. The result is empty for fewer than two.
#[must_use]
pub fn leaks(history: &History, column: &GroupColumn, repetitions: &[Moments]) -> Leaks {
    let live = |moment: u32| history.active_bytes.get(moment as usize).copied();
    let (Some((judge, counted)), Some(first)) = (repetitions.split_last(), repetitions.first())
    else {
        return Leaks::default();
    };
    let until = judge.1;
    let mut found = Leaks {
        until,
        repetitions: vec![Amount::default(); counted.len()],
        first_live_bytes: live(first.1).unwrap_or(0),
        last_live_bytes: live(until).unwrap_or(0),
        ..Leaks::default()
    };
    let mut by_group: BTreeMap<(u32, usize), Amount> = BTreeMap::new();
    let table = &history.allocations;
    // Rows are sorted by birth.
    let from = table.born.partition_point(|&born| born <= first.0);
    let to = table.born.partition_point(|&born| born <= judge.0);
    for row in (from..to.max(from)).filter(|&row| table.died[row] > until) {
        let born = table.born[row];
        let place = counted.partition_point(|range| range.1 < born);
        let one = Amount {
            bytes: table.bytes[row],
            count: 1,
        };
        if counted.get(place).is_none_or(|range| born <= range.0) {
            found.outside.add(one);
            continue;
        }
        found.repetitions[place].add(one);
        let group = column.of.get(row).copied().unwrap_or(u32::MAX);
        by_group.entry((group, place)).or_default().add(one);
    }
    let all = found.repetitions.iter().map(|left| left.bytes).collect();
    found.median_bytes = median(all, counted.len());
    found.groups = groups(&by_group, counted.len());
    found
}

/// Sums by group. `by_group` has an entry for each group and repetition that left something.
fn groups(by_group: &BTreeMap<(u32, usize), Amount>, repetitions: usize) -> Vec<GroupLeft> {
    let cells: Vec<_> = by_group.iter().collect();
    let of_group = cells.chunk_by(|((a, _), _), ((b, _), _)| a == b);
    let mut groups: Vec<GroupLeft> = of_group
        .filter_map(|cells| {
            let (((group, first), _), ((_, last), _)) = (cells.first()?, cells.last()?);
            let mut left = Amount::default();
            cells.iter().for_each(|(_, amount)| left.add(**amount));
            let bytes = cells.iter().map(|(_, amount)| amount.bytes).collect();
            Some(GroupLeft {
                group: *group,
                left,
                repetitions: cells.len() as u64,
                median_bytes: median(bytes, repetitions),
                first: *first,
                last: *last,
            })
        })
        .collect();
    groups.sort_few_by_key(|group| std::cmp::Reverse((group.median_bytes, group.left.bytes)));
    groups
}

/// The lower median of `len` values: those given, and zeros.
fn median(mut values: Vec<u64>, len: usize) -> u64 {
    values.sort_unstable();
    let zeros = len.saturating_sub(values.len());
    let middle = len.saturating_sub(1) / 2;
    let place = middle.checked_sub(zeros);
    place.and_then(|at| values.get(at)).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::time::history::{AllocationTable, NEVER};
    use proptest::prelude::*;

    fn history(lives: &[(u32, u32, u64)]) -> (History, GroupColumn) {
        let mut lives = lives.to_vec();
        lives.sort_unstable();
        let history = History {
            event_count: 60,
            active_bytes: (0..=60)
                .map(|m| {
                    let live = lives.iter().filter(|life| life.0 <= m && m < life.1);
                    live.map(|life| life.2).sum()
                })
                .collect(),
            allocations: AllocationTable {
                bytes: lives.iter().map(|life| life.2).collect(),
                born: lives.iter().map(|life| life.0).collect(),
                died: lives.iter().map(|life| life.1).collect(),
                ..AllocationTable::default()
            },
            ..History::default()
        };
        let column = GroupColumn {
            labels: ["a", "b", "c"].map(str::to_owned).to_vec(),
            of: lives.iter().map(|life| (life.2 % 3) as u32).collect(),
            ..GroupColumn::default()
        };
        (history, column)
    }

    #[test]
    fn state_is_made_once_and_a_leak_again_and_again() {
        let steps = [(0, 10), (10, 20), (20, 30), (30, 40), (40, 50)];
        let (history, column) = history(&[
            (0, NEVER, 9_000), // from before
            (2, NEVER, 900),   // a: state
            (3, 15, 30),       // freed by the next step
            (5, NEVER, 1),     // b: one per step
            (15, NEVER, 4),
            (25, NEVER, 7),
            (35, NEVER, 10),
            (44, NEVER, 1_000), // b: by the judge itself
        ]);
        let found = leaks(&history, &column, &steps);
        assert_eq!((found.until, found.outside), (50, Amount::default()));
        let [leak, state] = found.groups[..] else {
            panic!("{found:?}")
        };
        assert_eq!((leak.group, leak.repetitions, leak.median_bytes), (1, 4, 4));
        assert_eq!(
            (leak.left.bytes, leak.left.count, leak.first, leak.last),
            (22, 4, 0, 3)
        );
        assert_eq!(
            (state.group, state.repetitions, state.median_bytes),
            (0, 1, 0)
        );
        assert_eq!(found.total().bytes, 922);
        assert_eq!((found.median_bytes, found.growth_bytes()), (7, 247));
    }

    #[test]
    fn too_few_repetitions_find_nothing() {
        let (history, column) = history(&[(2, NEVER, 3)]);
        assert_eq!(leaks(&history, &column, &[]), Leaks::default());
        let one = leaks(&history, &column, &[(0, 10)]);
        assert_eq!(
            (one.until, one.groups.len(), one.growth_bytes()),
            (10, 0, 0)
        );
    }

    proptest! {
        #[test]
        fn what_is_left_is_as_counted_by_hand(
            lives in prop::collection::vec((0_u32..60, 1_u32..60, 1_u64..1000), 0..80),
            mut ends in prop::collection::vec(0_u32..=60, 4..12),
        ) {
            let lives: Vec<_> = lives.into_iter()
                .map(|(born, length, bytes)| (born, if born + length > 60 { NEVER } else { born + length }, bytes))
                .collect();
            ends.sort_unstable();
            let steps: Vec<Moments> = ends.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
            let (history, column) = history(&lives);
            let found = leaks(&history, &column, &steps);
            let (judge, counted) = steps.split_last().unwrap();
            let left = |group: Option<u32>, from: u32, to: u32| -> u64 {
                let table = &history.allocations;
                let rows = (0..table.len()).filter(|&row| group.is_none_or(|group| column.of[row] == group));
                rows.filter(|&row| from < table.born[row] && table.born[row] <= to && table.died[row] > judge.1)
                    .map(|row| table.bytes[row]).sum()
            };
            for (amount, &(from, to)) in found.repetitions.iter().zip(counted) {
                prop_assert_eq!(amount.bytes, left(None, from, to));
            }
            let whole = left(None, steps[0].0, judge.0);
            prop_assert_eq!(found.total().bytes + found.outside.bytes, whole);
            prop_assert_eq!(found.groups.iter().map(|group| group.left.bytes).sum::<u64>(), found.total().bytes);
            for group in &found.groups {
                let mut of: Vec<u64> = counted.iter().map(|&(from, to)| left(Some(group.group), from, to)).collect();
                prop_assert_eq!(of[group.first].min(of[group.last]) > 0, true);
                prop_assert_eq!(group.repetitions as usize, of.iter().filter(|bytes| **bytes > 0).count());
                of.sort_unstable();
                prop_assert_eq!(group.median_bytes, of[(of.len() - 1) / 2]);
            }
        }
    }
}
