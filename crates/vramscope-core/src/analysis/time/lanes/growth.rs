//! The growth of live memory per step.
//!
//! The growth is one number that can be checked against a budget. It must not follow a single unusual step (an
//! evaluation, a longer batch), and it must not miss memory that is kept only every few steps. So it is the median of
//! the slopes between all pairs of steps (the Theil–Sen estimator), for the bytes live at the end of each.

use super::{Step, Steps};
use crate::analysis::time::selection::Moments;

/// Number of complete steps that are left out at the beginning, because they create optimizer state and fill caches.
pub const WARM_UP: usize = 2;

/// Fewest steps that show whether memory grows.
pub const FEW_STEPS: usize = 3;

/// Most steps that are compared with each other. If there are more, evenly spaced ones are taken.
const COMPARED: usize = 1000;

/// The change of live memory from one step to the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StepGrowth {
    /// Additional bytes at the end of each step; negative if memory shrinks.
    pub per_step_bytes: i64,
    /// Number of steps in the computation.
    pub steps: u64,
    /// The ends of the first and the last of these steps.
    pub moments: Moments,
}

impl Steps {
    /// The steps recorded in full, without the first [`WARM_UP`].
    #[must_use]
    pub fn settled(&self) -> Vec<&Step> {
        let whole = self.steps.iter().filter(|step| step.is_whole);
        whole.skip(WARM_UP).collect()
    }

    /// The first and the last step whose ends show whether memory grows; `None` for fewer than [`FEW_STEPS`]. With
    /// fewer than two [`settled`](Self::settled) steps, these are the last two steps recorded in full.
    #[must_use]
    pub fn compared(&self) -> Option<(&Step, &Step)> {
        if self.steps.len() < FEW_STEPS {
            return None;
        }
        if let [first, .., last] = self.settled()[..] {
            return Some((first, last));
        }
        let mut whole = self.steps.iter().rev().filter(|step| step.is_whole);
        let (last, first) = (whole.next()?, whole.next()?);
        Some((first, last))
    }

    /// Bytes live at the end of a step minus bytes live at the end of the previous step; `None` for the first step.
    #[must_use]
    pub fn growth_of(&self, row: usize) -> Option<i64> {
        let before = self.steps.get(row.checked_sub(1)?)?.totals.after_bytes;
        let growth = i128::from(self.steps.get(row)?.totals.after_bytes) - i128::from(before);
        Some(growth.clamp(i64::MIN.into(), i64::MAX.into()) as i64)
    }

    /// The growth of [`settled`](Self::settled) steps; `None` for fewer than two.
    #[must_use]
    pub fn growth(&self) -> Option<StepGrowth> {
        let settled = self.settled();
        let live: Vec<_> = settled.iter().map(|step| step.totals.after_bytes).collect();
        Some(StepGrowth {
            per_step_bytes: slope(&live)?,
            steps: settled.len() as u64,
            moments: (settled.first()?.moments.1, settled.last()?.moments.1),
        })
    }
}

/// The median slope between all pairs of values, rounded towards zero; `None` for fewer than two.
fn slope(values: &[u64]) -> Option<i64> {
    let count = values.len().min(COMPARED);
    let place = |row: usize| row * (values.len() - 1) / (count - 1).max(1);
    let mut slopes: Vec<i64> = Vec::with_capacity(count * count.saturating_sub(1) / 2);
    for later in 1..count {
        for earlier in 0..later {
            let (from, to) = (place(earlier), place(later));
            let change = i128::from(values[to]) - i128::from(values[from]);
            let per_step = change / (to - from) as i128;
            slopes.push(per_step.clamp(i64::MIN.into(), i64::MAX.into()) as i64);
        }
    }
    let middle = slopes.len() / 2;
    if slopes.is_empty() {
        return None;
    }
    // The upper median of an even number, because reporting too much growth is better than missing some.
    Some(*slopes.select_nth_unstable(middle).1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn odd_steps_do_not_count_and_rare_growth_does() {
        assert_eq!(slope(&[]), None);
        assert_eq!(slope(&[7]), None);
        assert_eq!(slope(&[5, 8]), Some(3));
        assert_eq!(slope(&[50, 40, 30]), Some(-10));
        assert_eq!(
            slope(&[10, 10, 900, 10, 10, 10, 10]),
            Some(0),
            "one evaluation"
        );
        let every_third: Vec<u64> = (0..30).map(|step| 100 + step / 3 * 300).collect();
        assert_eq!(slope(&every_third), Some(100), "a log every three steps");
        assert_eq!(slope(&[0, u64::MAX]), Some(i64::MAX));
    }

    #[test]
    fn very_many_steps_are_thinned() {
        let line: Vec<u64> = (0..50_000).map(|step| step * 17).collect();
        assert_eq!(slope(&line), Some(17));
    }

    proptest! {
        #[test]
        fn a_line_has_its_slope_wherever_it_starts(
            start in 0_u64..1 << 40, per_step in 0_u64..1 << 30, steps in 2_u64..60
        ) {
            let rising: Vec<u64> = (0..steps).map(|step| start + step * per_step).collect();
            prop_assert_eq!(slope(&rising), Some(per_step as i64));
            let falling: Vec<u64> = rising.iter().rev().copied().collect();
            prop_assert_eq!(slope(&falling), Some(-(per_step as i64)));
        }

        #[test]
        fn fewer_than_a_quarter_of_odd_steps_change_nothing(
            per_step in 0_u64..1000, odd in prop::collection::btree_map(0_usize..40, 0_u64..1 << 40, 0..8)
        ) {
            let mut values: Vec<u64> = (0..40).map(|step| (1 << 20) + step * per_step).collect();
            let is_line = |values: &[u64]| slope(values) == Some(per_step as i64);
            for (step, bytes) in odd {
                values[step] = bytes;
            }
            // 32 of 40 steps on one line make 496 of 780 pairs.
            prop_assert!(is_line(&values));
        }
    }
}
