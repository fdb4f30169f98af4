//! `external_annotations` as ranges: what the program said it was doing, and when.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::Snapshot;
use crate::ids::StringId;
use crate::model::{NO_TIME, Stage};

/// A named stretch of time on one device.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct NamedRange {
    /// What the program called it, e.g. `Optimizer.step#AdamW.step`.
    pub name: StringId,
    /// Device index; -1 if the file gives none.
    pub device: i32,
    /// Microseconds since the Unix epoch; `None` when the beginning was overwritten in the ring buffer.
    pub start_us: Option<i64>,
    /// Microseconds since the Unix epoch; `None` when it had not ended when the snapshot was taken.
    pub end_us: Option<i64>,
    /// How many ranges of the same device are around it.
    pub depth: u32,
}

impl NamedRange {
    /// Whether a time lies in the range; its ends belong to it, and a missing end is open.
    #[must_use]
    pub fn contains(&self, time_us: i64) -> bool {
        self.start_us.is_none_or(|start| start <= time_us)
            && self.end_us.is_none_or(|end| time_us <= end)
    }
}

/// The ranges of a snapshot, by device, then by start (unknown starts first), the longer one first.
///
/// Starts and ends of the same device and name pair like brackets.
#[must_use]
pub fn named_ranges(snapshot: &Snapshot) -> Vec<NamedRange> {
    let mut open: HashMap<(i32, StringId), Vec<usize>> = HashMap::new();
    let mut ranges: Vec<NamedRange> = Vec::new();
    for mark in &snapshot.annotations.rows {
        let time_us = (mark.time_us != NO_TIME).then_some(mark.time_us);
        let key = (mark.device, mark.name);
        let new = |start_us, end_us| NamedRange {
            name: mark.name,
            device: mark.device,
            start_us,
            end_us,
            depth: 0,
        };
        match mark.stage {
            Stage::Start => {
                open.entry(key).or_default().push(ranges.len());
                ranges.push(new(time_us, None));
            }
            Stage::End => match open.get_mut(&key).and_then(Vec::pop) {
                Some(row) => ranges[row].end_us = time_us,
                None => ranges.push(new(None, time_us)),
            },
            Stage::Other(_) => {}
        }
    }
    ranges.sort_by_key(|range| {
        let end = range.end_us.unwrap_or(i64::MAX);
        (
            range.device,
            range.start_us.unwrap_or(i64::MIN),
            std::cmp::Reverse(end),
        )
    });
    set_depths(&mut ranges);
    ranges
}

/// Ranges come sorted, so the ones around a range are those before it that have not ended.
fn set_depths(ranges: &mut [NamedRange]) {
    let mut around: Vec<i64> = Vec::new();
    let mut device = None;
    for range in ranges {
        if device != Some(range.device) {
            around.clear();
            device = Some(range.device);
        }
        let start = range.start_us.unwrap_or(i64::MIN);
        let end = range.end_us.unwrap_or(i64::MAX);
        while around
            .last()
            .is_some_and(|&outer_end| outer_end <= start && outer_end < end)
        {
            around.pop();
        }
        range.depth = around.len() as u32;
        around.push(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Annotation;

    fn ranges_of(marks: &[(Stage, &str, i64)]) -> Vec<(String, Option<i64>, Option<i64>, u32)> {
        let mut snapshot = Snapshot::default();
        for &(stage, name, time_us) in marks {
            let name = snapshot.strings.intern(name);
            snapshot.annotations.rows.push(Annotation {
                stage,
                name,
                device: 0,
                time_us,
            });
        }
        let ranges = named_ranges(&snapshot);
        ranges
            .into_iter()
            .map(|range| {
                (
                    snapshot.strings.get(range.name).to_owned(),
                    range.start_us,
                    range.end_us,
                    range.depth,
                )
            })
            .collect()
    }

    #[test]
    fn starts_and_ends_pair_like_brackets() {
        use Stage::{End, Start};
        let found = ranges_of(&[
            (End, "lost", 5),
            (Start, "step", 10),
            (Start, "step", 11),
            (End, "step", 12),
            (Start, "load", 13),
            (End, "step", 20),
        ]);
        let expected = vec![
            ("lost".to_owned(), None, Some(5), 0),
            ("step".to_owned(), Some(10), Some(20), 0),
            ("step".to_owned(), Some(11), Some(12), 1),
            ("load".to_owned(), Some(13), None, 1),
        ];
        assert_eq!(found, expected);
    }
}
