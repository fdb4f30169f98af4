//! Moments and ranges of moments that a filter refers to.

use super::pattern::{Matcher, Pattern};
use super::term::{Test, When};
use crate::analysis::recording::Device;
use crate::analysis::time::history::History;
use crate::sorting::SortFew;

/// First and last moment of a range, both included.
pub(super) type Stretch = (u32, u32);

/// The first moment at or after `when`, and the first moment after `when`. `None` if `when` is the cursor and there is
/// none, or a time in a recording without times. The moments may be beyond the end of the recording.
pub(super) fn bounds(when: When, history: &History, cursor: Option<u32>) -> Option<(u64, u64)> {
    let moment = match when {
        When::Peak => u64::from(history.peak_moment),
        When::End => u64::from(history.event_count),
        When::Start => 0,
        When::Cursor => u64::from(cursor?),
        When::Event(number) => number,
        When::Us(us) => {
            let times = &history.moment_start_us;
            let start = times.first()?;
            let offset = |time: i64| time.saturating_sub(start).max(0).cast_unsigned();
            let at = times.events_before(|time| offset(time) < us);
            let after = times.events_before(|time| offset(time) <= us);
            return Some((u64::from(at) + 1, u64::from(after) + 1));
        }
    };
    // Saturates only beyond the end of any recording, where the exact number does not matter.
    Some((moment, moment.saturating_add(1)))
}

/// The last moment that is not after `when`; `None` as for [`bounds`].
pub(super) fn moment(when: When, history: &History, cursor: Option<u32>) -> Option<u64> {
    bounds(when, history, cursor).map(|(_, after)| after - 1)
}

/// The moments that pass a test; `None` as for [`bounds`]. If no moment passes, the first is greater than the second.
pub(super) fn passing(test: Test<When>, history: &History, cursor: Option<u32>) -> Option<Stretch> {
    let bounds = |when| bounds(when, history, cursor);
    const LAST: u64 = u32::MAX as u64 - 1;
    // Both ends are included. `to` is `None` if it would lie before moment 0.
    let (from, to) = match test {
        Test::Shown(when) | Test::Equal(when) => {
            let (at, after) = bounds(when)?;
            (at, after.checked_sub(1))
        }
        Test::Below(when) => (0, bounds(when)?.0.checked_sub(1)),
        Test::AtMost(when) => (0, bounds(when)?.1.checked_sub(1)),
        Test::Above(when) => (bounds(when)?.1, Some(LAST)),
        Test::AtLeast(when) => (bounds(when)?.0, Some(LAST)),
        Test::Between(from, to) => (bounds(from)?.0, bounds(to)?.1.checked_sub(1)),
    };
    let Some(to) = to.filter(|&to| from <= to && from <= LAST) else {
        return Some((1, 0));
    };
    Some((from as u32, to.min(LAST) as u32))
}

/// The moments of the annotated ranges whose name matches, as ascending ranges that do not overlap. Each begins with
/// the moment at which the annotation starts, before its first event. Also returns whether such an annotation exists;
/// it may be outside the recorded time.
pub(super) fn named(pattern: &Pattern, on: Device<'_>) -> (Vec<Stretch>, bool) {
    let mut matcher = Matcher::new(pattern);
    let here = on
        .ranges()
        .filter(|range| matcher.matches(on.snapshot().strings.get(range.name)));
    let times = &on.history.moment_start_us;
    if times.is_empty() {
        return (Vec::new(), here.count() > 0);
    }
    let mut exists = false;
    let here = here.inspect(|_| exists = true);
    let mut stretches: Vec<Stretch> = here
        .filter(|range| range.is_clear(times))
        .map(|range| {
            let from = range
                .start_us
                .map_or(0, |start| times.events_before(|time| time < start));
            let to = range.end_us.map_or(on.history.event_count, |end| {
                times.events_before(|time| time <= end)
            });
            (from, to)
        })
        .collect();
    stretches.sort_few_by(Ord::cmp);
    let mut merged: Vec<Stretch> = Vec::new();
    for (from, to) in stretches.into_iter().filter(|(from, to)| from <= to) {
        match merged.last_mut() {
            Some((_, last)) if from <= *last => *last = to.max(*last),
            _ => merged.push((from, to)),
        }
    }
    (merged, exists)
}

/// Whether an allocation was live in any of these ranges, which must be ascending and disjoint.
pub(super) fn touches(stretches: &[Stretch], born: u32, died: u32) -> bool {
    let next = stretches.partition_point(|&(_, to)| to < born);
    stretches.get(next).is_some_and(|&(from, _)| from < died)
}

/// Whether the event before `moment` is in any of these ranges, which must be ascending and disjoint.
pub(super) fn holds(stretches: &[Stretch], moment: u32) -> bool {
    let next = stretches.partition_point(|&(_, to)| to < moment);
    stretches.get(next).is_some_and(|&(from, _)| from < moment)
}
