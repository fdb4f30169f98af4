//! Call sites over all ranks.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use crate::fleet::model::{Fleet, Site, SiteId};
use crate::fleet::statistic::{NOTABLE_BYTES, NOTABLE_SHARE, Usual};
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
    /// Bytes that each step leaves behind.
    LeftPerStep,
}

impl SiteFigure {
    fn of(self, site: &Site) -> u64 {
        match self {
            Self::Peak => site.peak.bytes,
            Self::End => site.end_bytes,
            Self::LeftPerStep => site.left_per_step_bytes,
        }
    }
}

/// A call site over all ranks. A rank that does not list it holds nothing there.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SiteSpread {
    /// The call site.
    pub site: SiteId,
    /// On how many ranks there is any.
    pub ranks: u64,
    /// What is usual.
    pub usual: Usual,
    /// The rank with the most.
    pub highest: usize,
    /// The rank with the least.
    pub lowest: usize,
    /// The odd ranks.
    pub odd: Vec<usize>,
}

/// All call sites of which any rank has something, by the highest value of a rank.
///
/// A rank is odd as elsewhere, and if the difference is at least [`NOTABLE_BYTES`].
#[must_use]
pub fn sites(fleet: &Fleet, figure: SiteFigure) -> Vec<SiteSpread> {
    let mut by_site: Vec<Vec<(usize, u64)>> = vec![Vec::new(); fleet.labels.len()];
    for (rank, of) in fleet.ranks.iter().enumerate() {
        for site in &of.sites {
            let bytes = figure.of(site);
            if let Some(values) = by_site.get_mut(site.site as usize)
                && bytes > 0
            {
                values.push((rank, bytes));
            }
        }
    }
    let found = (0..).zip(by_site).filter(|(_, values)| !values.is_empty());
    let mut spreads: Vec<SiteSpread> = found
        .map(|(site, values)| spread(site, &values, fleet.ranks.len()))
        .collect();
    spreads.sort_few_by_key(|spread| (Reverse(spread.usual.highest), spread.site));
    spreads
}

fn spread(site: SiteId, values: &[(usize, u64)], ranks: usize) -> SiteSpread {
    let mut all = vec![0; ranks];
    for &(rank, bytes) in values {
        all[rank] = u64::saturating_add(all[rank], bytes);
    }
    let usual = Usual::of(&all).unwrap_or_default();
    let notable = (NOTABLE_SHARE * usual.median as f64).max(NOTABLE_BYTES as f64);
    let with = |bytes: u64| all.iter().position(|&of| of == bytes).unwrap_or(0);
    SiteSpread {
        site,
        ranks: all.iter().filter(|&&bytes| bytes > 0).count() as u64,
        highest: with(usual.highest),
        lowest: with(usual.lowest),
        odd: (0..ranks)
            .filter(|&rank| usual.is_odd(all[rank], notable))
            .collect(),
        usual,
    }
}
