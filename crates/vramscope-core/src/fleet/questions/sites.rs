//! Compares call sites across ranks.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use crate::fleet::model::{Fleet, Rank, Site, SiteId};
use crate::fleet::statistic::{Measure, NOTABLE_BYTES, NOTABLE_SHARE, Usual};
use crate::sorting::SortFew;

/// A figure of a call site.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SiteFigure {
    /// Bytes live at the peak.
    #[default]
    Peak,
    /// Bytes live at the end.
    End,
    /// Bytes left behind by each step.
    LeftPerStep,
}

impl SiteFigure {
    /// Whether it is known for a rank: with too few steps, it is unknown what each leaves.
    fn is_known(self, rank: &Rank) -> bool {
        self != Self::LeftPerStep || Measure::Growth.of(rank).is_some()
    }

    fn of(self, site: &Site) -> u64 {
        match self {
            Self::Peak => site.peak.bytes,
            Self::End => site.end_bytes,
            Self::LeftPerStep => site.left_per_step_bytes,
        }
    }
}

/// A call site across all ranks for which the figure is known. Ranks that do not list it count as 0.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SiteSpread {
    /// The call site.
    pub site: SiteId,
    /// Number of ranks with any bytes.
    pub ranks: u64,
    /// The typical value.
    pub usual: Usual,
    /// The rank with the most.
    pub highest: usize,
    /// The rank with the least.
    pub lowest: usize,
    /// The odd ranks.
    pub odd: Vec<usize>,
}

/// All call sites with bytes on any rank, sorted by their highest value.
///
/// A rank is odd by the usual rules, if the difference is at least [`NOTABLE_BYTES`].
#[must_use]
pub fn sites(fleet: &Fleet, figure: SiteFigure) -> Vec<SiteSpread> {
    let all: Vec<usize> = (0..fleet.ranks.len()).collect();
    sites_among(fleet, &all, figure)
}

/// [`sites`] among the ranks in `among` (ascending). The time depends on what they list, not on call sites times ranks.
#[must_use]
pub fn sites_among(fleet: &Fleet, among: &[usize], figure: SiteFigure) -> Vec<SiteSpread> {
    let mut by_site: Vec<Vec<(usize, u64)>> = vec![Vec::new(); fleet.labels.len()];
    let known = among.iter().copied();
    let known = known.filter(|&rank| figure.is_known(&fleet.ranks[rank]));
    let among: Vec<usize> = known.collect();
    for &rank in &among {
        for site in &fleet.ranks[rank].sites {
            let bytes = figure.of(site);
            let Some(values) = by_site.get_mut(site.site as usize).filter(|_| bytes > 0) else {
                continue;
            };
            match values.last_mut() {
                Some((last, sum)) if *last == rank => *sum = sum.saturating_add(bytes),
                _ => values.push((rank, bytes)),
            }
        }
    }
    let found = (0..).zip(by_site).filter(|(_, values)| !values.is_empty());
    let mut spreads: Vec<SiteSpread> = found
        .map(|(site, values)| spread(site, &values, &among))
        .collect();
    spreads.sort_few_by_key(|spread| (Reverse(spread.usual.highest), spread.site));
    spreads
}

/// `held`: the ranks with any bytes, and the bytes. Both lists ascend.
fn spread(site: SiteId, held: &[(usize, u64)], among: &[usize]) -> SiteSpread {
    let bytes: Vec<u64> = held.iter().map(|&(_, bytes)| bytes).collect();
    let usual = Usual::with_zeros(bytes, among.len() - held.len()).unwrap_or_default();
    let notable = (NOTABLE_SHARE * usual.median as f64).max(NOTABLE_BYTES as f64);
    let first = |bytes: u64| held.iter().find(|&&(_, of)| of == bytes);
    let first = |bytes: u64| first(bytes).map_or(0, |&(rank, _)| rank);
    let without = || {
        let mut holders = held.iter().map(|&(rank, _)| rank).peekable();
        let others = among.iter().copied();
        others.filter(move |rank| holders.next_if_eq(rank).is_none())
    };
    let lowest = match usual.lowest {
        0 => without().next().unwrap_or(0),
        lowest => first(lowest),
    };
    let mut odd: Vec<usize> = held
        .iter()
        .filter(|&&(_, bytes)| usual.is_odd(bytes, notable))
        .map(|&(rank, _)| rank)
        .collect();
    if usual.is_odd(0, notable) {
        odd.extend(without());
        odd.sort_few_by_key(|&rank| rank);
    }
    SiteSpread {
        site,
        ranks: held.len() as u64,
        highest: first(usual.highest),
        lowest,
        odd,
        usual,
    }
}
