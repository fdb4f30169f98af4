//! Memory that steps leave behind, over all ranks.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use super::sites::{SiteFigure, SiteSpread, sites};
use crate::fleet::model::Fleet;
use crate::fleet::statistic::{Measure, Usual};
use crate::sorting::SortFew;

/// Memory that steps leave behind.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Leaks {
    /// Number of ranks whose steps are known.
    pub ranks_with_steps: u64,
    /// Number of ranks whose live memory grows from step to step.
    pub growing: u64,
    /// Growth over the ranks for which it is known; `None` if there are none.
    pub growth: Option<Usual>,
    /// The rank that grows fastest; `None` if none grows.
    pub fastest: Option<usize>,
    /// The call sites that leave something behind in most steps of a rank, sorted by what they leave on a typical rank. If
    /// no rank's steps are known, the call sites with memory left at the end.
    pub sites: Vec<LeakedSite>,
}

/// A call site whose memory stays.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LeakedSite {
    /// Memory left by each step; `None` if none.
    pub per_step: Option<SiteSpread>,
    /// Memory live at the end; `None` if none.
    pub end: Option<SiteSpread>,
}

/// Finds the memory that steps leave behind.
#[must_use]
pub fn leaks(fleet: &Fleet) -> Leaks {
    let growth = |rank: usize| Measure::Growth.of(&fleet.ranks[rank]);
    let all = 0..fleet.ranks.len();
    let known: Vec<u64> = all.clone().filter_map(growth).collect();
    let fastest = all.filter(|&rank| growth(rank) > Some(0));
    let fastest = fastest.max_by_key(|&rank| (growth(rank), Reverse(rank)));
    // With fewer steps than growth needs, it is unknown what each leaves.
    let with_steps = known.iter();
    let per_step = sites(fleet, SiteFigure::LeftPerStep);
    let mut at_end: Vec<Option<SiteSpread>> = vec![None; fleet.labels.len()];
    for spread in sites(fleet, SiteFigure::End) {
        let site = spread.site as usize;
        at_end[site] = Some(spread);
    }
    let ranks_with_steps = with_steps.count() as u64;
    let mut sites: Vec<LeakedSite> = match ranks_with_steps {
        0 => at_end
            .into_iter()
            .flatten()
            .map(|end| LeakedSite {
                per_step: None,
                end: Some(end),
            })
            .collect(),
        _ => per_step
            .into_iter()
            .map(|spread| LeakedSite {
                end: at_end[spread.site as usize].take(),
                per_step: Some(spread),
            })
            .collect(),
    };
    sites.sort_few_by_key(|site| Reverse(site.key()));
    Leaks {
        ranks_with_steps,
        growing: known.iter().filter(|&&bytes| bytes > 0).count() as u64,
        growth: Usual::of(&known),
        fastest,
        sites,
    }
}

impl LeakedSite {
    /// The value to sort by.
    #[must_use]
    pub fn main(&self) -> Option<&SiteSpread> {
        self.per_step.as_ref().or(self.end.as_ref())
    }

    fn key(&self) -> (u64, u64, Reverse<u32>) {
        self.main().map_or((0, 0, Reverse(0)), |spread| {
            let usual = &spread.usual;
            (usual.median, usual.highest, Reverse(spread.site))
        })
    }
}
