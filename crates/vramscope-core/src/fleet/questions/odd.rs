//! Which ranks differ from the rest, and in what.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use super::{Peaks, diff, peaks};
use crate::analysis::compare::changes::{SettingChange, SiteChange, compare_settings};
use crate::fleet::model::{Fleet, SettingsId};
use crate::fleet::statistic::{Measure, Usual};
use crate::sorting::SortFew;

/// The score of what no number can tell, for sorting.
const BEYOND: f64 = 1e6;

/// The ranks that differ from the rest.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Odd {
    /// What is usual.
    pub peaks: Peaks,
    /// The odd ranks, the oddest first.
    pub ranks: Vec<OddRank>,
}

/// A rank that differs from the rest.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct OddRank {
    /// The rank.
    pub rank: usize,
    /// In what it is odd, the oddest first. May be empty if its settings differ.
    pub values: Vec<OddValue>,
    /// Its settings that differ from those of most ranks.
    pub settings: Vec<SettingChange>,
    /// The call sites in which it differs from the median rank at their peaks, largest difference first.
    pub sites: Vec<SiteChange>,
    /// The number of those before the smaller ones were left out.
    pub site_count: u64,
}

impl OddRank {
    /// How odd it is: its highest modified z-score, bounded.
    #[must_use]
    pub fn oddness(&self) -> f64 {
        let scores = self
            .values
            .iter()
            .map(|value| value.score.unwrap_or(BEYOND));
        scores.fold(0.0, f64::max).min(BEYOND)
    }
}

/// A value that stands out.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct OddValue {
    /// The measure.
    pub measure: Measure,
    /// The rank's value.
    pub value: u64,
    /// What is usual.
    pub usual: Usual,
    /// Its modified z-score; `None` if it is beyond all numbers, as more than half of the ranks are alike.
    pub score: Option<f64>,
}

/// Finds the odd ranks, with at most `sites` call sites each. `None` if there is no rank; of fewer than three none is
/// odd.
#[must_use]
pub fn odd(fleet: &Fleet, sites: usize) -> Option<Odd> {
    let peaks = peaks(fleet)?;
    let peak = fleet.ranks[peaks.median].peak_bytes;
    let common = common_settings(fleet);
    let mut ranks: Vec<OddRank> = Vec::new();
    for (rank, of) in fleet.ranks.iter().enumerate() {
        let odd = peaks.usual.iter().filter_map(|&(measure, usual)| {
            let value = measure.of(of)?;
            let notable = measure.notable(usual.median, peak);
            usual.is_odd(value, notable).then(|| OddValue {
                measure,
                value,
                usual,
                score: usual.score(value),
            })
        });
        let mut values: Vec<OddValue> = odd.collect();
        values.sort_few_by(|a, b| {
            let score = |it: &OddValue| it.score.unwrap_or(BEYOND).min(BEYOND);
            score(b)
                .total_cmp(&score(a))
                .then(a.measure.cmp(&b.measure))
        });
        let settings = match common {
            Some(common) => {
                compare_settings(&fleet.settings[common as usize], fleet.settings_of(of))
            }
            None => Vec::new(),
        };
        if values.is_empty() && settings.is_empty() {
            continue;
        }
        let differs = values.iter().any(|value| value.measure.is_bytes());
        let mut differences = match differs {
            true => diff(fleet, peaks.median, rank).sites,
            false => Vec::new(),
        };
        let site_count = differences.len() as u64;
        differences.truncate(sites);
        ranks.push(OddRank {
            rank,
            values,
            settings,
            sites: differences,
            site_count,
        });
    }
    ranks.sort_few_by(|a, b| {
        (b.oddness().total_cmp(&a.oddness()))
            .then_with(|| Reverse(a.values.len()).cmp(&Reverse(b.values.len())))
            .then(a.rank.cmp(&b.rank))
    });
    Some(Odd { peaks, ranks })
}

/// The settings of more than half of at least three ranks; `None` if there are none.
fn common_settings(fleet: &Fleet) -> Option<SettingsId> {
    if fleet.ranks.len() < 3 {
        return None;
    }
    let mut counts = vec![0_usize; fleet.settings.len()];
    for rank in &fleet.ranks {
        if let Some(count) = counts.get_mut(rank.settings as usize) {
            *count += 1;
        }
    }
    let most = counts
        .iter()
        .position(|&count| 2 * count > fleet.ranks.len())?;
    Some(most as SettingsId)
}
