//! Each group of allocations over a whole recording: its own peak, its total, and how long its allocations
//! lived.
//!
//! A group that is small at the device's peak may still allocate most, or hold its memory longest, so groups can be
//! ranked in several ways. One sweep over births and deaths finds the peaks of all groups.

use serde::{Deserialize, Serialize};

use super::grouping::GroupColumn;
use crate::analysis::time::history::{History, NEVER};
use crate::analysis::time::lifetime::lifetime;
use crate::ids::AllocationId;
use crate::sorting::{SortFew, rows_by_moment};

/// The unit of lifetimes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LifeUnit {
    /// Microseconds.
    Us,
    /// Events, if the recording has no times.
    #[default]
    Events,
}

/// One group's allocations, including those from before the recording. Bytes are requested bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct GroupLife {
    /// Index into [`GroupColumn::labels`].
    pub group: u32,
    /// The most bytes of the group that were live at once.
    pub peak_bytes: u64,
    /// The first moment with `peak_bytes` live.
    pub peak_moment: u32,
    /// Bytes live at the device's peak.
    pub at_peak_bytes: u64,
    /// Bytes live at the end.
    pub end_bytes: u64,
    /// Bytes of all its allocations, whether or not they were live at the same time; saturates.
    pub total_bytes: u64,
    /// Number of its allocations.
    pub count: u64,
    /// Sum of their lifetimes as far as recorded, in [`GroupLives::unit`].
    pub life: u128,
    /// Sum of bytes times lifetime, in [`GroupLives::unit`]; saturates. Divided by the length of the recording, it
    /// gives the average of live bytes over time.
    pub byte_life: u128,
}

impl GroupLife {
    /// Mean lifetime of an allocation, in [`GroupLives::unit`]; saturates.
    #[must_use]
    pub fn mean_life(&self) -> u64 {
        u64::try_from(self.life / u128::from(self.count.max(1))).unwrap_or(u64::MAX)
    }
}

/// The field to rank groups by, descending.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rank {
    /// [`GroupLife::peak_bytes`].
    #[default]
    Peak,
    /// [`GroupLife::total_bytes`].
    Total,
    /// [`GroupLife::count`].
    Count,
    /// [`GroupLife::byte_life`].
    Lifetime,
}

impl Rank {
    fn of(self, life: &GroupLife) -> u128 {
        match self {
            Self::Peak => life.peak_bytes.into(),
            Self::Total => life.total_bytes.into(),
            Self::Count => life.count.into(),
            Self::Lifetime => life.byte_life,
        }
    }
}

/// All groups of a device, ranked.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct GroupLives {
    /// The unit of lifetimes.
    pub unit: LifeUnit,
    /// The groups that have an allocation.
    pub groups: Vec<GroupLife>,
}

impl GroupLives {
    /// Computes all groups, ranked in descending order. Equal ones stay in the order of their numbers.
    #[must_use]
    pub fn of(history: &History, column: &GroupColumn, rank: Rank) -> Self {
        let unit = match history.moment_start_us.is_empty() {
            true => LifeUnit::Events,
            false => LifeUnit::Us,
        };
        let mut groups: Vec<GroupLife> = (0..column.labels.len() as u32)
            .map(|group| GroupLife {
                group,
                ..GroupLife::default()
            })
            .collect();
        for (row, &group) in column.of.iter().enumerate() {
            if let Some(group) = groups.get_mut(group as usize) {
                count(group, history, AllocationId::from_index(row), unit);
            }
        }
        set_peaks(&mut groups, history, column);
        groups.retain(|group| group.count > 0);
        groups.sort_few_by_key(|group| std::cmp::Reverse(rank.of(group)));
        Self { unit, groups }
    }
}

/// Adds one allocation to all fields except the peak.
fn count(group: &mut GroupLife, history: &History, id: AllocationId, unit: LifeUnit) {
    let bytes = history.allocations.bytes[id.index()];
    let life = lifetime(history, id);
    let life = match unit {
        LifeUnit::Us => life.us.map_or(0, |us| us.max(0).cast_unsigned()),
        LifeUnit::Events => life.events.into(),
    };
    group.count += 1;
    group.total_bytes = group.total_bytes.saturating_add(bytes);
    group.life += u128::from(life);
    let product = u128::from(bytes) * u128::from(life);
    group.byte_life = group.byte_life.saturating_add(product);
    for (moment, sum) in [
        (history.peak_moment, &mut group.at_peak_bytes),
        (history.event_count, &mut group.end_bytes),
    ] {
        if history.is_live(id, moment) {
            *sum = sum.saturating_add(bytes);
        }
    }
}

/// Sets the peaks in one sweep over births, which ascend by row, and the deaths up to each birth.
fn set_peaks(groups: &mut [GroupLife], history: &History, column: &GroupColumn) {
    let table = &history.allocations;
    let lived = |row: &usize| table.born[*row] < table.died[*row];
    let died = |row: usize| match lived(&row) {
        true => table.died[row],
        false => NEVER,
    };
    let group_of = |row: usize| column.of.get(row).map(|&group| group as usize);
    let deaths = rows_by_moment(history.event_count as usize + 1, table.len(), died);
    let mut deaths = deaths.into_iter().map(|row| row as usize).peekable();
    // The sizes in a damaged file may add up to more than 64 bits.
    let mut live = vec![0_u128; groups.len()];
    for row in (0..table.len()).filter(lived) {
        let born = table.born[row];
        while let Some(dead) = deaths.next_if(|&dead| table.died[dead] <= born) {
            if let Some(live) = group_of(dead).and_then(|group| live.get_mut(group)) {
                *live -= u128::from(table.bytes[dead]);
            }
        }
        let Some(group) = group_of(row).filter(|&group| group < groups.len()) else {
            continue;
        };
        live[group] += u128::from(table.bytes[row]);
        let bytes = u64::try_from(live[group]).unwrap_or(u64::MAX);
        if bytes > groups[group].peak_bytes {
            (groups[group].peak_bytes, groups[group].peak_moment) = (bytes, born);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::time::history::AllocationTable;
    use crate::analysis::time::moment_times::MomentTimes;
    use proptest::prelude::*;

    const EVENTS: u32 = 60;

    fn history(lives: &[(u32, u32, u64)], has_times: bool) -> History {
        let mut lives = lives.to_vec();
        lives.sort_unstable();
        let live = |m: u32| {
            let live = lives.iter().filter(move |life| life.0 <= m && m < life.1);
            live.map(|life| life.2).sum()
        };
        let active_bytes: Vec<u64> = (0..=EVENTS).map(live).collect();
        let peak = active_bytes.iter().max().unwrap();
        History {
            event_count: EVENTS,
            peak_moment: active_bytes.iter().position(|bytes| bytes == peak).unwrap() as u32,
            active_bytes,
            moment_start_us: match has_times {
                true => (0..=EVENTS).map(|m| i64::from(m.max(1)) * 7).collect(),
                false => MomentTimes::default(),
            },
            allocations: AllocationTable {
                bytes: lives.iter().map(|life| life.2).collect(),
                born: lives.iter().map(|life| life.0).collect(),
                died: lives.iter().map(|life| life.1).collect(),
                ..AllocationTable::default()
            },
            ..History::default()
        }
    }

    fn column(rows: usize, groups: u32) -> GroupColumn {
        GroupColumn {
            labels: (0..groups).map(|group| group.to_string()).collect(),
            of: (0..rows as u32).map(|row| row * 7 % groups).collect(),
            ..GroupColumn::default()
        }
    }

    /// Reference: computes every moment of the group.
    fn slow(history: &History, column: &GroupColumn, group: u32) -> GroupLife {
        let table = &history.allocations;
        let rows = || (0..table.len()).filter(|&row| column.of[row] == group);
        let live = |moment| -> u64 {
            let live = rows().filter(|&row| history.is_live(AllocationId::from_index(row), moment));
            live.map(|row| table.bytes[row]).sum()
        };
        let peak_bytes = (0..=EVENTS).map(live).max().unwrap();
        let life = |row: usize| {
            let end = table.died[row].min(EVENTS);
            match history.moment_start_us.get(end) {
                Some(at) => {
                    let born = history.moment_start_us.get(table.born[row]);
                    (at - born.unwrap()) as u128
                }
                None => u128::from(end - table.born[row]),
            }
        };
        GroupLife {
            group,
            peak_bytes,
            peak_moment: (0..=EVENTS).find(|&m| live(m) == peak_bytes).unwrap(),
            at_peak_bytes: live(history.peak_moment),
            end_bytes: live(EVENTS),
            total_bytes: rows().map(|row| table.bytes[row]).sum(),
            count: rows().count() as u64,
            life: rows().map(life).sum(),
            byte_life: rows()
                .map(|row| u128::from(table.bytes[row]) * life(row))
                .sum(),
        }
    }

    proptest! {
        #[test]
        fn groups_are_as_counted_by_hand(
            lives in prop::collection::vec((0..EVENTS, 0_u32..50, 0_u64..100), 0..60),
            groups in 1_u32..5,
            has_times in any::<bool>(),
        ) {
            let lives: Vec<_> = lives.into_iter()
                .map(|(born, length, bytes)| {
                    let died = born + length;
                    (born, if died > EVENTS { NEVER } else { died }, bytes)
                })
                .collect();
            let history = history(&lives, has_times);
            let column = column(lives.len(), groups);
            for rank in [Rank::Peak, Rank::Total, Rank::Count, Rank::Lifetime] {
                let found = GroupLives::of(&history, &column, rank);
                for life in &found.groups {
                    prop_assert_eq!(*life, slow(&history, &column, life.group));
                }
                prop_assert!(found.groups.is_sorted_by(|a, b| rank.of(a) >= rank.of(b)));
                let sum = |of: fn(&GroupLife) -> u64| found.groups.iter().map(of).sum::<u64>();
                prop_assert_eq!(sum(|life| life.count), lives.len() as u64);
                let at = |moment: u32| history.active_bytes[moment as usize];
                prop_assert_eq!(sum(|life| life.at_peak_bytes), at(history.peak_moment));
                prop_assert_eq!(sum(|life| life.end_bytes), at(EVENTS));
                prop_assert!(found.groups.iter().all(|life| life.peak_bytes <= at(history.peak_moment)));
            }
        }
    }

    #[test]
    fn sizes_beyond_all_memory_do_not_wrap() {
        let mut history = history(&[(1, 9, 1), (2, 9, 1), (12, NEVER, 1)], false);
        history.allocations.bytes.fill(u64::MAX);
        let found = GroupLives::of(&history, &column(3, 1), Rank::Peak);
        assert_eq!(found.groups[0].peak_bytes, u64::MAX);
        assert_eq!(
            (found.groups[0].peak_moment, found.groups[0].mean_life()),
            (1, 21)
        );
    }
}
