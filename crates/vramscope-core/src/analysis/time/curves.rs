//! A device's active and reserved memory over its whole recording, in columns of equal width. The result is small
//! enough to send to another worker or to draw beside other files.
//!
//! A column has the highest value of all moments that touch it, so no peak is lost. Computing a column scans its
//! moments once. The timeline's strip, which needs new columns at every zoom, uses an index instead.

use serde::{Deserialize, Serialize};

use super::byte_steps::bytes_at;
use super::history::History;
use super::moment_times::first_that_is_not;

/// The axis that the columns divide into equal parts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CurveAxis {
    /// Events.
    #[default]
    Events,
    /// µs since the first event.
    Time,
}

/// Active and reserved memory over one recording.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Curves {
    /// The axis. [`CurveAxis::Events`] if the recording has no times.
    pub axis: CurveAxis,
    /// The end of the last column: events, or µs since the first event. At least 1.
    pub end: u64,
    /// Per column: the highest sum of live requested bytes.
    pub active_bytes: Vec<u64>,
    /// Per column: the first moment with that sum.
    pub peak_moments: Vec<u32>,
    /// Per column: the highest sum of segments. Empty if segments are unknown.
    pub reserved_bytes: Vec<u64>,
}

impl Curves {
    /// The curves of `history` in at most `columns` columns, at least one.
    #[must_use]
    pub fn of(history: &History, axis: CurveAxis, columns: u32) -> Self {
        let axis = if history.moment_start_us.is_empty() {
            CurveAxis::Events
        } else {
            axis
        };
        let last = place(history, axis, history.event_count);
        // More columns than distinct places would repeat each other or be empty: a recording of a single state is one
        // level.
        let columns = u64::from(columns.max(1)).min(last.saturating_add(1)) as usize;
        let end = last.max(1);
        let mut active_bytes = vec![0_u64; columns];
        let mut peak_moments = vec![u32::MAX; columns];
        let mut reserved_bytes = vec![0_u64; columns];
        let moments = history.active_bytes.len();
        let begin = |column| (column as u128 * u128::from(end)).div_ceil(columns as u128) as u64;
        let place = |moment: usize| place(history, axis, moment as u32);
        for column in 0..columns {
            // A moment that ends where a column begins is not in that column. A moment without length counts where it
            // begins.
            let ends_before = |moment| {
                let last = place(moment + 1).saturating_sub(1);
                last.max(place(moment)) < begin(column)
            };
            let is_last = column + 1 == columns;
            let begins_before = |moment| is_last || place(moment) < begin(column + 1);
            let first = first_that_is_not(moments, &ends_before);
            let after = first_that_is_not(moments, &begins_before);
            let active = history.active_bytes.get(first..after).unwrap_or(&[]);
            let Some(&most) = active.iter().max() else {
                continue;
            };
            let peak = active.iter().position(|&bytes| bytes == most);
            (active_bytes[column], peak_moments[column]) =
                (most, (first + peak.unwrap_or(0)) as u32);
            let steps = &history.reserved_steps;
            let [from, to] = [first, after]
                .map(|moment| steps.partition_point(|&(at, _)| (at as usize) < moment));
            let within = steps[from..to].iter().map(|&(_, bytes)| bytes).max();
            reserved_bytes[column] = within.unwrap_or(0).max(bytes_at(steps, first as u32));
        }
        if history.most_reserved_bytes() == 0 {
            reserved_bytes = Vec::new();
        }
        Self {
            axis,
            end,
            active_bytes,
            peak_moments,
            reserved_bytes,
        }
    }

    /// The highest value of either curve.
    #[must_use]
    pub fn highest_bytes(&self) -> u64 {
        let both = self.active_bytes.iter().chain(&self.reserved_bytes);
        both.copied().max().unwrap_or(0)
    }
}

/// The position on an axis at which a moment begins: events, or µs since the first event.
#[must_use]
pub fn place(history: &History, axis: CurveAxis, moment: u32) -> u64 {
    let starts = &history.moment_start_us;
    match (axis, starts.first(), starts.get(moment)) {
        (CurveAxis::Time, Some(first), Some(start)) => start.abs_diff(first),
        (CurveAxis::Time, Some(first), None) => {
            starts.last().map_or(0, |last| last.abs_diff(first))
        }
        _ => u64::from(moment.min(history.event_count)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn history(active: Vec<u64>, times: &[i64], steps: Vec<(u32, u64)>) -> History {
        let first = times.first().into_iter();
        History {
            event_count: active.len() as u32 - 1,
            active_bytes: active,
            reserved_steps: steps,
            moment_start_us: first.chain(times).copied().collect(),
            ..History::default()
        }
    }

    #[test]
    fn a_column_holds_its_highest_moment() {
        let history = history(vec![1, 9, 2, 3, 8], &[], vec![(0, 10), (3, 20)]);
        let curves = Curves::of(&history, CurveAxis::Time, 2);
        assert_eq!(curves.axis, CurveAxis::Events, "it has no times");
        assert_eq!(curves.active_bytes, [9, 8]);
        assert_eq!(curves.reserved_bytes, [10, 20]);
        assert_eq!(
            Curves::of(&history, CurveAxis::Events, 99)
                .active_bytes
                .len(),
            5
        );
        assert_eq!(curves.highest_bytes(), 20);
    }

    #[test]
    fn a_state_is_one_level() {
        let state = history(vec![7], &[], vec![(0, 9)]);
        let curves = Curves::of(&state, CurveAxis::Events, 10);
        assert_eq!(curves.end, 1);
        assert_eq!(
            (curves.active_bytes, curves.reserved_bytes),
            (vec![7], vec![9])
        );
        // All events at once: their time has no length.
        let at_once = history(vec![7, 8, 5], &[3, 3], Vec::new());
        let curves = Curves::of(&at_once, CurveAxis::Time, 10);
        assert_eq!(curves.active_bytes, [8]);
        assert!(curves.reserved_bytes.is_empty());
        let empty = Curves::of(&History::default(), CurveAxis::Time, 10);
        assert_eq!(empty.highest_bytes(), 0);
    }

    proptest! {
        #[test]
        fn every_column_as_by_looking_at_all_moments(
            values in prop::collection::vec((0_u64..100, 0_i64..50), 1..60), columns in 1_u32..40
        ) {
            let mut times: Vec<i64> = values.iter().map(|value| value.1).collect();
            times.sort_unstable();
            let mut active = vec![0];
            active.extend(values.iter().map(|value| value.0));
            let steps = (0..).zip(&values).filter(|(_, value)| value.1 % 3 == 0);
            let steps = steps.map(|(moment, value)| (moment, value.0 + 1)).collect();
            let history = history(active, &times, steps);
            for axis in [CurveAxis::Events, CurveAxis::Time] {
                let curves = Curves::of(&history, axis, columns);
                let count = curves.active_bytes.len();
                let (mut naive, mut reserved) = (vec![0; count], vec![0; count]);
                for moment in 0..=history.event_count {
                    // Checks every event or µs of a moment; a moment without length is an instant.
                    let from = place(&history, axis, moment);
                    let to = place(&history, axis, moment + 1).max(from + 1);
                    for at in from..to {
                        let column = ((at * count as u64 / curves.end) as usize).min(count - 1);
                        naive[column] = naive[column].max(history.active_bytes[moment as usize]);
                        reserved[column] = reserved[column].max(history.reserved_bytes(moment));
                    }
                }
                prop_assert_eq!(&curves.active_bytes, &naive);
                if history.most_reserved_bytes() > 0 {
                    prop_assert_eq!(&curves.reserved_bytes, &reserved);
                }
                for (&moment, &bytes) in curves.peak_moments.iter().zip(&curves.active_bytes) {
                    let at = history.active_bytes.get(moment as usize).copied();
                    prop_assert_eq!(at.unwrap_or(0), bytes, "no moment falls into an empty column");
                }
                prop_assert_eq!(curves.active_bytes.iter().max(), history.active_bytes.iter().max());
            }
        }
    }
}
