//! The peaks of ranks.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use crate::fleet::model::Fleet;
use crate::fleet::statistic::{Measure, Outlier, Usual, is_notable, outlier_of};
use crate::sorting::SortFew;

/// The peaks of all ranks.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Peaks {
    /// All ranks, highest peak first.
    pub by_peak: Vec<usize>,
    /// The rank with the median peak. For an even number of ranks it is the lower of the two in the middle.
    pub median: usize,
    /// The typical value of each measure that is known for some rank.
    pub usual: Vec<(Measure, Usual)>,
}

impl Peaks {
    /// The rank with the highest peak.
    #[must_use]
    pub fn highest(&self) -> usize {
        self.by_peak.first().copied().unwrap_or(0)
    }

    /// The typical value of a measure; `None` if no rank has it.
    #[must_use]
    pub fn usual(&self, measure: Measure) -> Option<&Usual> {
        let mut usual = self.usual.iter();
        usual.find_map(|(of, usual)| (*of == measure).then_some(usual))
    }
}

/// The peaks of all ranks; `None` if there are no ranks.
#[must_use]
pub fn peaks(fleet: &Fleet) -> Option<Peaks> {
    let all: Vec<usize> = (0..fleet.ranks.len()).collect();
    peaks_among(fleet, &all)
}

/// The peaks of the ranks in `among` (ascending); `None` if it is empty.
pub(super) fn peaks_among(fleet: &Fleet, among: &[usize]) -> Option<Peaks> {
    let by_peak = by_peak(fleet, among);
    let median = median_of(&by_peak)?;
    let usual = Measure::ALL.into_iter().filter_map(|measure| {
        let known = among.iter();
        let known = known.filter_map(|&rank| measure.of(&fleet.ranks[rank]));
        let known: Vec<u64> = known.collect();
        Some((measure, Usual::of(&known)?))
    });
    Some(Peaks {
        usual: usual.collect(),
        by_peak,
        median,
    })
}

/// The rank in `among` (ascending) with the median peak, as in [`Peaks`].
#[must_use]
pub fn median_rank(fleet: &Fleet, among: &[usize]) -> Option<usize> {
    median_of(&by_peak(fleet, among))
}

fn by_peak(fleet: &Fleet, among: &[usize]) -> Vec<usize> {
    let mut by_peak = among.to_vec();
    by_peak.sort_few_by_key(|&rank| Reverse(fleet.ranks[rank].peak_bytes));
    by_peak
}

fn median_of(by_peak: &[usize]) -> Option<usize> {
    by_peak.get(by_peak.len() / 2).copied()
}

/// A brief comparison of all ranks.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Ranks {
    /// The peaks of all ranks.
    pub peaks: Peaks,
    /// The outliers, at most one for each measure of memory.
    pub outliers: Vec<Outlier>,
    /// The rank whose call sites are compared with those of the median rank: the outlier by peak, or else the rank with the
    /// highest peak. `None` if that is too close to the median to matter.
    pub compared: Option<usize>,
}

/// Compares ranks briefly; `None` for fewer than two.
#[must_use]
pub fn ranks(fleet: &Fleet) -> Option<Ranks> {
    let peaks = peaks(fleet).filter(|peaks| peaks.by_peak.len() > 1)?;
    let outliers = [Measure::Peak, Measure::Reserved, Measure::AtEnd].map(|measure| {
        let known = (0..).zip(&fleet.ranks);
        let known = known.filter_map(|(rank, it)| Some((rank, measure.of(it)?)));
        let (ranks, values): (Vec<usize>, Vec<u64>) = known.unzip();
        let found = outlier_of(&values, measure)?;
        Some(Outlier {
            rank: *ranks.get(found.rank)?,
            ..found
        })
    });
    let outliers: Vec<Outlier> = outliers.into_iter().flatten().collect();
    let peak = |rank: usize| fleet.ranks[rank].peak_bytes;
    let (highest, median) = (peaks.highest(), peaks.median);
    let by_peak = outliers.iter().find(|found| found.measure == Measure::Peak);
    let compared = by_peak
        .map(|found| found.rank)
        .or_else(|| is_notable(peak(highest), peak(median)).then_some(highest));
    Some(Ranks {
        peaks,
        outliers,
        compared,
    })
}
