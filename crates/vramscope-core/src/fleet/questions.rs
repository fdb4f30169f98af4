//! Questions across ranks. Ranks are given as indexes into [`Fleet::ranks`].

mod leaks;
mod odd;
mod ooms;
mod peaks;
mod sites;
#[cfg(test)]
mod tests;

pub use leaks::{LeakedSite, Leaks, leaks};
pub use odd::{Odd, OddRank, OddValue, odd, odd_among};
pub use ooms::{Ooms, ooms};
pub use peaks::{Peaks, Ranks, median_rank, peaks, ranks};
pub use sites::{SiteFigure, SiteSpread, sites, sites_among};

use serde::{Deserialize, Serialize};

use super::model::{Fleet, Rank};
use crate::analysis::compare::changes::{SettingChange, SiteChange, changes, compare_settings};

/// The difference between two ranks at their peaks.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RankDiff {
    /// The call sites that differ, the largest difference first.
    pub sites: Vec<SiteChange>,
    /// The settings that differ.
    pub settings: Vec<SettingChange>,
}

/// Compares two ranks at their peaks, by call site. `before` is usually the median one.
#[must_use]
pub fn diff(fleet: &Fleet, before: usize, after: usize) -> RankDiff {
    let [one, other] = [before, after].map(|rank| &fleet.ranks[rank]);
    let sites = |rank: &'_ Rank| {
        let named = rank
            .sites
            .iter()
            .map(|row| (fleet.label(row.site), row.peak));
        let others = ("", rank.other_sites);
        named.chain([others]).collect::<Vec<_>>()
    };
    let mut sites = changes(sites(one), sites(other));
    sites.retain(|site| !site.change.is_none());
    for site in sites.iter_mut().filter(|site| site.label.is_empty()) {
        "(other call sites)".clone_into(&mut site.label);
    }
    RankDiff {
        sites,
        settings: compare_settings(fleet.settings_of(one), fleet.settings_of(other)),
    }
}

/// Ranks of one job at one step, which can be compared with each other.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Cohort {
    /// The job; empty if unknown.
    pub job: String,
    /// The step; `None` if unknown.
    pub step: Option<u64>,
    /// Number of ranks.
    pub ranks: u64,
    /// Number of these ranks with a failed request.
    pub failed: u64,
}

impl Fleet {
    /// The cohorts, by job and step.
    #[must_use]
    pub fn cohorts(&self) -> Vec<Cohort> {
        let mut cohorts: Vec<Cohort> = Vec::new();
        for rank in &self.ranks {
            let (job, step) = (&rank.place.job, rank.place.step);
            // Ranks are sorted by job and step.
            let failed = u64::from(rank.has_failed());
            match cohorts.last_mut() {
                Some(last) if last.job == *job && last.step == step => {
                    last.ranks += 1;
                    last.failed += failed;
                }
                _ => cohorts.push(Cohort {
                    job: job.clone(),
                    step,
                    ranks: 1,
                    failed,
                }),
            }
        }
        cohorts
    }

    /// The ranks of a cohort.
    #[must_use]
    pub fn cohort(&self, cohort: &Cohort) -> Self {
        self.only(|rank| (&rank.place.job, rank.place.step) == (&cohort.job, cohort.step))
    }
}

/// The cohort to ask about by default: the one with the most ranks, and of equal ones the last.
#[must_use]
pub fn main_cohort(cohorts: &[Cohort]) -> Option<&Cohort> {
    cohorts.iter().max_by_key(|cohort| cohort.ranks)
}

/// The cohort to ask about failures: the last with a failed request, or else the [main](main_cohort) one.
#[must_use]
pub fn failed_cohort(cohorts: &[Cohort]) -> Option<&Cohort> {
    let failed = cohorts.iter().rfind(|cohort| cohort.failed > 0);
    failed.or_else(|| main_cohort(cohorts))
}
