//! Rows of the table of call sites.

use std::cmp::Reverse;

use vramscope_core::analysis::compare::changes::SiteChange;
use vramscope_core::analysis::groups::turnover::Turnover;
use vramscope_view::colour::{site_colour, stable_hash};
use vramscope_view::theme::Theme;

use super::Kept;
use crate::protocol::ThemeName;
use crate::protocol::views::compare::{SiteColumn, SiteOrder, SiteRow, SiteRows};

/// Most rows of an answer: more than any window shows.
const MOST_ROWS: u32 = 500;

/// The rows from `first` on.
pub(super) fn rows(
    kept: &mut Kept,
    wanted: (SiteOrder, bool),
    (first, rows): (u32, u32),
    theme: ThemeName,
) -> SiteRows {
    if kept
        .sorted
        .as_ref()
        .is_none_or(|(as_of, _)| *as_of != wanted)
    {
        kept.sorted = Some((wanted, sorted(kept, wanted)));
    }
    let sites = &kept.comparison.sites;
    let order = kept.sorted.as_ref().map_or(&[][..], |(_, rows)| rows);
    let start = (first as usize).min(order.len());
    let end = start
        .saturating_add(rows.min(MOST_ROWS) as usize)
        .min(order.len());
    let theme = Theme::of(theme);
    // They are kept with the largest difference first.
    let largest = sites
        .first()
        .map_or(0, |site| site.change.bytes_delta().unsigned_abs());
    let row = |&place: &u32| {
        let site = &sites[place as usize];
        SiteRow {
            label: site.label.clone(),
            search: kept.filters.get(&site.label).cloned(),
            colour: site_colour(&theme, Some(stable_hash(&site.label))),
            change: site.change,
            turnover: turnover(kept, site),
            bar: if largest == 0 {
                0.0
            } else {
                site.change.bytes_delta() as f64 / largest as f64
            },
        }
    };
    SiteRows {
        comparison: kept.id,
        first: start as u32,
        of: order.len() as u32,
        rows: order[start..end].iter().map(row).collect(),
        largest_difference: largest,
    }
}

fn turnover(kept: &Kept, site: &SiteChange) -> Option<Turnover> {
    let sites = kept.turnovers.as_ref()?;
    Some(sites.get(&site.label).copied().unwrap_or_default())
}

fn sorted(kept: &Kept, (order, changed_only): (SiteOrder, bool)) -> Vec<u32> {
    let sites = &kept.comparison.sites;
    let mut rows: Vec<u32> = (0..)
        .zip(sites)
        .filter(|(_, site)| {
            let is_unchanged = site.change.is_none()
                && turnover(kept, site)
                    .is_none_or(|of| of.new.is_nothing() && of.freed.is_nothing());
            !(changed_only && is_unchanged)
        })
        .map(|(row, _)| row)
        .collect();
    let site = |row: &u32| &sites[*row as usize];
    match order.by {
        // As they are kept.
        SiteColumn::Difference => {}
        SiteColumn::Growth => rows.sort_by_key(|row| Reverse(site(row).change.bytes_delta())),
        SiteColumn::CountGrowth => rows.sort_by_key(|row| Reverse(site(row).change.count_delta())),
        SiteColumn::Before => rows.sort_by_key(|row| Reverse(site(row).change.before.bytes)),
        SiteColumn::After => rows.sort_by_key(|row| Reverse(site(row).change.after.bytes)),
        SiteColumn::New => rows.sort_by_cached_key(|row| {
            let of = turnover(kept, site(row)).unwrap_or_default();
            Reverse((of.new.bytes, of.freed.bytes))
        }),
        SiteColumn::Name => rows.sort_by(|a, b| site(a).label.cmp(&site(b).label)),
    }
    if order.reversed {
        rows.reverse();
    }
    rows
}
