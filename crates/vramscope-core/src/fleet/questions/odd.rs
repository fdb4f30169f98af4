//! Finds ranks that differ from the rest.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Peaks;
use super::peaks::peaks_among;
use crate::analysis::compare::changes::{SettingChange, compare_settings};
use crate::fleet::model::{Fleet, Rank, SettingsId};
use crate::fleet::statistic::{Measure, Usual};
use crate::sorting::SortFew;

/// Replaces an infinite score when sorting.
const BEYOND: f64 = 1e6;

/// The ranks that differ from the rest.
#[derive(Clone, PartialEq, Debug)]
pub struct Odd {
    /// The typical values.
    pub peaks: Peaks,
    /// The odd ranks, the oddest first.
    pub ranks: Vec<OddRank>,
}

/// A rank that differs from the rest.
#[derive(Clone, PartialEq, Debug)]
pub struct OddRank {
    /// The rank.
    pub rank: usize,
    /// The odd values, oddest first. May be empty if the settings differ.
    pub values: Vec<OddValue>,
    /// The settings that differ from those of most ranks, at most [`MOST_SETTINGS`](Self::MOST_SETTINGS).
    pub settings: Arc<[SettingChange]>,
    /// The number of such settings, including those beyond the limit.
    pub setting_count: u64,
}

impl OddRank {
    /// Most settings that are listed.
    pub const MOST_SETTINGS: usize = 50;

    /// The highest modified z-score, bounded.
    #[must_use]
    pub fn oddness(&self) -> f64 {
        let scores = self
            .values
            .iter()
            .map(|value| value.score.unwrap_or(BEYOND));
        scores.fold(0.0, f64::max).min(BEYOND)
    }
}

/// An odd value.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct OddValue {
    /// The measure.
    pub measure: Measure,
    /// The rank's value.
    pub value: u64,
    /// The typical value.
    pub usual: Usual,
    /// The modified z-score; `None` if it is infinite, because more than half of the ranks are equal.
    pub score: Option<f64>,
}

/// Finds the odd ranks. `None` if there are no ranks; among fewer than three none is odd.
#[must_use]
pub fn odd(fleet: &Fleet) -> Option<Odd> {
    let all: Vec<usize> = (0..fleet.ranks.len()).collect();
    odd_among(fleet, &all)
}

/// Finds the ranks in `among` (ascending) that differ from the others in it.
#[must_use]
pub fn odd_among(fleet: &Fleet, among: &[usize]) -> Option<Odd> {
    let peaks = peaks_among(fleet, among)?;
    let peak = fleet.ranks[peaks.median].peak_bytes;
    let mut unusual = UnusualSettings::of(fleet, among);
    let mut ranks: Vec<OddRank> = Vec::new();
    for &rank in among {
        let of = &fleet.ranks[rank];
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
        let (settings, setting_count) = unusual.of_rank(of);
        if values.is_empty() && settings.is_empty() {
            continue;
        }
        ranks.push(OddRank {
            rank,
            values,
            settings,
            setting_count,
        });
    }
    ranks.sort_few_by(|a, b| {
        (b.oddness().total_cmp(&a.oddness()))
            .then_with(|| Reverse(a.values.len()).cmp(&Reverse(b.values.len())))
            .then(a.rank.cmp(&b.rank))
    });
    Some(Odd { peaks, ranks })
}

/// Settings that differ from those of more than half of some ranks, computed once per distinct settings.
struct UnusualSettings<'a> {
    fleet: &'a Fleet,
    /// The settings of more than half of at least three ranks; `None` if there are none.
    common: Option<SettingsId>,
    known: HashMap<SettingsId, (Arc<[SettingChange]>, u64)>,
}

impl<'a> UnusualSettings<'a> {
    fn of(fleet: &'a Fleet, among: &[usize]) -> Self {
        let mut counts: HashMap<SettingsId, usize> = HashMap::new();
        for &rank in among {
            *counts.entry(fleet.ranks[rank].settings).or_default() += 1;
        }
        let most = counts
            .into_iter()
            .find(|&(_, count)| 2 * count > among.len());
        Self {
            fleet,
            common: most.map(|(id, _)| id).filter(|_| among.len() >= 3),
            known: HashMap::new(),
        }
    }

    /// Those of a rank, and their number including those beyond the limit.
    fn of_rank(&mut self, rank: &Rank) -> (Arc<[SettingChange]>, u64) {
        let (fleet, common) = (self.fleet, self.common);
        let found = || {
            let common = common.and_then(|common| fleet.settings.get(common as usize));
            let mut changes = common.map_or_else(Vec::new, |common| {
                compare_settings(common, fleet.settings_of(rank))
            });
            let count = changes.len() as u64;
            changes.truncate(OddRank::MOST_SETTINGS);
            (changes.into(), count)
        };
        self.known
            .entry(rank.settings)
            .or_insert_with(found)
            .clone()
    }
}
