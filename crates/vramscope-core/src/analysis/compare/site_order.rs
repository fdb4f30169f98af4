//! The order of the compared call sites in a table.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use crate::analysis::compare::changes::SiteChange;
use crate::analysis::groups::turnover::Turnover;
use crate::sorting::SortFew;

/// The order of a table of call sites. Equal rows keep the order of [`SiteColumn::Difference`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct SiteOrder {
    /// The column that rows are sorted by.
    pub by: SiteColumn,
    /// Whether the order is reversed: least first, names from Z to A.
    pub reversed: bool,
}

/// A column that call sites can be sorted by.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SiteColumn {
    /// The largest difference of bytes first, whether grown or shrunk.
    #[default]
    Difference,
    /// The change of bytes: largest growth first, largest shrinkage last.
    Growth,
    /// The change of the number of allocations, likewise.
    CountGrowth,
    /// The most bytes on the first side first.
    Before,
    /// The most bytes on the second side first.
    After,
    /// The most new bytes that are not freed first.
    New,
    /// The call sites' names, from A to Z.
    Name,
}

/// The rows of `sites` in this order. `sites` must be as [`compare`](super::changes::compare) returns them.
///
/// With `changed_only`, sites without any change are left out. `turnover` has the allocations that were replaced by
/// others of the same size; `None` if they are not known.
#[must_use]
pub fn ordered(
    sites: &[SiteChange],
    order: SiteOrder,
    changed_only: bool,
    turnover: impl Fn(&SiteChange) -> Option<Turnover>,
) -> Vec<u32> {
    let is_unchanged = |site: &SiteChange| {
        site.change.is_none()
            && turnover(site).is_none_or(|of| of.new.is_nothing() && of.freed.is_nothing())
    };
    let is_listed = |&(_, site): &(u32, &SiteChange)| !(changed_only && is_unchanged(site));
    let rows = (0..).zip(sites).filter(is_listed);
    let mut rows: Vec<u32> = rows.map(|(row, _)| row).collect();
    let site = |row: &u32| &sites[*row as usize];
    match order.by {
        // Already sorted this way.
        SiteColumn::Difference => {}
        SiteColumn::Growth => rows.sort_few_by_key(|row| Reverse(site(row).change.bytes_delta())),
        SiteColumn::CountGrowth => {
            rows.sort_few_by_key(|row| Reverse(site(row).change.count_delta()))
        }
        SiteColumn::Before => rows.sort_few_by_key(|row| Reverse(site(row).change.before.bytes)),
        SiteColumn::After => rows.sort_few_by_key(|row| Reverse(site(row).change.after.bytes)),
        SiteColumn::New => rows.sort_by_cached_key(|row| {
            let of = turnover(site(row)).unwrap_or_default();
            Reverse((of.new.bytes, of.freed.bytes))
        }),
        SiteColumn::Name => rows.sort_few_by(|a, b| site(a).label.cmp(&site(b).label)),
    }
    if order.reversed {
        rows.reverse();
    }
    rows
}
