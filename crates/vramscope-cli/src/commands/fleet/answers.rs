//! How high ranks peak, how two of them differ, and which failed.

use vramscope_core::analysis::compare::changes::{SettingChange, SiteChange, relative_change};
use vramscope_core::fleet::Rank;
use vramscope_core::fleet::questions::{self, ooms, ranks};
use vramscope_core::fleet::statistic::Measure;
use vramscope_core::units::{Bytes, Count};

use super::Chosen;
use crate::failure::Failure;
use crate::report::{Cell, Column, Part, column, detail, remark, sum};

/// How high each rank peaks.
pub(super) fn peaks(chosen: &Chosen) -> Part {
    const COLUMNS: [Column; 14] = [
        column("rank", "rank"),
        column("peak_bytes", "peak"),
        column("peak_change_share", "to median"),
        column("peak_at_share", "of the run"),
        column("reserved_max_bytes", "reserved"),
        column("gap_bytes", "gap at peak"),
        column("end_bytes", "at end"),
        sum("ooms", "OOMs"),
        detail("peak_time_us"),
        detail("local_rank"),
        detail("host"),
        detail("rank_from"),
        column("device", "device"),
        column("file", ""),
    ];
    let mut part = chosen.part();
    let Some(found) = questions::peaks(&chosen.fleet) else {
        return part;
    };
    let fleet = &chosen.fleet;
    let median = fleet.ranks[found.median].peak_bytes;
    for (key, spread_key, label, measure) in [
        (
            "median_peak_bytes",
            "peak_spread_bytes",
            "median peak",
            Measure::Peak,
        ),
        (
            "median_reserved_bytes",
            "reserved_spread_bytes",
            "median reserved",
            Measure::Reserved,
        ),
        (
            "median_end_bytes",
            "end_spread_bytes",
            "median at end",
            Measure::AtEnd,
        ),
    ] {
        let Some(usual) = found.usual(measure) else {
            continue;
        };
        let about = format!(
            "from {} to {}; half of the ranks are within {} of it",
            Bytes(usual.lowest),
            Bytes(usual.highest),
            Bytes(usual.spread)
        );
        part.fact_with(key, label, Cell::Bytes(usual.median), about);
        part.fact(spread_key, "", Cell::Bytes(usual.spread));
    }
    for (key, label, row) in [
        ("highest", "highest", Some(&found.highest())),
        ("lowest", "lowest", found.by_peak.last()),
    ] {
        if let Some(&row) = row {
            let of = Bytes(fleet.ranks[row].peak_bytes).to_string();
            part.fact_with(key, label, Cell::Text(chosen.name(row)), of);
        }
    }
    let rows = found.by_peak.iter().map(|&row| {
        let rank = &fleet.ranks[row];
        vec![
            Cell::Number(rank.place.rank.into()),
            Cell::Bytes(rank.peak_bytes),
            Cell::or_none(relative_change(median, rank.peak_bytes), Cell::ShareChange),
            Cell::or_none(rank.peak_share(), Cell::Share),
            Cell::Bytes(rank.peak_reserved_bytes),
            Cell::Bytes(rank.gap_bytes()),
            Cell::Bytes(rank.end_bytes),
            Cell::Number(rank.ooms),
            Cell::or_none(rank.peak_time_us, Cell::TimeUs),
            Cell::or_none(rank.place.local_rank, |rank| Cell::Number(rank.into())),
            text_or_none(&rank.place.host),
            rank_from(rank),
            Cell::Number(rank.device.into()),
            Cell::Text(rank.source.path.clone()),
        ]
    });
    part.table("ranks", "", &COLUMNS, rows.collect());
    part
}

fn rank_from(rank: &Rank) -> Cell {
    let word = serde_json::to_value(rank.place.rank_from).unwrap_or_default();
    Cell::Json(word)
}

pub(super) fn text_or_none(text: &str) -> Cell {
    Cell::or_none((!text.is_empty()).then(|| text.to_owned()), Cell::Text)
}

/// How a rank differs from another.
pub(super) fn diff(
    chosen: &Chosen,
    rank: Option<u32>,
    against: Option<u32>,
) -> Result<Part, Failure> {
    let fleet = &chosen.fleet;
    let find = |number: u32| {
        let row = fleet
            .ranks
            .iter()
            .position(|rank| rank.place.rank == number);
        row.ok_or_else(|| {
            let numbers = fleet.ranks.iter().map(|rank| rank.place.rank);
            let (least, most) = (numbers.clone().min(), numbers.max());
            let known = least
                .zip(most)
                .map(|(least, most)| format!("{least} to {most}"));
            Failure::Input(format!(
                "there is no rank {number}; there are {}",
                known.unwrap_or_else(|| "none".to_owned())
            ))
        })
    };
    let Some(all) = ranks(fleet) else {
        return Err(Failure::Input(
            "there is only one rank to compare".to_owned(),
        ));
    };
    let after = match rank {
        Some(number) => find(number)?,
        None => all.compared.unwrap_or(all.peaks.highest()),
    };
    let before = match against {
        Some(number) => find(number)?,
        None => all.peaks.median,
    };
    let found = questions::diff(fleet, before, after);
    let mut part = chosen.part();
    let [one, other] = [before, after].map(|row| &fleet.ranks[row]);
    let which = match against {
        Some(_) => "",
        None => ", the median",
    };
    part.fact_with(
        "rank",
        "this one",
        Cell::Text(chosen.name(after)),
        format!("{}, {}", Bytes(other.peak_bytes), other.source.path),
    );
    part.fact_with(
        "against",
        "compared with",
        Cell::Text(chosen.name(before)),
        format!("{}, {}{which}", Bytes(one.peak_bytes), one.source.path),
    );
    let change = i128::from(other.peak_bytes) - i128::from(one.peak_bytes);
    let change = change.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
    part.fact("peak_change_bytes", "peak", Cell::BytesChange(change));
    let rows = found.sites.iter().map(change_row).collect();
    part.table(
        "differences",
        "at their peaks, by call site",
        &CHANGES,
        rows,
    );
    setting_table(&mut part, &found.settings);
    Ok(part)
}

/// The columns of [`change_row`].
pub(super) const CHANGES: [Column; 4] = [
    sum("change_bytes", "change"),
    sum("other_bytes", "the other"),
    sum("bytes", "this one"),
    column("call_site", ""),
];

pub(super) fn change_row(site: &SiteChange) -> Vec<Cell> {
    vec![
        Cell::BytesChange(site.change.bytes_delta()),
        Cell::Bytes(site.change.before.bytes),
        Cell::Bytes(site.change.after.bytes),
        Cell::Text(site.label.clone()),
    ]
}

fn setting_table(part: &mut Part, settings: &[SettingChange]) {
    const COLUMNS: [Column; 3] = [
        column("setting", "setting"),
        column("other", "the other"),
        column("value", "this one"),
    ];
    let rows: Vec<Vec<Cell>> = settings.iter().map(setting_row).collect();
    if !rows.is_empty() {
        part.table("settings", "settings that differ", &COLUMNS, rows);
    }
}

pub(super) fn setting_row(setting: &SettingChange) -> Vec<Cell> {
    vec![
        Cell::Text(setting.name.clone()),
        Cell::or_none(setting.before.clone(), Cell::Text),
        Cell::or_none(setting.after.clone(), Cell::Text),
    ]
}

/// Which ranks failed.
pub(super) fn oom(chosen: &Chosen) -> Part {
    const COLUMNS: [Column; 13] = [
        column("rank", "rank"),
        column("time_us", "first failed at"),
        column("after_first_us", "after the first"),
        sum("ooms", "OOMs"),
        column("requested_bytes", "requested"),
        column("device_free_bytes", "free on device"),
        column("active_bytes", "live"),
        column("reserved_bytes", "reserved"),
        remark("why", "why"),
        detail("host"),
        detail("device"),
        column("file", "file"),
        column("call_site", ""),
    ];
    let fleet = &chosen.fleet;
    let found = ooms(fleet);
    let mut part = chosen.part();
    part.fact(
        "failed_ranks",
        "failed",
        Cell::Number(found.ranks.len() as u64),
    );
    part.fact("failures", "requests", Cell::Number(found.failures));
    let first = |row: usize| fleet.ranks[row].failures.first();
    let mut times = found.ranks.iter().filter_map(|&row| first(row)?.time_us);
    let start = times.next();
    if let Some(&row) = found.ranks.first() {
        part.fact("first", "first", Cell::Text(chosen.name(row)));
    }
    if let Some((why, ranks)) = found.causes.first() {
        let of = format!("on {} of {} ranks", Count(*ranks), found.ranks.len());
        part.fact_with("cause", "most often", Cell::Text(why.clone()), of);
    }
    if let Some((site, ranks)) = found.sites.first() {
        let of = format!("on {} of {} ranks", Count(*ranks), found.ranks.len());
        let label = fleet.label(*site).to_owned();
        part.fact_with("call_site", "most often at", Cell::Text(label), of);
    }
    let rows = found.ranks.iter().map(|&row| {
        let rank = &fleet.ranks[row];
        let failure = first(row);
        let bytes = |of: fn(&vramscope_core::fleet::Failure) -> u64| {
            Cell::or_none(failure, |failure| Cell::Bytes(of(failure)))
        };
        let time = failure.and_then(|failure| failure.time_us);
        vec![
            Cell::Number(rank.place.rank.into()),
            Cell::or_none(time, Cell::TimeUs),
            Cell::or_none(time.zip(start), |(time, start)| {
                Cell::SpanUs(time.abs_diff(start))
            }),
            Cell::Number(rank.ooms),
            bytes(|failure| failure.requested_bytes),
            bytes(|failure| failure.device_free_bytes),
            bytes(|failure| failure.active_bytes),
            bytes(|failure| failure.reserved_bytes),
            Cell::or_none(failure, |failure| Cell::Text(failure.why.clone())),
            text_or_none(&rank.place.host),
            Cell::Number(rank.device.into()),
            Cell::Text(rank.source.path.clone()),
            Cell::or_none(failure, |failure| {
                Cell::Text(fleet.label(failure.site).to_owned())
            }),
        ]
    });
    if found.ranks.is_empty() {
        part.notes.push("No request failed on any rank.".to_owned());
    } else {
        part.table("ranks", "", &COLUMNS, rows.collect());
    }
    if found.ranks.len() > 1 {
        part.notes.push(
            "Times are those of each host's clock: between hosts they may differ by more than failures do.".to_owned(),
        );
    }
    part
}
