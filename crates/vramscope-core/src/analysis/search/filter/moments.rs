//! Moments and stretches of them, as a filter names them.

use super::pattern::{Matcher, Pattern};
use super::term::{Test, When};
use crate::analysis::recording::Device;
use crate::analysis::time::history::History;

/// First and last moment.
pub(super) type Stretch = (u32, u32);

/// The first moment at or after what is named, and the first one after it; `None` without a cursor, or
/// for a time where there are none.
pub(super) fn bounds(when: When, history: &History, cursor: Option<u32>) -> Option<(u64, u64)> {
    let moment = match when {
        When::Peak => u64::from(history.peak_moment),
        When::End => u64::from(history.event_count),
        When::Start => 0,
        When::Cursor => u64::from(cursor?),
        When::Event(number) => number,
        When::Us(us) => {
            let (&start, moments) = history.moment_start_us.split_first()?;
            let offset = |time: &i64| time.saturating_sub(start).max(0).cast_unsigned();
            let at = moments.partition_point(|time| offset(time) < us);
            let after = moments.partition_point(|time| offset(time) <= us);
            return Some((at as u64 + 1, after as u64 + 1));
        }
    };
    // Beyond every recording, so that what comes after it need not be exact.
    Some((moment, moment.saturating_add(1)))
}

/// The moment at which one looks to see what `when` names.
pub(super) fn moment(when: When, history: &History, cursor: Option<u32>) -> Option<u64> {
    bounds(when, history, cursor).map(|(_, after)| after - 1)
}

/// The moments that pass a test; the first is the greater where none does.
pub(super) fn passing(test: Test<When>, history: &History, cursor: Option<u32>) -> Option<Stretch> {
    let bounds = |when| bounds(when, history, cursor);
    const LAST: u64 = u32::MAX as u64 - 1;
    // Both ends included; what is before the first moment of all is `None`.
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

/// The annotated ranges of a name as ascending stretches that do not touch: each from the state in which
/// it begins to the one in which it ends. The second is whether there is such a range at all.
pub(super) fn named(pattern: &Pattern, on: Device<'_>) -> (Vec<Stretch>, bool) {
    let mut matcher = Matcher::new(pattern);
    let device = i64::from(on.index());
    let here = on
        .recording
        .ranges()
        .iter()
        .filter(|range| i64::from(range.device) == device)
        .filter(|range| matcher.matches(on.snapshot().strings.get(range.name)));
    let Some((_, times)) = on.history.moment_start_us.split_first() else {
        return (Vec::new(), here.count() > 0);
    };
    let mut stretches: Vec<Stretch> = here
        .map(|range| {
            let from = range
                .start_us
                .map_or(0, |start| times.partition_point(|&time| time < start));
            let to = range.end_us.map_or(times.len(), |end| {
                times.partition_point(|&time| time <= end)
            });
            (from as u32, to as u32)
        })
        .collect();
    let exists = !stretches.is_empty();
    stretches.sort_unstable();
    let mut merged: Vec<Stretch> = Vec::new();
    for (from, to) in stretches.into_iter().filter(|(from, to)| from <= to) {
        match merged.last_mut() {
            Some((_, last)) if from <= *last => *last = to.max(*last),
            _ => merged.push((from, to)),
        }
    }
    (merged, exists)
}

/// Whether something was live at any time of these stretches, which ascend and do not touch each other.
pub(super) fn touches(stretches: &[Stretch], born: u32, died: u32) -> bool {
    let next = stretches.partition_point(|&(_, to)| to < born);
    stretches.get(next).is_some_and(|&(from, _)| from < died)
}

/// Whether the event that leads to a moment lies in any of them.
pub(super) fn holds(stretches: &[Stretch], moment: u32) -> bool {
    let next = stretches.partition_point(|&(_, to)| to < moment);
    stretches.get(next).is_some_and(|&(from, _)| from < moment)
}
