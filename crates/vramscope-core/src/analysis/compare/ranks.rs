//! Compares all ranks of a job: which has the highest peak, which is an outlier, and which call sites make the
//! difference.
//!
//! Works on a small summary of each rank, so that no two files have to be in memory at once. A rank is a device
//! of a file. Outliers are compared with the median, and two rules must both hold. The distance must be large
//! compared with the median distance: the modified z-score of Iglewicz and Hoaglin, which a single extreme
//! value cannot distort. And it must be a notable share of the median. Two ranks have no outlier.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use crate::analysis::compare::changes::{SiteChange, changes};
use crate::analysis::compare::side::{Figures, figures};
use crate::analysis::groups::grouping::{GroupBy, GroupColumn, named_totals};
use crate::analysis::groups::turnover::Amount;
use crate::analysis::recording::Device;
use crate::analysis::time::selection::Selection;
use crate::model::DeviceIndex;
use crate::sorting::SortFew;

/// Maximum number of call sites in a summary; the largest are kept.
const SITES_MAX: usize = 4096;
/// Distance from the median, as a share of it, up to which a difference is ignored.
const NOTABLE_SHARE: f64 = 0.05;
/// The modified z-score above which a value is an outlier, as Iglewicz and Hoaglin recommend.
const OUTLIER_SCORE: f64 = 3.5;
/// Scales the median distance to a standard deviation, for normally distributed values.
const SCORE_UNIT: f64 = 0.6745;

/// Summary of one rank.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RankSummary {
    /// Name of its file.
    pub file: String,
    /// The device's index in that file.
    pub device: DeviceIndex,
    /// Its figures at its peak.
    pub figures: Figures,
    /// The time at which the peak began, in µs since the Unix epoch; `None` if the file has no times.
    pub peak_time_us: Option<i64>,
    /// Requested bytes of allocations live at the end.
    pub end_bytes: u64,
    /// Amounts live at the peak by call site, most bytes first. Labels are those of [`GroupColumn`].
    pub sites: Vec<(String, Amount)>,
}

impl RankSummary {
    /// Summarises a device. `None` if it has neither allocations nor segments.
    #[must_use]
    pub fn of(file: &str, device: Device<'_>) -> Option<Self> {
        let history = device.history;
        let moment = history.peak_moment;
        let figures = figures(device, moment);
        if figures.allocations == 0 && figures.peak_reserved_bytes == 0 {
            return None;
        }
        let by_site = GroupColumn::of(device, GroupBy::CallSite, 1);
        let mut sites = named_totals(history, &by_site, Selection::LiveAt(moment));
        sites.truncate(SITES_MAX);
        Some(Self {
            file: file.to_owned(),
            device: history.device,
            figures,
            peak_time_us: history.moment_start_us.get(moment as usize).copied(),
            end_bytes: history.active_bytes.last().copied().unwrap_or(0),
            sites,
        })
    }

    /// Reserved minus active bytes at the peak.
    #[must_use]
    pub fn gap_bytes(&self) -> u64 {
        let figures = &self.figures;
        figures.reserved_bytes.saturating_sub(figures.active_bytes)
    }

    fn value(&self, measure: Measure) -> u64 {
        match measure {
            Measure::Peak => self.figures.peak_active_bytes,
            Measure::Reserved => self.figures.peak_reserved_bytes,
            Measure::AtEnd => self.end_bytes,
        }
    }
}

/// A figure by which ranks are compared.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// The peak of active bytes.
    Peak,
    /// The peak of reserved bytes.
    Reserved,
    /// Active bytes at the end.
    AtEnd,
}

impl Measure {
    /// All measures, the most important first.
    pub const ALL: [Self; 3] = [Self::Peak, Self::Reserved, Self::AtEnd];
}

/// The rank that is farthest from the median by one measure.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Outlier {
    /// The measure.
    pub measure: Measure,
    /// Index of the rank among the summaries.
    pub rank: usize,
    /// The rank's value.
    pub bytes: u64,
    /// The median of all ranks.
    pub median_bytes: u64,
    /// Number of other ranks that are outliers by the same measure.
    pub further: usize,
}

/// The comparison of all ranks. Ranks are given as indexes into the summaries.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Ranks {
    /// All ranks, highest peak first.
    pub by_peak: Vec<usize>,
    /// The rank whose peak is the median. For an even number of ranks it is the lower one of the two in the
    /// middle.
    pub median: usize,
    /// The outliers, at most one per measure.
    pub outliers: Vec<Outlier>,
    /// The rank whose call sites are compared with those of the median rank: the outlier by peak or, without
    /// one, the rank with the highest peak. `None` if that is too close to the median to matter.
    pub compared: Option<usize>,
    /// The call sites in which `compared` and `median` differ at their peaks, largest difference first.
    pub changes: Vec<SiteChange>,
}

impl Ranks {
    /// The rank with the highest peak.
    #[must_use]
    pub fn highest(&self) -> usize {
        self.by_peak.first().copied().unwrap_or(0)
    }
}

/// Compares ranks; `None` for fewer than two.
#[must_use]
pub fn ranks(summaries: &[RankSummary]) -> Option<Ranks> {
    if summaries.len() < 2 {
        return None;
    }
    let peak = |rank: usize| summaries[rank].value(Measure::Peak);
    let mut by_peak: Vec<usize> = (0..summaries.len()).collect();
    by_peak.sort_few_by_key(|&rank| Reverse(peak(rank)));
    let (highest, median) = (by_peak[0], by_peak[by_peak.len() / 2]);
    let outliers: Vec<_> = Measure::ALL
        .into_iter()
        .filter_map(|measure| outlier(summaries, measure))
        .collect();
    let by_peak_outlier = outliers.iter().find(|found| found.measure == Measure::Peak);
    let compared = by_peak_outlier
        .map(|found| found.rank)
        .or_else(|| is_notable(peak(highest), peak(median)).then_some(highest));
    let sites = |rank: usize| {
        let sites = summaries[rank].sites.iter();
        sites.map(|(name, amount)| (name.as_str(), *amount))
    };
    let mut differences =
        compared.map_or_else(Vec::new, |rank| changes(sites(median), sites(rank)));
    differences.retain(|site| !site.change.is_none());
    Some(Ranks {
        by_peak,
        median,
        outliers,
        compared,
        changes: differences,
    })
}

/// Whether a value is far enough from the median to be mentioned.
fn is_notable(value: u64, median: u64) -> bool {
    value.abs_diff(median) as f64 > NOTABLE_SHARE * median as f64
}

/// The rank that is farthest from the median by `measure`, if it is an outlier.
fn outlier(summaries: &[RankSummary], measure: Measure) -> Option<Outlier> {
    let values: Vec<u64> = summaries.iter().map(|rank| rank.value(measure)).collect();
    outlier_of(&values, measure)
}

/// The value that stands out most; `None` if none does.
#[must_use]
pub fn outlier_of(values: &[u64], measure: Measure) -> Option<Outlier> {
    if values.len() < 3 {
        return None;
    }
    let median_bytes = lower_median(values.to_vec());
    let distance = |value: u64| value.abs_diff(median_bytes);
    let usual = lower_median(values.iter().map(|&value| distance(value)).collect());
    let stands_out = |value: u64| {
        let score = SCORE_UNIT * distance(value) as f64;
        is_notable(value, median_bytes) && score > OUTLIER_SCORE * usual as f64
    };
    let found = (0..values.len()).filter(|&rank| stands_out(values[rank]));
    // Of equally distant ranks, take the first.
    let rank = found
        .clone()
        .max_by_key(|&rank| (distance(values[rank]), Reverse(rank)))?;
    Some(Outlier {
        measure,
        rank,
        bytes: values[rank],
        median_bytes,
        further: found.count() - 1,
    })
}

/// The median. For an even number of values it is the lower one of the two in the middle.
fn lower_median(mut values: Vec<u64>) -> u64 {
    values.sort_few_by(Ord::cmp);
    values[(values.len() - 1) / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank(file: usize, peak: u64, sites: &[(&str, u64)]) -> RankSummary {
        RankSummary {
            file: format!("rank{file}.pickle"),
            device: 0,
            figures: Figures {
                peak_active_bytes: peak,
                active_bytes: peak,
                peak_reserved_bytes: peak * 2,
                reserved_bytes: peak + 7,
                ..Figures::default()
            },
            peak_time_us: None,
            end_bytes: 100,
            sites: sites
                .iter()
                .map(|&(name, bytes)| (name.to_owned(), Amount { bytes, count: 1 }))
                .collect(),
        }
    }

    fn of_peaks(peaks: &[u64]) -> Ranks {
        let summaries: Vec<_> = (0..)
            .zip(peaks)
            .map(|(n, &peak)| rank(n, peak, &[]))
            .collect();
        ranks(&summaries).unwrap()
    }

    fn outlier_by_peak(peaks: &[u64]) -> Option<usize> {
        of_peaks(peaks).outliers.first().map(|found| found.rank)
    }

    #[test]
    fn one_rank_is_none() {
        assert_eq!(ranks(&[]), None);
        assert_eq!(ranks(&[rank(0, 5, &[])]), None);
    }

    #[test]
    fn the_one_that_is_far_off_stands_out() {
        assert_eq!(outlier_by_peak(&[100, 101, 99, 100, 140]), Some(4));
        assert_eq!(outlier_by_peak(&[100, 101, 40, 100, 100]), Some(2));
        assert_eq!(outlier_by_peak(&[100, 100, 200]), Some(2));
        // Of two ranks, neither is the outlier.
        assert_eq!(outlier_by_peak(&[100, 200]), None);
        // The difference is too small.
        assert_eq!(outlier_by_peak(&[100, 100, 100, 104]), None);
        // The stages of a pipeline differ regularly.
        assert_eq!(outlier_by_peak(&[100, 120, 140, 160]), None);
        assert_eq!(outlier_by_peak(&[0, 0, 0]), None);
        assert_eq!(outlier_by_peak(&[0, 0, 1]), Some(2));
    }

    #[test]
    fn two_wild_ranks_do_not_hide_each_other() {
        let found = of_peaks(&[100, 101, 99, 100, 100, 900, 1000]).outliers[0];
        assert_eq!((found.rank, found.further, found.median_bytes), (6, 1, 100));
    }

    /// The order of the files must not change the result.
    #[test]
    fn order_does_not_matter() {
        let peaks = [50, 52, 49, 51, 95, 50, 48];
        for turn in 0..peaks.len() {
            let mut turned = peaks;
            turned.rotate_left(turn);
            let ranks = of_peaks(&turned);
            assert_eq!(turned[ranks.highest()], 95);
            assert_eq!(turned[ranks.outliers[0].rank], 95);
            assert_eq!(turned[ranks.median], 50);
            assert!(
                ranks
                    .by_peak
                    .is_sorted_by_key(|&rank| Reverse(turned[rank]))
            );
        }
    }

    #[test]
    fn call_sites_are_those_of_outlier_and_median() {
        let usual = [("a.py:1 f", 60), ("b.py:2 g", 40)];
        let odd = [("a.py:1 f", 60), ("b.py:2 g", 10), ("c.py:3 h", 90)];
        let summaries = [
            rank(0, 100, &usual),
            rank(1, 160, &odd),
            rank(2, 100, &usual),
        ];
        let ranks = ranks(&summaries).unwrap();
        assert_eq!((ranks.highest(), ranks.compared), (1, Some(1)));
        let changes: Vec<_> = ranks
            .changes
            .iter()
            .map(|site| (site.label.as_str(), site.change.bytes_delta()))
            .collect();
        assert_eq!(changes, [("c.py:3 h", 90), ("b.py:2 g", -30)]);
        assert_eq!(summaries[1].gap_bytes(), 7);
    }

    #[test]
    fn alike_ranks_are_not_compared() {
        let ranks = of_peaks(&[100, 103]);
        assert_eq!((ranks.compared, ranks.changes.len()), (None, 0));
        assert_eq!(of_peaks(&[100, 110]).compared, Some(1));
    }
}
