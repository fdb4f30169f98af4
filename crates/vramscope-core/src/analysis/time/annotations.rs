//! Pairs the marks of `external_annotations` into named ranges.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::moment_times::MomentTimes;
use crate::Snapshot;
use crate::ids::StringId;
use crate::model::{Annotation, NO_TIME, Stage};
use crate::sorting::SortFew;

/// A named range of time on one device.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct NamedRange {
    /// Row of its start in the snapshot's [`annotations`](crate::model::AnnotationTable), or of its end if the start
    /// was lost.
    pub mark: u32,
    /// The program's name for it, e.g. `Optimizer.step#AdamW.step`.
    pub name: StringId,
    /// Device index; -1 if the file has none.
    pub device: i32,
    /// Linux id of the thread that began it, if known.
    pub thread: Option<u64>,
    /// Its NVTX domain; `None` for the default domain.
    pub domain: Option<StringId>,
    /// The stream in which it is ordered; `None` if that is a thread.
    pub stream: Option<i64>,
    /// Microseconds since the Unix epoch; `None` if the start was overwritten in the ring buffer.
    pub start_us: Option<i64>,
    /// Microseconds since the Unix epoch; `None` if it had not ended when the snapshot was taken.
    pub end_us: Option<i64>,
}

impl NamedRange {
    /// Whether a time is in the range. Both ends are included, and a missing end is open.
    #[must_use]
    pub fn contains(&self, time_us: i64) -> bool {
        self.start_us.is_none_or(|start| start <= time_us)
            && self.end_us.is_none_or(|end| time_us <= end)
    }

    /// Whether its times determine the events between which it began and ended.
    pub(crate) fn is_clear(&self, times: &MomentTimes) -> bool {
        let mut ends = self.start_us.into_iter().chain(self.end_us);
        ends.all(|time| times.is_clear(time))
    }
}

/// Starts without an end so far, by row of the caller's list of marks.
///
/// Marks with the same range number belong together. torch writes no such number; then starts and ends of the same
/// device and name (and thread and domain, if there are any) pair like brackets.
#[derive(Default)]
pub(crate) struct OpenRanges {
    by_range: HashMap<u64, usize>,
    by_name: HashMap<Alike, Vec<usize>>,
}

/// The properties that pair a start with an end if ranges have no number.
type Alike = (i32, StringId, Option<u64>, Option<StringId>);

impl OpenRanges {
    /// Adds the start of a range.
    pub(crate) fn start(&mut self, mark: &Annotation, row: usize) {
        match mark.range {
            Some(range) => {
                self.by_range.insert(range, row);
            }
            None => self.by_name.entry(alike(mark)).or_default().push(row),
        }
    }

    /// Removes the start that belongs to an end, and returns its row.
    pub(crate) fn end(&mut self, mark: &Annotation) -> Option<usize> {
        match mark.range {
            Some(range) => self.by_range.remove(&range),
            None => self.by_name.get_mut(&alike(mark))?.pop(),
        }
    }

    /// The rows of the starts without an end, in no particular order.
    pub(crate) fn into_rows(self) -> impl Iterator<Item = usize> {
        let by_name = self.by_name.into_values().flatten();
        self.by_range.into_values().chain(by_name)
    }
}

fn alike(mark: &Annotation) -> Alike {
    (mark.device, mark.name, mark.thread, mark.domain)
}

/// The ranges of a snapshot, by device, then by start (unknown starts first), then the longer one first.
#[must_use]
pub fn named_ranges(snapshot: &Snapshot) -> Vec<NamedRange> {
    let mut open = OpenRanges::default();
    let mut ranges: Vec<NamedRange> = Vec::new();
    for (row, mark) in (0..).zip(&snapshot.annotations.rows) {
        let time_us = (mark.time_us != NO_TIME).then_some(mark.time_us);
        let new = |start_us, end_us| NamedRange {
            mark: row,
            name: mark.name,
            device: mark.device,
            thread: mark.thread,
            domain: mark.domain,
            stream: mark.stream,
            start_us,
            end_us,
        };
        match mark.stage {
            Stage::Start => {
                open.start(mark, ranges.len());
                ranges.push(new(time_us, None));
            }
            Stage::End => match open.end(mark) {
                Some(row) => ranges[row].end_us = time_us,
                None => ranges.push(new(None, time_us)),
            },
            Stage::Other(_) => {}
        }
    }
    ranges.sort_few_by_key(|range| {
        let end = range.end_us.unwrap_or(i64::MAX);
        (
            range.device,
            range.start_us.unwrap_or(i64::MIN),
            std::cmp::Reverse(end),
        )
    });
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    type Brief = (String, Option<u64>, Option<i64>, Option<i64>);

    /// A mark: stage, name, time, and its range and thread if known.
    type Mark<'a> = (Stage, &'a str, i64, Option<(u64, u64)>);

    fn ranges_of(marks: &[Mark<'_>]) -> Vec<Brief> {
        let mut snapshot = Snapshot::default();
        for &(stage, name, time_us, ids) in marks {
            let name = snapshot.strings.intern(name);
            snapshot.annotations.rows.push(Annotation {
                stage,
                name,
                device: 0,
                time_us,
                range: ids.map(|(range, _)| range),
                thread: ids.map(|(_, thread)| thread),
                domain: None,
                stream: None,
                colour: None,
                category: None,
                payload: None,
            });
        }
        let brief = |range: NamedRange| {
            let name = snapshot.strings.get(range.name).to_owned();
            (name, range.thread, range.start_us, range.end_us)
        };
        named_ranges(&snapshot).into_iter().map(brief).collect()
    }

    #[test]
    fn starts_and_ends_pair_like_brackets() {
        use Stage::{End, Start};
        let found = ranges_of(&[
            (End, "lost", 5, None),
            (Start, "step", 10, None),
            (Start, "step", 11, None),
            (End, "step", 12, None),
            (Start, "load", 13, None),
            (End, "step", 20, None),
        ]);
        let expected = vec![
            ("lost".to_owned(), None, None, Some(5)),
            ("step".to_owned(), None, Some(10), Some(20)),
            ("step".to_owned(), None, Some(11), Some(12)),
            ("load".to_owned(), None, Some(13), None),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_range_with_a_number_ends_where_its_number_does() {
        use Stage::{End, Start};
        let found = ranges_of(&[
            (Start, "step", 10, Some((1, 7))),
            (Start, "step", 11, Some((2, 8))),
            // Ends the range that began first, on another thread.
            (End, "step", 12, Some((1, 8))),
            (End, "step", 13, Some((3, 9))),
            (End, "step", 14, Some((2, 8))),
            // A range ends only once.
            (End, "step", 15, Some((2, 8))),
        ]);
        let step = |thread, start, end| ("step".to_owned(), Some(thread), start, Some(end));
        let expected = vec![
            step(8, None, 15),
            step(9, None, 13),
            step(7, Some(10), 12),
            step(8, Some(11), 14),
        ];
        assert_eq!(found, expected);
    }
}
