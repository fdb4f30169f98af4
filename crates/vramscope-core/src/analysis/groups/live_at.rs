//! The allocations live at a moment, and their call sites.

use std::cmp::Reverse;
use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::operator_sums::OperatorSums;
use super::turnover::Amount;
use crate::analysis::code::call_sites::{CallSiteId, CallSites};
use crate::analysis::code::operators::{OperatorId, Operators};
use crate::analysis::recording::Device;
use crate::analysis::time::history::History;
use crate::ids::AllocationId;
use crate::sorting::SortFew;

/// The allocations live at a moment, in stacking order. Includes allocations whose free is pending.
pub fn live_at(history: &History, moment: u32) -> impl Iterator<Item = AllocationId> + '_ {
    let table = &history.allocations;
    let lives = table.born.iter().zip(&table.died).enumerate();
    lives
        .filter(move |&(_, (&born, &died))| born <= moment && moment < died)
        .map(|(row, _)| AllocationId::from_index(row))
}

/// The counted allocations of one call site.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SiteTotal {
    /// The call site.
    pub site: CallSiteId,
    /// The site's [label](crate::analysis::code::call_sites::CallSite::label).
    pub label: String,
    /// The operators that made the allocations, by bytes descending: `mul`, or `mul, exp and 3 others`. Empty if none
    /// is known.
    pub operators: String,
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

impl TopSites {
    /// Sums allocations, given as call site, operator and bytes, by call site, and lists the `limit` largest.
    #[must_use]
    pub fn of(
        sites: &CallSites,
        operators: &Operators,
        allocations: impl IntoIterator<Item = (CallSiteId, OperatorId, u64)>,
        limit: usize,
    ) -> Self {
        let mut all = Amount::default();
        let mut by_site: HashMap<CallSiteId, Amount> = HashMap::new();
        let mut sums = OperatorSums::default();
        for (site, operator, bytes) in allocations {
            let one = Amount { bytes, count: 1 };
            all.add(one);
            by_site.entry(site).or_default().add(one);
            sums.add(site.0, operator, bytes);
        }
        let mut ranked: Vec<_> = by_site.into_iter().collect();
        ranked.sort_few_by_key(|&(site, sum)| (Reverse(sum.bytes), site));
        let others = ranked.split_off(limit.min(ranked.len()));
        let mut other = Amount::default();
        others.iter().for_each(|&(_, sum)| other.add(sum));
        let mut operators = sums.named(operators);
        let listed = ranked.into_iter().map(|(site, sum)| SiteTotal {
            site,
            label: sites.get(site).label.clone(),
            operators: operators.remove(&site.0).unwrap_or_default(),
            bytes: sum.bytes,
            count: sum.count,
        });
        Self {
            sites: listed.collect(),
            bytes: all.bytes,
            count: all.count,
            other_bytes: other.bytes,
            other_count: other.count,
            other_sites: others.len() as u64,
        }
    }
}

/// The `limit` call sites with the most bytes among some of a device's allocations.
#[must_use]
pub fn top_call_sites(
    device: Device<'_>,
    allocations: impl IntoIterator<Item = AllocationId>,
    limit: usize,
) -> TopSites {
    let bytes = &device.history.allocations.bytes;
    let allocations = allocations.into_iter().map(|id| {
        let row = id.index();
        (device.site_of()[row], device.operator(id), bytes[row])
    });
    TopSites::of(device.call_sites(), device.operators(), allocations, limit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::recording::Recording;

    /// One line that calls `exp` twice and `mul`, another without an operator, and `exp` once more after a free.
    fn recording() -> Recording {
        let event = |action: &str, address: u64, bytes: u64, line: u32, operator: &str| {
            let operator = format!(r#"{{"name": "{operator}", "filename": "??", "line": 0}}"#);
            let frame =
                format!(r#"{{"name": "step", "filename": "/me/run/train.py", "line": {line}}}"#);
            format!(
                r#"{{"action": "{action}", "addr": {address}, "size": {bytes}, "stream": 0, "frames": [{operator}, {frame}]}}"#
            )
        };
        let (mul, exp) = (
            "at::_ops::mul_Tensor::call(int)",
            "at::_ops::exp::call(int)",
        );
        let events = [
            event("alloc", 1 << 12, 100, 5, exp),
            event("alloc", 2 << 12, 90, 5, mul),
            event("alloc", 3 << 12, 200, 2, "??"),
            event("free_requested", 1 << 12, 100, 5, exp),
            event("free_completed", 1 << 12, 100, 5, exp),
            event("alloc", 4 << 12, 50, 5, exp),
        ];
        let file = format!(
            r#"{{"segments": [], "device_traces": [[{}]]}}"#,
            events.join(",")
        );
        Recording::of(crate::decode(file.as_bytes()).unwrap())
    }

    fn top_at(moment: u32, limit: usize) -> TopSites {
        let recording = recording();
        let device = recording.device(0).unwrap();
        top_call_sites(device, live_at(device.history, moment), limit)
    }

    #[test]
    fn live_from_birth_until_before_death() {
        let recording = recording();
        let history = recording.device(0).unwrap().history;
        let at = |moment| live_at(history, moment).map(|id| id.0).collect::<Vec<_>>();
        assert!(at(0).is_empty());
        assert_eq!(at(1), [0]);
        assert_eq!(at(4), [0, 1, 2], "pending free is still active");
        assert_eq!(at(5), [1, 2]);
    }

    #[test]
    fn totals_by_site_with_remainder() {
        let top = top_at(3, 1);
        let [site] = &top.sites[..] else {
            panic!("{top:?}")
        };
        assert_eq!(site.label, "run/train.py:2 step");
        assert_eq!((site.bytes, site.count), (200, 1));
        assert_eq!((top.bytes, top.count), (390, 3));
        assert_eq!(
            (top.other_bytes, top.other_count, top.other_sites),
            (190, 2, 1)
        );
    }

    #[test]
    fn operators_are_those_of_what_is_counted() {
        let of = |moment| {
            let sites = top_at(moment, 9).sites;
            let step = sites.iter().find(|site| site.label.contains(":5 "));
            step.map(|site| (site.operators.clone(), site.count))
        };
        let told = |operators: &str, count| Some((operators.to_owned(), count));
        assert_eq!(of(1), told("exp", 1));
        assert_eq!(of(2), told("exp and mul", 2));
        assert_eq!(of(5), told("mul", 1));
        assert_eq!(of(6), told("mul and exp", 2));
        assert_eq!(of(0), None);
    }
}
