//! Which ranks ran out of memory.

use vramscope_core::fleet::questions::{Ooms, ooms};
use vramscope_core::units::Count;

use super::{Chosen, text_or_none};
use crate::report::{Cell, Column, Part, column, detail, remark, sum};

const COLUMNS: [Column; 13] = [
    column("rank", "rank"),
    column("time_us", "first failed at"),
    column("after_first_us", "after the first"),
    sum("ooms", "OOMs"),
    column("requested_bytes", "requested"),
    column("device_free_bytes", "free on device"),
    column("live_bytes", "live"),
    column("reserved_bytes", "reserved"),
    remark("why", "why"),
    detail("host"),
    detail("device"),
    column("file", "file"),
    column("call_site", ""),
];

/// The ranks that failed, earliest first.
pub(super) fn oom(chosen: &Chosen) -> Part {
    let found = ooms(&chosen.fleet);
    let mut part = chosen.part();
    facts(&mut part, chosen, &found);
    let Some(&first) = found.ranks.first() else {
        part.notes.push("No request failed on any rank.".to_owned());
        return part;
    };
    let first = chosen.fleet.ranks[first].failures.first();
    let start = first.and_then(|failure| failure.time_us);
    let rows = found.ranks.iter().map(|&row| row_of(chosen, row, start));
    part.table("ranks", "", &COLUMNS, rows.collect());
    if found.ranks.len() > 1 {
        part.notes.push(
            "Times are those of each host's clock, and clocks may differ by more than failures do."
                .to_owned(),
        );
    }
    part
}

fn facts(part: &mut Part, chosen: &Chosen, found: &Ooms) {
    let failed = found.ranks.len() as u64;
    part.fact("failed_ranks", "failed", Cell::Number(failed));
    part.fact("failures", "requests", Cell::Number(found.failures));
    if let Some(&row) = found.ranks.first() {
        part.fact("first", "first", Cell::Text(chosen.name(row)));
    }
    let share = |ranks: u64| format!("on {} of {} ranks", Count(ranks), Count(failed));
    if let Some((why, ranks)) = found.causes.first() {
        let why = Cell::Text(why.clone());
        part.fact_with("cause", "most often", why, share(*ranks));
    }
    if let Some((site, ranks)) = found.sites.first() {
        let label = Cell::Text(chosen.fleet.label(*site).to_owned());
        part.fact_with("call_site", "most often at", label, share(*ranks));
    }
}

fn row_of(chosen: &Chosen, row: usize, start: Option<i64>) -> Vec<Cell> {
    let rank = &chosen.fleet.ranks[row];
    let failure = rank.failures.first();
    let time = failure.and_then(|failure| failure.time_us);
    let after = time.zip(start).map(|(time, start)| time.abs_diff(start));
    let bytes = failure.map(|failure| {
        [
            Some(failure.requested_bytes),
            failure.device_free_bytes,
            Some(failure.active_bytes),
            failure.reserved(),
        ]
    });
    let bytes = |place: usize| Cell::or_none(bytes.and_then(|bytes| bytes[place]), Cell::Bytes);
    let label = failure.map(|failure| chosen.fleet.label(failure.site).to_owned());
    vec![
        Cell::Number(rank.place.rank.into()),
        Cell::or_none(time, Cell::TimeUs),
        Cell::or_none(after, Cell::SpanUs),
        Cell::Number(rank.ooms),
        bytes(0),
        bytes(1),
        bytes(2),
        bytes(3),
        Cell::or_none(failure, |failure| Cell::Text(failure.why.clone())),
        text_or_none(&rank.place.host),
        Cell::Number(rank.device.into()),
        Cell::Text(rank.source.path.clone()),
        Cell::or_none(label, Cell::Text),
    ]
}
