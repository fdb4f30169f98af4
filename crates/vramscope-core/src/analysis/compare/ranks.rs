//! Ranks of one job beside each other: which peaked, which stands out, and by what call sites.
//!
//! Works on a small summary per rank, so that no two files need be held at once. A rank is a device of a
//! file. What stands out is judged against the median, by two rules that must both hold: by its distance in
//! units of the usual distance (the modified z-score of Iglewicz and Hoaglin, which one wild value
//! cannot hide from), and by a share of the median below which nobody would care. Two ranks have no usual.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use crate::Snapshot;
use crate::analysis::compare::changes::{SiteChange, changes};
use crate::analysis::compare::side::{Figures, figures};
use crate::analysis::groups::grouping::{GroupColumn, named_totals};
use crate::analysis::groups::turnover::Amount;
use crate::analysis::time::history::History;
use crate::analysis::time::selection::Selection;
use crate::model::DeviceIndex;

/// Call sites that a summary keeps, the largest ones.
const SITES_MAX: usize = 4096;
/// Distance from the median, as a share of it, below which no difference is worth a word.
const NOTABLE_SHARE: f64 = 0.05;
/// The modified z-score from which a value is an outlier, as its authors recommend.
const OUTLIER_SCORE: f64 = 3.5;
/// Makes the median distance comparable to a standard deviation.
const SCORE_UNIT: f64 = 0.6745;

/// What is kept of one rank.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RankSummary {
    /// Its file.
    pub file: String,
    /// The device in that file.
    pub device: DeviceIndex,
    /// Its figures, at its peak.
    pub figures: Figures,
    /// When the peak began, µs since the Unix epoch; `None` without times.
    pub peak_time_us: Option<i64>,
    /// Requested bytes live at the end.
    pub end_bytes: u64,
    /// What was live at the peak by call site, most bytes first, the names of [`GroupColumn`].
    pub sites: Vec<(String, Amount)>,
}

impl RankSummary {
    /// Sums a device up; `by_site` names its allocations' call sites. `None` for one that nothing happened on.
    #[must_use]
    pub fn of(
        file: &str,
        snapshot: &Snapshot,
        history: &History,
        by_site: &GroupColumn,
    ) -> Option<Self> {
        let moment = history.peak_moment;
        let figures = figures(snapshot, history, moment);
        if figures.allocations == 0 && figures.peak_reserved_bytes == 0 {
            return None;
        }
        let mut sites = named_totals(history, by_site, Selection::LiveAt(moment));
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

    /// Reserved, less what was live, at the peak: lost or idle.
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

/// By what ranks are compared.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Most requested bytes live at once.
    Peak,
    /// Most bytes of segments.
    Reserved,
    /// Requested bytes live at the end.
    AtEnd,
}

impl Measure {
    /// All of them, the one that matters most first.
    pub const ALL: [Self; 3] = [Self::Peak, Self::Reserved, Self::AtEnd];
}

/// A rank that stands out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Outlier {
    /// By what.
    pub measure: Measure,
    /// Its place among the summaries: the farthest from the median.
    pub rank: usize,
    /// Its value.
    pub bytes: u64,
    /// The median of all ranks.
    pub median_bytes: u64,
    /// How many others stand out by the same measure.
    pub further: usize,
}

/// Ranks beside each other. Ranks are named by their place among the summaries.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Ranks {
    /// All of them, highest peak first.
    pub by_peak: Vec<usize>,
    /// The one in the middle by peak: of an even number the lower one, so that it is a rank of its own.
    pub median: usize,
    /// Those that stand out, one per measure.
    pub outliers: Vec<Outlier>,
    /// The rank whose call sites are compared with those of the median: the outlier by peak, else
    /// the highest; `None` where they are too much alike to matter.
    pub compared: Option<usize>,
    /// How its call sites differ from those of the median at their peaks, largest difference first;
    /// only those that do.
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
    by_peak.sort_by_key(|&rank| Reverse(peak(rank)));
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

/// Whether a value is far enough from another to be worth a word.
fn is_notable(value: u64, median: u64) -> bool {
    value.abs_diff(median) as f64 > NOTABLE_SHARE * median as f64
}

/// The one that is farthest from the median, if it stands out.
fn outlier(summaries: &[RankSummary], measure: Measure) -> Option<Outlier> {
    if summaries.len() < 3 {
        return None;
    }
    let values: Vec<u64> = summaries.iter().map(|rank| rank.value(measure)).collect();
    let median_bytes = lower_median(values.clone());
    let distance = |value: u64| value.abs_diff(median_bytes);
    let usual = lower_median(values.iter().map(|&value| distance(value)).collect());
    let stands_out = |value: u64| {
        let score = SCORE_UNIT * distance(value) as f64;
        is_notable(value, median_bytes) && score > OUTLIER_SCORE * usual as f64
    };
    let found = (0..values.len()).filter(|&rank| stands_out(values[rank]));
    // The first of equals.
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

/// The median; of an even number the lower of the two, which is one of the values.
fn lower_median(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
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

    fn outlier_of(peaks: &[u64]) -> Option<usize> {
        of_peaks(peaks).outliers.first().map(|found| found.rank)
    }

    #[test]
    fn one_rank_is_none() {
        assert_eq!(ranks(&[]), None);
        assert_eq!(ranks(&[rank(0, 5, &[])]), None);
    }

    #[test]
    fn the_one_that_is_far_off_stands_out() {
        assert_eq!(outlier_of(&[100, 101, 99, 100, 140]), Some(4));
        assert_eq!(outlier_of(&[100, 101, 40, 100, 100]), Some(2));
        assert_eq!(outlier_of(&[100, 100, 200]), Some(2));
        // Two of two: which one would it be?
        assert_eq!(outlier_of(&[100, 200]), None);
        // All alike but for little.
        assert_eq!(outlier_of(&[100, 100, 100, 104]), None);
        // Stages of a pipeline differ, and none is out of line.
        assert_eq!(outlier_of(&[100, 120, 140, 160]), None);
        assert_eq!(outlier_of(&[0, 0, 0]), None);
        assert_eq!(outlier_of(&[0, 0, 1]), Some(2));
    }

    #[test]
    fn two_wild_ranks_do_not_hide_each_other() {
        let found = of_peaks(&[100, 101, 99, 100, 100, 900, 1000]).outliers[0];
        assert_eq!((found.rank, found.further, found.median_bytes), (6, 1, 100));
    }

    /// Whatever the order of the files, the same one is found, by the same figures.
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
