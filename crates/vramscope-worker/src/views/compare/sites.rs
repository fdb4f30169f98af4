//! Rows of the table of call sites.

use vramscope_core::analysis::code::call_sites::NO_STACK;
use vramscope_core::analysis::compare::changes::SiteChange;
use vramscope_core::analysis::compare::site_order::ordered;
use vramscope_core::analysis::groups::turnover::Turnover;
use vramscope_protocol::ThemeName;
use vramscope_protocol::views::compare::{SiteOrder, SiteRow, SiteRows};
use vramscope_view::colour::{Leaders, stable_hash};
use vramscope_view::theme::Theme;

use super::Kept;

/// The most rows of one answer: more than any window shows.
const MOST_ROWS: u32 = 500;

/// The rows from `first` on.
pub(super) fn rows(
    kept: &mut Kept,
    wanted: (SiteOrder, bool),
    (first, rows): (u32, u32),
    (theme, leaders): (ThemeName, &Leaders),
) -> SiteRows {
    if kept
        .sorted
        .as_ref()
        .is_none_or(|(as_of, _)| *as_of != wanted)
    {
        let (order, changed_only) = wanted;
        let sites = &kept.comparison.sites;
        let rows = ordered(sites, order, changed_only, |site| turnover(kept, site));
        kept.sorted = Some((wanted, rows));
    }
    let sites = &kept.comparison.sites;
    let order = kept.sorted.as_ref().map_or(&[][..], |(_, rows)| rows);
    let start = (first as usize).min(order.len());
    let end = start
        .saturating_add(rows.min(MOST_ROWS) as usize)
        .min(order.len());
    let theme = Theme::of(theme);
    // The comparison sorts its sites by difference, the largest first.
    let largest = sites
        .first()
        .map_or(0, |site| site.change.bytes_delta().unsigned_abs());
    let row = |&place: &u32| {
        let site = &sites[place as usize];
        SiteRow {
            label: site.label.clone(),
            operators: site.operators.clone(),
            search: kept.filters.get(&site.label).cloned(),
            colour: leaders.colour(
                &theme,
                (site.label != NO_STACK).then(|| stable_hash(&site.label)),
            ),
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
        first: start as u32,
        of: order.len() as u32,
        rows: order[start..end].iter().map(row).collect(),
    }
}

fn turnover(kept: &Kept, site: &SiteChange) -> Option<Turnover> {
    let sites = kept.turnovers.as_ref()?;
    Some(sites.get(&site.label).copied().unwrap_or_default())
}
