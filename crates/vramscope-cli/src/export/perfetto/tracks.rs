//! Annotations as slices. Nested ranges share a track; where two overlap without nesting, as ranges of two threads may,
//! the later one goes to another track.

use serde_json::json;
use vramscope_core::analysis::time::lanes::{LaneRange, MAX_ROWS};
use vramscope_core::model::NO_TIME;

use super::event::Trace;
use crate::failure::Failure;
use crate::subject::Device;

/// Writes all lanes of a device on threads from `first_thread` on; returns the number of ranges that found no
/// track.
pub(super) fn write(
    device: &Device<'_>,
    first_thread: u32,
    trace: &mut Trace<'_>,
) -> Result<u64, Failure> {
    let (mut thread, mut left_out) = (first_thread, 0);
    for lane in &device.lanes().lanes {
        let mut ranges: Vec<_> = lane.rows.iter().flatten().copied().collect();
        ranges.sort_by_key(|range| (span(range).0, std::cmp::Reverse(span(range).1)));
        let mut tracks = Tracks::default();
        for range in ranges {
            let (start, end) = span(&range);
            let Some((track, is_new)) = tracks.place(start, end) else {
                left_out += 1;
                continue;
            };
            let thread = thread + track;
            if is_new {
                trace.name_thread(thread, lane.title())?;
            }
            let totals = device.sums().totals(device.history, range.moments());
            let arguments = json!({
                "from_event": range.from,
                "to_event": range.to,
                "before_bytes": totals.before_bytes,
                "after_bytes": totals.after_bytes,
                "peak_bytes": totals.peak_bytes,
                "allocated_bytes": totals.allocated_bytes,
                "freed_bytes": totals.freed_bytes,
                "is_open_start": range.is_open_start,
                "is_open_end": range.is_open_end,
            });
            let name = range.name.text(&device.subject.snapshot.strings);
            trace.slice(name, thread, (start, end.abs_diff(start)), arguments)?;
        }
        thread += tracks.ends.len() as u32;
    }
    Ok(left_out)
}

/// The ends of a range in µs; without times, its moments.
fn span(range: &LaneRange) -> (i64, i64) {
    if range.start_us == NO_TIME || range.end_us == NO_TIME {
        return (range.from.into(), range.to.into());
    }
    (range.start_us, range.end_us)
}

/// For each track the ends of its open slices, the innermost last.
#[derive(Default)]
struct Tracks {
    ends: Vec<Vec<i64>>,
}

impl Tracks {
    /// Returns the first track on which a slice nests, and whether it is new. Slices must come in order of their
    /// start, of equal starts the longer first.
    fn place(&mut self, start: i64, end: i64) -> Option<(u32, bool)> {
        for (track, open) in (0..).zip(&mut self.ends) {
            while open.last().is_some_and(|&ends| ends <= start) {
                open.pop();
            }
            if open.last().is_none_or(|&ends| end <= ends) {
                open.push(end);
                return Some((track, false));
            }
        }
        if self.ends.len() >= MAX_ROWS {
            return None;
        }
        self.ends.push(vec![end]);
        Some((self.ends.len() as u32 - 1, true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_overlaps_gets_another_track() {
        let mut tracks = Tracks::default();
        let spans = [(0, 100), (0, 50), (10, 20), (40, 60), (50, 90), (100, 110)];
        let placed = spans.map(|(start, end)| tracks.place(start, end).unwrap().0);
        assert_eq!(placed, [0, 0, 0, 1, 0, 0]);
    }
}
