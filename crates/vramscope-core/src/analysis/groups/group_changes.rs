//! How each group of allocations changed between two moments, or over several ranges: bytes allocated, freed and
//! retained.
//!
//! An allocation made and freed within the range counts as allocated and as freed, but not as retained. Live before +
//! allocated - freed = live after.

use serde::{Deserialize, Serialize};

use super::grouping::GroupColumn;
use super::turnover::Amount;
use crate::analysis::time::history::History;
use crate::analysis::time::selection::{Moments, Selection};
use crate::sorting::SortFew;

/// The changes of one group. Bytes are requested bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct GroupChange {
    /// Index into [`GroupColumn::labels`].
    pub group: u32,
    /// Allocated within the range; [`Selection::AllocatedIn`].
    pub allocated: Amount,
    /// Freed (the free completed) within the range, whenever it was allocated; [`Selection::FreedIn`].
    pub freed: Amount,
    /// Allocated within the range, and live at its end; [`Selection::RetainedFrom`].
    pub retained: Amount,
}

impl GroupChange {
    /// The change of the group's live bytes: allocated minus freed; saturates.
    #[must_use]
    pub fn net_bytes(&self) -> i64 {
        let net = i128::from(self.allocated.bytes) - i128::from(self.freed.bytes);
        net.clamp(i64::MIN.into(), i64::MAX.into()) as i64
    }

    fn add(&mut self, other: &Self) {
        self.allocated.add(other.allocated);
        self.freed.add(other.freed);
        self.retained.add(other.retained);
    }
}

/// The changes of all groups.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct GroupChanges {
    /// The sum over all groups. Its `group` is 0 and means nothing.
    pub total: GroupChange,
    /// The groups that allocated or freed anything, sorted by retained bytes, then allocated, then freed, all
    /// descending.
    pub groups: Vec<GroupChange>,
}

/// Sums the changes in `ranges`, in any order, by group. Overlapping ranges are merged, so that nothing is counted
/// twice. Retained means live at the end of the merged range that allocated it.
#[must_use]
pub fn group_changes(history: &History, column: &GroupColumn, ranges: &[Moments]) -> GroupChanges {
    let ranges = apart(ranges);
    let table = &history.allocations;
    let mut groups: Vec<GroupChange> = (0..column.labels.len() as u32)
        .map(|group| GroupChange {
            group,
            ..GroupChange::default()
        })
        .collect();
    for (row, &group) in column.of.iter().enumerate().take(table.len()) {
        let Some(group) = groups.get_mut(group as usize) else {
            continue;
        };
        let one = Amount {
            bytes: table.bytes[row],
            count: 1,
        };
        let (born, died) = (table.born[row], table.died[row]);
        let holds = |moment, selection: fn(Moments) -> Selection| {
            let range = ranges.get(ranges.partition_point(|range| range.1 < moment));
            range.is_some_and(|&range| selection(range).holds(born, died))
        };
        for (moment, selection, amount) in [
            (
                born,
                Selection::AllocatedIn as fn(Moments) -> Selection,
                &mut group.allocated,
            ),
            (died, Selection::FreedIn, &mut group.freed),
            (born, Selection::RetainedFrom, &mut group.retained),
        ] {
            if holds(moment, selection) {
                amount.add(one);
            }
        }
    }
    groups.retain(|group| !(group.allocated.is_nothing() && group.freed.is_nothing()));
    groups.sort_few_by_key(|group| {
        let sizes = (
            group.retained.bytes,
            group.allocated.bytes,
            group.freed.bytes,
        );
        std::cmp::Reverse(sizes)
    });
    let mut total = GroupChange::default();
    groups.iter().for_each(|group| total.add(group));
    GroupChanges { total, groups }
}

/// Sorts the ranges and merges those that overlap. Ranges that only touch stay separate.
fn apart(ranges: &[Moments]) -> Vec<Moments> {
    let mut ranges = ranges.to_vec();
    ranges.sort_few_by(Ord::cmp);
    ranges.dedup_by(|next, last| {
        let overlaps = next.0 < last.1;
        if overlaps {
            last.1 = last.1.max(next.1);
        }
        overlaps
    });
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::time::history::{AllocationTable, NEVER};
    use crate::analysis::time::range_totals::RangeSums;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn groups_add_up_to_what_happened_to_all(
            lives in prop::collection::vec((0_u32..20, 1_u32..25, 1_u64..1000), 0..40),
            ends in (0_u32..=20, 0_u32..=20),
        ) {
            let mut lives: Vec<_> = lives.into_iter()
                .map(|(born, length, bytes)| (born, if born + length > 20 { NEVER } else { born + length }, bytes))
                .collect();
            lives.sort_unstable();
            let live = |m: u32, group: Option<usize>| -> u64 {
                let rows = lives.iter().enumerate().filter(|(row, _)| group.is_none_or(|group| row % 3 == group));
                rows.filter(|(_, life)| life.0 <= m && m < life.1).map(|(_, life)| life.2).sum()
            };
            let history = History {
                event_count: 20,
                active_bytes: (0..=20).map(|m| live(m, None)).collect(),
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
                of: (0..lives.len() as u32).map(|row| row % 3).collect(),
                ..GroupColumn::default()
            };
            let range = (ends.0.min(ends.1), ends.0.max(ends.1));
            let found = group_changes(&history, &column, &[range]);
            let totals = RangeSums::of(&history).totals(&history, range);
            prop_assert_eq!(found.total.allocated.bytes, totals.allocated_bytes);
            prop_assert_eq!(found.total.allocated.count, u64::from(totals.allocations));
            prop_assert_eq!(found.total.freed.bytes, totals.freed_bytes);
            prop_assert_eq!(found.total.net_bytes(), totals.net_bytes());
            for group in &found.groups {
                let live = |m| live(m, Some(group.group as usize));
                prop_assert_eq!(live(range.0) + group.allocated.bytes, live(range.1) + group.freed.bytes);
                prop_assert!(group.retained.bytes <= group.allocated.bytes.min(live(range.1)));
            }
            prop_assert!(found.groups.is_sorted_by(|a, b| a.retained.bytes >= b.retained.bytes));
        }

        #[test]
        fn in_many_ranges_nothing_counts_twice(
            lives in prop::collection::vec((0_u32..20, 1_u32..25), 1..40),
            ends in prop::collection::vec((0_u32..=20, 0_u32..=20), 0..6),
        ) {
            let ranges: Vec<_> = ends.iter().map(|&(a, b)| (a.min(b), a.max(b))).collect();
            let died = |&(born, length): &(u32, u32)| if born + length > 20 { NEVER } else { born + length };
            let history = History {
                event_count: 20,
                allocations: AllocationTable {
                    bytes: vec![1; lives.len()],
                    born: lives.iter().map(|life| life.0).collect(),
                    died: lives.iter().map(died).collect(),
                    ..AllocationTable::default()
                },
                ..History::default()
            };
            let column = GroupColumn { labels: vec!["a".to_owned()], of: vec![0; lives.len()], ..GroupColumn::default() };
            let found = group_changes(&history, &column, &ranges).total;
            let around = |moment: u32| ranges.iter().find(|range| range.0 < moment && moment <= range.1);
            // The end of the merged range around a moment.
            let end = |moment| around(moment).map(|range| {
                let mut end = range.1;
                while let Some(next) = ranges.iter().find(|range| range.0 < end && end < range.1) {
                    end = next.1;
                }
                end
            });
            let count = |is_meant: &dyn Fn(&(u32, u32)) -> bool| lives.iter().filter(|life| is_meant(life)).count() as u64;
            prop_assert_eq!(found.allocated.count, count(&|life| around(life.0).is_some()));
            prop_assert_eq!(found.freed.count, count(&|life| around(died(life)).is_some()));
            prop_assert_eq!(found.retained.count, count(&|life| end(life.0).is_some_and(|end| died(life) > end)));
        }
    }
}
