//! The effect of annotated ranges on live memory, per range and per name.
//!
//! Ranges nest, so the totals of different names do not add up to the totals of the recording.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::history::History;
use super::lanes::{LaneKind, LaneRange, Lanes, RangeName};
use super::range_totals::{RangeSums, RangeTotals};
use crate::model::NO_TIME;
use crate::sorting::SortFew;

/// A range and its totals.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RangeUse {
    /// The kind of the range.
    pub kind: LaneKind,
    /// The index of its lane among all lanes.
    pub lane: usize,
    /// The range.
    pub range: LaneRange,
    /// Number of enclosing ranges in its lane.
    pub depth: u32,
    /// Totals of live bytes over the range.
    pub totals: RangeTotals,
}

impl RangeUse {
    /// The recorded part of its duration; `None` without times.
    #[must_use]
    pub fn duration_us(&self) -> Option<u64> {
        let LaneRange {
            start_us, end_us, ..
        } = self.range;
        let has_times = start_us != NO_TIME && end_us != NO_TIME;
        has_times.then(|| end_us.saturating_sub(start_us).max(0) as u64)
    }
}

/// The ranges for which `is_wanted` holds, by start, outer ones first. `lanes` and `sums` must come from the same
/// history.
#[must_use]
pub fn range_uses(
    history: &History,
    lanes: &Lanes,
    sums: &RangeSums,
    mut is_wanted: impl FnMut(LaneKind, &LaneRange) -> bool,
) -> Vec<RangeUse> {
    let mut uses = Vec::new();
    for (place, lane) in lanes.lanes.iter().enumerate() {
        for (depth, row) in (0..).zip(&lane.rows) {
            for &range in row.iter().filter(|range| is_wanted(lane.kind, range)) {
                uses.push(RangeUse {
                    kind: lane.kind,
                    lane: place,
                    range,
                    depth,
                    totals: sums.totals(history, range.moments()),
                });
            }
        }
    }
    uses.sort_few_by_key(|one| (one.range.start_us, one.range.from, one.depth));
    uses
}

/// All ranges of one kind with the same name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct NameUse {
    /// Their common name.
    pub name: RangeName,
    /// Their kind.
    pub kind: LaneKind,
    /// Number of ranges.
    pub ranges: u64,
    /// Peak of the live bytes over all of them.
    pub peak_bytes: u64,
    /// The first moment of that peak.
    pub peak_moment: u32,
    /// The largest rise of live bytes above the start of a range.
    pub rise_bytes: u64,
    /// Bytes allocated in all of them, saturating.
    pub allocated_bytes: u64,
    /// Bytes freed in all of them, saturating.
    pub freed_bytes: u64,
    /// Number of allocations in all of them.
    pub allocations: u64,
    /// Total duration; `None` if a range has no times.
    pub duration_us: Option<u64>,
}

impl NameUse {
    fn new(first: &RangeUse) -> Self {
        Self {
            name: first.range.name,
            kind: first.kind,
            ranges: 0,
            peak_bytes: 0,
            peak_moment: 0,
            rise_bytes: 0,
            allocated_bytes: 0,
            freed_bytes: 0,
            allocations: 0,
            duration_us: Some(0),
        }
    }

    fn add(&mut self, one: &RangeUse) {
        let totals = &one.totals;
        if self.ranges == 0 || totals.peak_bytes > self.peak_bytes {
            (self.peak_bytes, self.peak_moment) = (totals.peak_bytes, totals.peak_moment);
        }
        self.ranges += 1;
        self.rise_bytes = self.rise_bytes.max(totals.rise_bytes());
        self.allocated_bytes = self.allocated_bytes.saturating_add(totals.allocated_bytes);
        self.freed_bytes = self.freed_bytes.saturating_add(totals.freed_bytes);
        self.allocations += u64::from(totals.allocations);
        let sum = self.duration_us.zip(one.duration_us());
        self.duration_us = sum.map(|(sum, more)| sum.saturating_add(more));
    }

    /// Live bytes after each range minus live bytes before it, in all: the bytes that the ranges left behind.
    #[must_use]
    pub fn net_bytes(&self) -> i64 {
        let net = i128::from(self.allocated_bytes) - i128::from(self.freed_bytes);
        net.clamp(i64::MIN.into(), i64::MAX.into()) as i64
    }

    /// Mean bytes allocated per range.
    #[must_use]
    pub fn mean_allocated_bytes(&self) -> u64 {
        self.allocated_bytes / self.ranges.max(1)
    }

    /// Mean duration per range.
    #[must_use]
    pub fn mean_duration_us(&self) -> Option<u64> {
        self.duration_us.map(|sum| sum / self.ranges.max(1))
    }
}

/// Totals by name and kind: the highest peak first, then the largest rise.
#[must_use]
pub fn name_uses(ranges: &[RangeUse]) -> Vec<NameUse> {
    let mut names: BTreeMap<(LaneKind, RangeName), NameUse> = BTreeMap::new();
    for one in ranges {
        let key = (one.kind, one.range.name);
        names
            .entry(key)
            .or_insert_with(|| NameUse::new(one))
            .add(one);
    }
    let mut names: Vec<_> = names.into_values().collect();
    names.sort_few_by_key(|name| Reverse((name.peak_bytes, name.rise_bytes, name.allocated_bytes)));
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode;
    use vramscope_synth::scenario;
    use vramscope_synth::snapshot::{Producer, WriteOptions};

    fn uses_of(bytes: &[u8], device: u32) -> (History, Vec<RangeUse>) {
        let snapshot = decode(bytes).unwrap();
        let history = History::of(&snapshot, device);
        let (lanes, sums) = (Lanes::of(&snapshot, &history), RangeSums::of(&history));
        let uses = range_uses(&history, &lanes, &sums, |_, _| true);
        let count: usize = lanes.lanes.iter().map(|lane| lane.len()).sum();
        assert_eq!(uses.len(), count);
        (history, uses)
    }

    #[test]
    fn names_add_up_and_are_as_looked_up_moment_by_moment() {
        let (_, make) = scenario::ALL
            .iter()
            .find(|(name, _)| *name == "annotated")
            .unwrap();
        let bytes = make(1).to_pickle(&WriteOptions::new(Producer::Python(2, 15)));
        let (history, uses) = uses_of(&bytes, 0);
        assert!(uses.len() > 3);
        assert!(uses.is_sorted_by_key(|one| one.range.start_us));
        let names = name_uses(&uses);
        assert!(names.is_sorted_by_key(|name| Reverse(name.peak_bytes)));
        assert_eq!(
            names.iter().map(|name| name.ranges).sum::<u64>(),
            uses.len() as u64
        );
        for name in &names {
            let own = || {
                uses.iter()
                    .filter(|one| (one.kind, one.range.name) == (name.kind, name.name))
            };
            let active = |moment: u32| history.active_bytes[moment as usize];
            let moments = own().flat_map(|one| one.range.from..=one.range.to);
            assert_eq!(moments.map(active).max(), Some(name.peak_bytes));
            assert_eq!(active(name.peak_moment), name.peak_bytes);
            let net: i64 = own()
                .map(|one| active(one.range.to) as i64 - active(one.range.from) as i64)
                .sum();
            assert_eq!(name.net_bytes(), net);
            let time: u64 = own().filter_map(RangeUse::duration_us).sum();
            assert_eq!(name.duration_us, Some(time));
            assert!(name.mean_allocated_bytes() <= name.allocated_bytes);
        }
    }

    #[test]
    fn nothing_annotated_is_no_row() {
        let file = br#"{"segments": [], "device_traces": [[{"action": "alloc", "addr": 1, "size": 1, "stream": 0}]]}"#;
        let (_, uses) = uses_of(file, 0);
        assert!(uses.is_empty() && name_uses(&uses).is_empty());
    }
}
