//! The time at which each moment of a device begins.

use std::ops::Range;

use crate::model::{NO_TIME, Times};

/// The time at which each moment begins, in microseconds since the Unix epoch, non-decreasing. Moment 0 has the time of
/// moment 1. Empty if the trace has no times.
///
/// Shares the events' own times if they can be used as they are.
#[derive(Clone, Default, Debug)]
pub struct MomentTimes {
    times: Times,
    /// The row of moment 0.
    from: usize,
    /// Number of moments.
    len: usize,
    /// 1 if moment 0 has no row of its own but shares that of moment 1.
    shared: usize,
    /// The stretches of time that the clock went through more than once, both ends included; ascending, not touching.
    repeated: Vec<(i64, i64)>,
}

impl MomentTimes {
    pub(crate) fn of(events: &Times, rows: Range<u32>) -> Self {
        let (from, to) = (rows.start as usize, (rows.end as usize).min(events.len()));
        let times = || (from..to).map(|row| events.at(row));
        let Some(first) = times().find(|&time| time != NO_TIME) else {
            return Self::default();
        };
        // A missing time is less than all others.
        if times().is_sorted() && events.get(from).is_some() {
            return Self {
                times: events.clone(),
                from,
                len: to - from + 1,
                shared: 1,
                repeated: Vec::new(),
            };
        }
        let mut latest = first;
        let latest = times().map(|time| {
            latest = latest.max(time);
            latest
        });
        Self {
            repeated: repeated(times()),
            ..[first].into_iter().chain(latest).collect()
        }
    }

    /// Whether a time determines the next event. It does not if the clock went back over it.
    #[must_use]
    pub fn is_clear(&self, time_us: i64) -> bool {
        let next = self.repeated.partition_point(|&(_, to)| to < time_us);
        self.repeated
            .get(next)
            .is_none_or(|&(from, _)| time_us < from)
    }

    /// Number of moments; 0 without times.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the trace has no times.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The time of a moment; `None` after the last one.
    // Called from many places; inlined, it would enlarge the page.
    #[inline(never)]
    #[must_use]
    pub fn get(&self, moment: u32) -> Option<i64> {
        let row = moment as usize;
        if row >= self.len {
            return None;
        }
        self.times.get(self.from + row.saturating_sub(self.shared))
    }

    /// When the first moment begins.
    #[must_use]
    pub fn first(&self) -> Option<i64> {
        self.get(0)
    }

    /// When the last moment begins.
    #[must_use]
    pub fn last(&self) -> Option<i64> {
        self.get(self.len.checked_sub(1)? as u32)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = i64> + '_ {
        (0..self.len as u32).filter_map(|moment| self.get(moment))
    }

    /// The number of moments for whose time `is_before` holds; they must be the first ones.
    #[must_use]
    pub fn partition_point(&self, is_before: impl Fn(i64) -> bool) -> usize {
        let holds = |moment: usize| self.get(moment as u32).is_some_and(&is_before);
        first_that_is_not(self.len, &holds)
    }

    /// The number of events for whose time `is_before` holds; they must be the first ones.
    #[must_use]
    pub fn events_before(&self, is_before: impl Fn(i64) -> bool) -> u32 {
        // Moment 0 has the time of the first event, moment 1.
        self.partition_point(is_before).saturating_sub(1) as u32
    }
}

/// From the time of each moment, all known and non-decreasing.
impl FromIterator<i64> for MomentTimes {
    fn from_iter<I: IntoIterator<Item = i64>>(times: I) -> Self {
        let times = Times::from_iter(times);
        Self {
            len: times.len(),
            times,
            from: 0,
            shared: 0,
            repeated: Vec::new(),
        }
    }
}

/// The stretches from each time that is earlier than a previous event's, to the latest time before it.
fn repeated(times: impl Iterator<Item = i64>) -> Vec<(i64, i64)> {
    let mut stretches: Vec<(i64, i64)> = Vec::new();
    let mut latest = NO_TIME;
    for time in times.filter(|&time| time != NO_TIME) {
        if time >= latest {
            latest = time;
            continue;
        }
        let mut from = time;
        while let Some((earlier, _)) = stretches.pop_if(|&mut (_, to)| to >= time) {
            from = from.min(earlier);
        }
        stretches.push((from, latest));
    }
    stretches
}

/// The first number below `count` for which `is_so` does not hold, or `count`. It must hold for all numbers before and
/// for none after.
pub(super) fn first_that_is_not(count: usize, is_so: &dyn Fn(usize) -> bool) -> usize {
    let (mut first, mut end) = (0, count);
    while first < end {
        let middle = first.midpoint(end);
        if is_so(middle) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn they_never_decrease(
            gaps in prop::collection::vec(prop_oneof![4 => -1_i64..9, 1 => Just(NO_TIME)], 0..20),
            ascending in any::<bool>(),
            (from, to) in (0_u32..20, 0_u32..20),
            sought in 0_i64..90,
        ) {
            let gaps = gaps.into_iter().filter(|&gap| !ascending || gap >= 0);
            let events: Vec<i64> = gaps
                .scan(50, |now, gap| {
                    *now += gap.max(-1);
                    Some(if gap == NO_TIME { gap } else { *now })
                })
                .collect();
            let (from, to) = (from.min(events.len() as u32), to.min(events.len() as u32));
            let rows = from.min(to)..from.max(to);
            let own = &events[rows.start as usize..rows.end as usize];
            let mut expected = Vec::new();
            if let Some(first) = own.iter().find(|&&time| time != NO_TIME) {
                expected.push(*first);
                for time in own {
                    expected.push(expected[expected.len() - 1].max(*time));
                }
            }
            let times = MomentTimes::of(&events.iter().copied().collect(), rows);
            prop_assert_eq!(times.iter().collect::<Vec<_>>(), &expected[..]);
            prop_assert_eq!(times.len(), expected.len());
            prop_assert_eq!((times.first(), times.last()), (expected.first().copied(), expected.last().copied()));
            prop_assert_eq!(times.get(expected.len() as u32), None);
            let before = expected.iter().skip(1).filter(|&&time| time < sought).count();
            prop_assert_eq!(times.events_before(|time| time < sought), before as u32);
            let known: Vec<i64> = own.iter().copied().filter(|&time| time != NO_TIME).collect();
            let is_repeated = (0..known.len()).any(|later| {
                let mut earlier = known[..later].iter();
                known[later] <= sought && earlier.any(|&time| time >= sought && time > known[later])
            });
            prop_assert_eq!(times.is_clear(sought), !is_repeated);
        }
    }
}
