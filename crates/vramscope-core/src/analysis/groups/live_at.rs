//! The allocations live at a moment, and their call sites.

use serde::{Deserialize, Serialize};

use crate::analysis::code::call_sites::CallSiteId;
use crate::analysis::time::history::History;
use crate::ids::AllocationId;

/// The allocations live at a moment, in stacking order. Includes those whose free is pending.
pub fn live_at(history: &History, moment: u32) -> impl Iterator<Item = AllocationId> + '_ {
    let table = &history.allocations;
    let lives = table.born.iter().zip(&table.died).enumerate();
    lives
        .filter(move |&(_, (&born, &died))| born <= moment && moment < died)
        .map(|(row, _)| AllocationId::from_index(row))
}

/// Sums over the allocations of one call site.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SiteTotal {
    /// The call site.
    pub site: CallSiteId,
    /// Requested bytes.
    pub bytes: u64,
    /// Number of allocations.
    pub count: u64,
}

/// The call sites with the most bytes.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct TopSites {
    /// Sorted by bytes, descending. Equal sites are sorted by number.
    pub sites: Vec<SiteTotal>,
    /// Requested bytes of all sites, including those not listed.
    pub bytes: u64,
    /// Number of allocations of all sites, including those not listed.
    pub count: u64,
    /// Requested bytes of the sites not listed.
    pub other_bytes: u64,
    /// Number of allocations of the sites not listed.
    pub other_count: u64,
    /// Number of sites not listed.
    pub other_sites: u64,
}

/// Sums `allocations` by call site and lists the `limit` largest. `site_of` is the call site of each
/// allocation, from
/// [`CallSites::of_allocations`](crate::analysis::code::call_sites::CallSites::of_allocations).
#[must_use]
pub fn top_call_sites(
    history: &History,
    site_of: &[CallSiteId],
    allocations: impl IntoIterator<Item = AllocationId>,
    limit: usize,
) -> TopSites {
    let mut totals: Vec<SiteTotal> = Vec::new();
    let mut top = TopSites::default();
    for id in allocations {
        let bytes = history.allocations.bytes[id.index()];
        let site = site_of.get(id.index()).copied().unwrap_or(CallSiteId::NONE);
        while totals.len() <= site.index() {
            totals.push(SiteTotal {
                site: CallSiteId(totals.len() as u32),
                bytes: 0,
                count: 0,
            });
        }
        let total = &mut totals[site.index()];
        total.bytes = total.bytes.saturating_add(bytes);
        total.count += 1;
        top.bytes = top.bytes.saturating_add(bytes);
        top.count += 1;
    }
    totals.retain(|total| total.count > 0);
    totals.sort_by_key(|total| (std::cmp::Reverse(total.bytes), total.site));
    for other in totals.split_off(limit.min(totals.len())) {
        top.other_bytes = top.other_bytes.saturating_add(other.bytes);
        top.other_count += other.count;
        top.other_sites += 1;
    }
    top.sites = totals;
    top
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::time::history::{AllocationTable, NEVER};

    fn history() -> History {
        History {
            allocations: AllocationTable {
                address: vec![0x1000, 0x2000, 0x3000],
                bytes: vec![100, 200, 50],
                born: vec![0, 1, 2],
                free_requested: vec![NEVER, 3, NEVER],
                died: vec![NEVER, 4, NEVER],
                version: vec![0; 3],
            },
            event_count: 4,
            ..History::default()
        }
    }

    #[test]
    fn live_from_birth_until_before_death() {
        let at = |moment| {
            live_at(&history(), moment)
                .map(|id| id.0)
                .collect::<Vec<_>>()
        };
        assert_eq!(at(0), [0]);
        assert_eq!(at(1), [0, 1]);
        assert_eq!(at(3), [0, 1, 2], "pending free is still active");
        assert_eq!(at(4), [0, 2]);
    }

    #[test]
    fn totals_by_site_with_remainder() {
        let history = history();
        let sites = [CallSiteId(5), CallSiteId(2), CallSiteId(5)];
        let top = top_call_sites(&history, &sites, live_at(&history, 3), 1);
        assert_eq!(
            top.sites,
            [SiteTotal {
                site: CallSiteId(2),
                bytes: 200,
                count: 1
            }]
        );
        assert_eq!((top.bytes, top.count), (350, 3));
        assert_eq!(
            (top.other_bytes, top.other_count, top.other_sites),
            (150, 2, 1)
        );
    }
}
