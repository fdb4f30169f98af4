//! The tables of ranks and of call sites.

use vramscope_core::fleet::questions::SiteSpread;
use vramscope_protocol::views::fleet::{RankLine, Ranks as RankRows, SiteLine, Sites};

/// Most rows of an answer.
const MOST_ROWS: u32 = 2_000;
/// Most snapshots of which is told why they could not be read.
const MOST_UNREADABLE: usize = 20;

/// Most odd ranks that a call site names.
const MOST_ODD: usize = 20;

/// The rows `first ..` of `all`.
fn window<T>(all: &[T], (first, count): (u32, u32)) -> &[T] {
    let first = (first as usize).min(all.len());
    let end = first.saturating_add(count.min(MOST_ROWS) as usize);
    &all[first..end.min(all.len())]
}

impl super::Ranks {
    /// A rank in short.
    pub(super) fn line(&self, id: u32) -> Option<RankLine> {
        let rank = self.rank(id)?;
        let odd = self.odd.get(id as usize)?;
        Some(RankLine {
            id,
            number: rank.place.rank,
            device: self.has_devices.then_some(rank.device),
            host: rank.place.host.clone(),
            job: rank.place.job.clone(),
            step: rank.place.step,
            path: rank.source.path.clone(),
            peak_bytes: rank.peak_bytes,
            reserved_bytes: rank.peak_reserved(),
            end_bytes: rank.end_bytes,
            ooms: rank.ooms,
            damage: rank.damage,
            odd: odd.values.clone(),
            settings: odd.settings.to_vec(),
        })
    }

    /// Rows of the table of ranks.
    pub(super) fn ranks(&self, rows: (u32, u32), locate: Option<u32>) -> Option<RankRows> {
        let order = self.order();
        let located = locate.and_then(|id| {
            let row = order.iter().position(|&shown| shown == id)?;
            Some((row as u32, self.line(id)?))
        });
        let unreadable = self.fleet.unreadable.iter();
        let unreadable = unreadable.map(|file| (file.source.path.clone(), file.why.clone()));
        Some(RankRows {
            all: order.len() as u32,
            unreadable: unreadable.take(MOST_UNREADABLE).collect(),
            all_unreadable: self.fleet.unreadable.len() as u64,
            first: rows.0,
            rows: (window(order, rows).iter())
                .map(|&id| self.line(id))
                .collect::<Option<_>>()?,
            located,
        })
    }

    /// Rows of the table of call sites.
    pub(super) fn sites(&mut self, rows: (u32, u32)) -> Option<Sites> {
        let fleet = &self.fleet;
        let all = self.found.as_mut()?.sites(fleet);
        let number = |id: usize| fleet.ranks.get(id).map_or(0, |rank| rank.place.rank);
        let line = |spread: &SiteSpread| {
            let odd = spread.odd.iter().take(MOST_ODD);
            SiteLine {
                label: fleet.label(spread.site).to_owned(),
                usual: spread.usual,
                most_at: number(spread.highest),
                ranks: spread.ranks,
                odd: odd.map(|&id| number(id)).collect(),
                all_odd: spread.odd.len() as u32,
            }
        };
        Some(Sites {
            all: all.len() as u32,
            first: rows.0,
            rows: window(all, rows).iter().map(line).collect(),
        })
    }
}
