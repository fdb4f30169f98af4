//! What each group of allocations did between two moments: allocated, freed, and allocated without being freed.
//!
//! All three count whole lives: bytes that were allocated and freed again in between are in the first two and
//! not in the third. What was live before, more what was allocated, less what was freed, is live after.

use serde::{Deserialize, Serialize};

use super::grouping::GroupColumn;
use super::history::History;
use super::selection::{Moments, Selection};
use super::turnover::Amount;

/// One group between two moments. Bytes are requested ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct GroupChange {
    /// Row of [`GroupColumn::labels`].
    pub group: u32,
    /// Allocated by the events between; [`Selection::AllocatedIn`].
    pub allocated: Amount,
    /// Gone (completely freed) by the events between, whenever allocated; [`Selection::FreedIn`].
    pub freed: Amount,
    /// Allocated between, and live at the second moment; [`Selection::RetainedFrom`].
    pub retained: Amount,
}

impl GroupChange {
    /// By how much what is live of it changed.
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

/// All groups between two moments.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct GroupChanges {
    /// All of them together.
    pub total: GroupChange,
    /// Those that did anything: the most retained first, then the most allocated, then the most freed.
    pub groups: Vec<GroupChange>,
}

/// What happened between two moments, by group.
#[must_use]
pub fn group_changes(history: &History, column: &GroupColumn, range: Moments) -> GroupChanges {
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
        for (selection, amount) in [
            (Selection::AllocatedIn(range), &mut group.allocated),
            (Selection::FreedIn(range), &mut group.freed),
            (Selection::RetainedFrom(range), &mut group.retained),
        ] {
            if selection.holds(table.born[row], table.died[row]) {
                amount.add(one);
            }
        }
    }
    groups.retain(|group| !(group.allocated.is_nothing() && group.freed.is_nothing()));
    groups.sort_by_key(|group| {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::history::{AllocationTable, NEVER};
    use crate::analysis::range_totals::RangeSums;
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
            };
            let range = (ends.0.min(ends.1), ends.0.max(ends.1));
            let found = group_changes(&history, &column, range);
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
    }
}
