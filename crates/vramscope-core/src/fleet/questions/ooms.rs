//! The ranks that ran out of memory, earliest first.

use serde::{Deserialize, Serialize};

use crate::fleet::model::{Fleet, SiteId};
use crate::sorting::SortFew;

/// The ranks that ran out of memory.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Ooms {
    /// The ranks, by the time of their first failure; those without a time are last.
    pub ranks: Vec<usize>,
    /// Number of failed requests on all ranks.
    pub failures: u64,
    /// The call sites of the first failures, each with its number of ranks, most ranks first.
    pub sites: Vec<(SiteId, u64)>,
    /// The causes of the first failures, each with its number of ranks, most ranks first.
    pub causes: Vec<(String, u64)>,
}

/// Finds the ranks that ran out of memory.
#[must_use]
pub fn ooms(fleet: &Fleet) -> Ooms {
    let rows = 0..fleet.ranks.len();
    let mut ranks: Vec<usize> = rows.filter(|&row| fleet.ranks[row].has_failed()).collect();
    let first = |rank: usize| fleet.ranks[rank].failures.first();
    ranks.sort_few_by_key(|&rank| {
        let time = first(rank).and_then(|failure| failure.time_us);
        (time.is_none(), time, rank)
    });
    let failures = ranks.iter().map(|&rank| fleet.ranks[rank].ooms);
    let of_first = || ranks.iter().filter_map(|&rank| first(rank));
    Ooms {
        failures: failures.fold(0, u64::saturating_add),
        sites: counted(of_first().map(|failure| failure.site)),
        causes: counted(of_first().map(|failure| failure.why.clone())),
        ranks,
    }
}

/// How often each value occurs, the most frequent first.
fn counted<T: Ord + Clone>(values: impl Iterator<Item = T>) -> Vec<(T, u64)> {
    let mut counts = std::collections::BTreeMap::new();
    for value in values {
        *counts.entry(value).or_insert(0_u64) += 1;
    }
    let mut counts: Vec<(T, u64)> = counts.into_iter().collect();
    counts.sort_few_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts
}
