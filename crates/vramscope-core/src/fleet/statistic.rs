//! Finds typical values among ranks, and odd ones.
//!
//! A rank is odd compared with the median if two conditions hold. The distance must be large compared with the median
//! distance: the modified z-score of Iglewicz and Hoaglin, which a single extreme value cannot distort. And it must be
//! notable: for most measures a share of the median. Among two ranks none is odd.

use serde::{Deserialize, Serialize};

use super::model::Rank;
use crate::sorting::SortFew;

/// Distance from the median, as a share of it, up to which a difference is ignored.
pub const NOTABLE_SHARE: f64 = 0.05;
/// The modified z-score above which a value is odd, as Iglewicz and Hoaglin recommend.
pub const ODD_SCORE: f64 = 3.5;
/// Scales the median distance to a standard deviation, for normally distributed values.
const SCORE_UNIT: f64 = 0.6745;
/// Differences of fewer bytes are ignored where the median may be 0.
pub const NOTABLE_BYTES: u64 = 1 << 20;
/// Fewest values of which one can be odd.
const FEWEST: usize = 3;

/// A figure by which ranks are compared.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// The peak of active bytes.
    Peak,
    /// The peak of reserved bytes.
    Reserved,
    /// Active bytes at the end.
    AtEnd,
    /// Where in its recording the peak begins, in thousandths.
    PeakTime,
    /// Reserved minus active bytes at the peak.
    Gap,
    /// Bytes free between live blocks at the peak.
    Scattered,
    /// By how many bytes live memory grows with each step.
    Growth,
    /// How often cached segments were released to serve a request.
    Retries,
    /// Requests that failed.
    Ooms,
}

impl Measure {
    /// All measures, the most important first.
    pub const ALL: [Self; 9] = [
        Self::Peak,
        Self::Reserved,
        Self::AtEnd,
        Self::PeakTime,
        Self::Gap,
        Self::Scattered,
        Self::Growth,
        Self::Retries,
        Self::Ooms,
    ];

    /// The name in text output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Peak => "peak",
            Self::Reserved => "reserved",
            Self::AtEnd => "at end",
            Self::PeakTime => "when it peaks",
            Self::Gap => "gap at peak",
            Self::Scattered => "scattered at peak",
            Self::Growth => "growth per step",
            Self::Retries => "retries",
            Self::Ooms => "OOMs",
        }
    }

    /// A rank's value; `None` if unknown.
    #[must_use]
    pub fn of(self, rank: &Rank) -> Option<u64> {
        Some(match self {
            Self::Peak => rank.peak_bytes,
            Self::Reserved => rank.peak_reserved()?,
            Self::AtEnd => rank.end_bytes,
            Self::PeakTime => (rank.peak_share()? * 1000.0).round() as u64,
            Self::Gap => rank.gap_bytes()?,
            Self::Scattered => rank.fragmentation?.scattered_bytes,
            Self::Growth => {
                let growth = rank.growth?.per_step_bytes?;
                u64::try_from(growth).unwrap_or(0)
            }
            Self::Retries => rank.retries?,
            Self::Ooms => rank.ooms,
        })
    }

    /// Whether its values are bytes.
    #[must_use]
    pub fn is_bytes(self) -> bool {
        !matches!(self, Self::PeakTime | Self::Retries | Self::Ooms)
    }

    /// The distance up to which a difference is ignored, if the median peak is `peak`.
    pub(super) fn notable(self, median: u64, peak: u64) -> f64 {
        let share = |of: u64| NOTABLE_SHARE * of as f64;
        match self {
            Self::Peak | Self::Reserved | Self::AtEnd => share(median),
            Self::PeakTime => share(1000),
            // Small values may differ by a large share of themselves.
            Self::Gap | Self::Scattered => share(peak),
            Self::Growth => share(median).max(NOTABLE_BYTES as f64),
            Self::Retries | Self::Ooms => 0.0,
        }
    }
}

/// The typical value among some values.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Usual {
    /// The number of values.
    pub values: u64,
    /// The median. For an even number of values it is the lower of the two in the middle.
    pub median: u64,
    /// The spread: the median of the distances from the median. For an even number of them it is the upper of the two in the
    /// middle, so that it is 0 only if more than half of the values are equal.
    pub spread: u64,
    /// The least value.
    pub lowest: u64,
    /// The highest value.
    pub highest: u64,
}

impl Usual {
    /// The typical value of `values`; `None` if there are none.
    #[must_use]
    pub fn of(values: &[u64]) -> Option<Self> {
        Self::with_zeros(values.to_vec(), 0)
    }

    /// The typical value of `values` and of so many zeros, without listing the zeros. If there are any, `values` are above
    /// 0.
    #[must_use]
    pub fn with_zeros(mut values: Vec<u64>, zeros: usize) -> Option<Self> {
        let all = values.len() + zeros;
        let middle = all.checked_sub(1)? / 2;
        values.sort_few_by(Ord::cmp);
        // The value at a position, if the zeros (or their distances) come after the first `before` values.
        let beyond = |sorted: &[u64], place: usize, before: usize, of_zeros: u64| match place {
            place if place < before => sorted.get(place).copied(),
            place if place < before + zeros => Some(of_zeros),
            place => sorted.get(place - zeros).copied(),
        };
        let median = beyond(&values, middle, 0, 0)?;
        let distances = values.iter().map(|value| value.abs_diff(median));
        let mut distances: Vec<u64> = distances.collect();
        distances.sort_few_by(Ord::cmp);
        let nearer = distances.partition_point(|&distance| distance < median);
        Some(Self {
            values: all as u64,
            median,
            spread: beyond(&distances, all / 2, nearer, median)?,
            lowest: if zeros > 0 { 0 } else { *values.first()? },
            highest: values.last().copied().unwrap_or(0),
        })
    }

    /// The modified z-score of a value; `None` if it is infinite, because more than half of the values are equal.
    #[must_use]
    pub fn score(&self, value: u64) -> Option<f64> {
        let distance = value.abs_diff(self.median);
        match (distance, self.spread) {
            (0, _) => Some(0.0),
            (_, 0) => None,
            _ => Some(SCORE_UNIT * distance as f64 / self.spread as f64),
        }
    }

    /// Whether a value is odd, and farther than `notable` from the median.
    #[must_use]
    pub fn is_odd(&self, value: u64, notable: f64) -> bool {
        let distance = value.abs_diff(self.median) as f64;
        let stands_out = SCORE_UNIT * distance > ODD_SCORE * self.spread as f64;
        self.values >= FEWEST as u64 && distance > notable && stands_out
    }
}

/// The value farthest from the median by one measure.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Outlier {
    /// The measure.
    pub measure: Measure,
    /// Index of the rank.
    pub rank: usize,
    /// The rank's value.
    pub bytes: u64,
    /// The median of all ranks.
    pub median_bytes: u64,
    /// Number of other ranks that are outliers by this measure.
    pub further: usize,
}

/// The most outlying of the values of a measure in bytes; `None` if none is an outlier.
#[must_use]
pub fn outlier_of(values: &[u64], measure: Measure) -> Option<Outlier> {
    let usual = Usual::of(values)?;
    let notable = measure.notable(usual.median, usual.median);
    let found = (0..values.len()).filter(|&rank| usual.is_odd(values[rank], notable));
    // Of equally distant ranks, take the first.
    let rank = found
        .clone()
        .max_by_key(|&rank| (values[rank].abs_diff(usual.median), std::cmp::Reverse(rank)))?;
    Some(Outlier {
        measure,
        rank,
        bytes: values[rank],
        median_bytes: usual.median,
        further: found.count() - 1,
    })
}

/// Whether a value is far enough from the median to mention.
pub(super) fn is_notable(value: u64, median: u64) -> bool {
    value.abs_diff(median) as f64 > NOTABLE_SHARE * median as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn odd(values: &[u64]) -> Option<usize> {
        outlier_of(values, Measure::Peak).map(|found| found.rank)
    }

    #[test]
    fn of_two_halves_none_is_odd() {
        assert_eq!(
            outlier_of(&[100 << 30, 100 << 30, 140 << 30, 140 << 30], Measure::Peak),
            None
        );
        let odd = outlier_of(&[100 << 30, 100 << 30, 100 << 30, 140 << 30], Measure::Peak);
        assert_eq!(odd.map(|odd| odd.rank), Some(3));
    }

    #[test]
    fn the_one_that_is_far_off_stands_out() {
        assert_eq!(odd(&[100, 101, 99, 100, 140]), Some(4));
        assert_eq!(odd(&[100, 101, 40, 100, 100]), Some(2));
        assert_eq!(odd(&[100, 100, 200]), Some(2));
        // Of two ranks, neither is the outlier.
        assert_eq!(odd(&[100, 200]), None);
        // The difference is too small.
        assert_eq!(odd(&[100, 100, 100, 104]), None);
        // The stages of a pipeline differ regularly.
        assert_eq!(odd(&[100, 120, 140, 160]), None);
        assert_eq!(odd(&[0, 0, 0]), None);
        assert_eq!(odd(&[0, 0, 1]), Some(2));
        assert_eq!(odd(&[]), None);
    }

    #[test]
    fn two_wild_ranks_do_not_hide_each_other() {
        let values = [100, 101, 99, 100, 100, 900, 1000];
        let found = outlier_of(&values, Measure::Peak).unwrap();
        assert_eq!((found.rank, found.further, found.median_bytes), (6, 1, 100));
    }

    proptest! {
        /// A slow, obvious version: the value at a position is the one with so many below it.
        #[test]
        fn the_median_and_the_spread_are_as_counted(values in prop::collection::vec(0_u64..50, 1..30)) {
            let at = |values: &[u64], place: usize| -> u64 {
                let fits = |value: &&u64| {
                    let below = values.iter().filter(|other| other < value).count();
                    let upto = values.iter().filter(|other| other <= value).count();
                    (below..upto).contains(&place)
                };
                *values.iter().find(fits).unwrap()
            };
            let usual = Usual::of(&values).unwrap();
            let median = at(&values, (values.len() - 1) / 2);
            let distances: Vec<u64> = values.iter().map(|value| value.abs_diff(median)).collect();
            let spread = at(&distances, values.len() / 2);
            prop_assert_eq!((usual.median, usual.spread), (median, spread));
            for &value in &values {
                prop_assert!(usual.lowest <= value && value <= usual.highest);
                let is_far = match usual.score(value) {
                    Some(score) => score > ODD_SCORE,
                    None => true,
                };
                let is_odd = values.len() > 2 && is_far && value.abs_diff(median) as f64 > 2.0;
                prop_assert_eq!(usual.is_odd(value, 2.0), is_odd);
            }
        }

        #[test]
        fn zeros_need_not_be_listed(values in prop::collection::vec(0_u64..20, 0..30)) {
            let above: Vec<u64> = values.iter().copied().filter(|&value| value > 0).collect();
            let zeros = values.len() - above.len();
            prop_assert_eq!(Usual::with_zeros(above, zeros), Usual::of(&values));
        }

        #[test]
        fn order_does_not_matter(values in prop::collection::vec(0_u64..1000, 3..20), turn in 0_usize..20) {
            let mut turned = values.clone();
            turned.rotate_left(turn % values.len());
            prop_assert_eq!(Usual::of(&values), Usual::of(&turned));
            let found = |values: &[u64]| {
                outlier_of(values, Measure::Peak)
                    .map(|found| (found.bytes.abs_diff(found.median_bytes), found.further))
            };
            prop_assert_eq!(found(&values), found(&turned));
        }
    }
}
