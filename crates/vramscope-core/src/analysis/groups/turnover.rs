//! Memory at two moments of one recording: kept, freed in between, or newly allocated.
//!
//! Sums by stack do not show this: a call site that freed 1 GiB and allocated another 1 GiB looks unchanged. Within one
//! recording, the allocations at both moments can be matched.

use serde::{Deserialize, Serialize};

use crate::analysis::code::call_sites::CallSiteId;
use crate::analysis::time::history::History;

/// A number of allocations and their requested bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Amount {
    /// Requested bytes; saturates.
    pub bytes: u64,
    /// Number of allocations.
    pub count: u64,
}

impl Amount {
    /// Adds another amount; saturates.
    pub fn add(&mut self, other: Self) {
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.count = self.count.saturating_add(other.count);
    }

    /// Whether both bytes and count are 0.
    #[must_use]
    pub fn is_nothing(self) -> bool {
        self == Self::default()
    }
}

/// The allocations live at a first moment, a second one, or both.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Turnover {
    /// Live at both moments.
    pub kept: Amount,
    /// Live at the first moment only.
    pub freed: Amount,
    /// Live at the second moment only.
    pub new: Amount,
}

impl Turnover {
    /// Adds the amounts of other allocations.
    pub fn join(&mut self, other: Self) {
        self.kept.add(other.kept);
        self.freed.add(other.freed);
        self.new.add(other.new);
    }

    fn add(&mut self, fate: Fate, amount: Amount) {
        match fate {
            Fate::Kept => self.kept.add(amount),
            Fate::Freed => self.freed.add(amount),
            Fate::New => self.new.add(amount),
        }
    }
}

/// The turnover of one call site.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SiteTurnover {
    /// The call site.
    pub site: CallSiteId,
    /// Its allocations.
    pub turnover: Turnover,
}

/// The turnover of a device between two moments.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Turnovers {
    /// The sum over all call sites.
    pub total: Turnover,
    /// By call site number; only sites with live allocations at either moment.
    pub sites: Vec<SiteTurnover>,
}

#[derive(Clone, Copy)]
enum Fate {
    Kept,
    Freed,
    New,
}

fn fate(born: u32, died: u32, from: u32, to: u32) -> Option<Fate> {
    let is_live = |moment| born <= moment && moment < died;
    match (is_live(from), is_live(to)) {
        (true, true) => Some(Fate::Kept),
        (true, false) => Some(Fate::Freed),
        (false, true) => Some(Fate::New),
        (false, false) => None,
    }
}

/// Computes the turnover from moment `from` to moment `to`, which may be earlier: freed and new are then as if time ran
/// backwards. `site_of` is the call site of each allocation, from
/// [`CallSites::of_allocations`](crate::analysis::code::call_sites::CallSites::of_allocations).
#[must_use]
pub fn turnover(history: &History, site_of: &[CallSiteId], from: u32, to: u32) -> Turnovers {
    let table = &history.allocations;
    let mut by_site: Vec<Turnover> = Vec::new();
    let mut total = Turnover::default();
    for (row, (&born, &died)) in table.born.iter().zip(&table.died).enumerate() {
        let Some(fate) = fate(born, died, from, to) else {
            continue;
        };
        let site = site_of.get(row).copied().unwrap_or(CallSiteId::NONE);
        if by_site.len() <= site.index() {
            by_site.resize(site.index() + 1, Turnover::default());
        }
        let amount = Amount {
            bytes: table.bytes[row],
            count: 1,
        };
        by_site[site.index()].add(fate, amount);
        total.add(fate, amount);
    }
    let sites = (0..).zip(by_site);
    let sites = sites
        .filter(|(_, turnover)| *turnover != Turnover::default())
        .map(|(site, turnover)| SiteTurnover {
            site: CallSiteId(site),
            turnover,
        });
    Turnovers {
        total,
        sites: sites.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::time::history::{AllocationTable, NEVER};
    use proptest::prelude::*;

    fn history(lives: &[(u32, u32, u64)]) -> History {
        History {
            event_count: 20,
            allocations: AllocationTable {
                bytes: lives.iter().map(|life| life.2).collect(),
                born: lives.iter().map(|life| life.0).collect(),
                died: lives.iter().map(|life| life.1).collect(),
                ..AllocationTable::default()
            },
            ..History::default()
        }
    }

    #[test]
    fn the_same_bytes_anew_are_not_the_same() {
        let history = history(&[(0, 3, 100), (4, NEVER, 100), (1, NEVER, 7), (3, 4, 1)]);
        let found = turnover(&history, &[CallSiteId(1); 4], 2, 5);
        let of = |bytes| Amount { bytes, count: 1 };
        let expected = Turnover {
            kept: of(7),
            freed: of(100),
            new: of(100),
        };
        assert_eq!(found.total, expected);
        assert_eq!(found.sites.len(), 1);
    }

    proptest! {
        #[test]
        fn kept_and_freed_are_what_was_and_kept_and_new_are_what_is(
            lives in prop::collection::vec((0_u32..20, 0_u32..25, 1_u64..1000), 0..40),
            from in 0_u32..20, to in 0_u32..20
        ) {
            let lives: Vec<_> = lives.into_iter()
                .map(|(born, length, bytes)| (born, if length > 20 { NEVER } else { born + 1 + length }, bytes))
                .collect();
            let history = history(&lives);
            let sites: Vec<_> = (0..lives.len()).map(|row| CallSiteId(row as u32 % 5)).collect();
            let found = turnover(&history, &sites, from, to);
            let live = |moment: u32| -> u64 {
                lives.iter().filter(|life| life.0 <= moment && moment < life.1).map(|life| life.2).sum()
            };
            prop_assert_eq!(found.total.kept.bytes + found.total.freed.bytes, live(from));
            prop_assert_eq!(found.total.kept.bytes + found.total.new.bytes, live(to));
            let mut sum = Turnover::default();
            found.sites.iter().for_each(|site| sum.join(site.turnover));
            prop_assert_eq!(sum, found.total);
            let back = turnover(&history, &sites, to, from);
            prop_assert_eq!((back.total.freed, back.total.new), (found.total.new, found.total.freed));
        }
    }
}
