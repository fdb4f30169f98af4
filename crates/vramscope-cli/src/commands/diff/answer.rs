//! The difference of a pair as a part of the answer.

use vramscope_core::analysis::compare::changes::{
    Change, SiteChange, changes, compare_settings, delta, relative_change, tally,
};
use vramscope_core::analysis::compare::headline::headline;
use vramscope_core::analysis::compare::phases::different_phases;
use vramscope_core::analysis::compare::side::Figures;
use vramscope_core::analysis::groups::turnover::Amount;
use vramscope_core::analysis::properties::Property;
use vramscope_core::units::Count;

use super::sides::{Pair, Side};
use crate::output::wrap;
use crate::report::{Cell, Column, Part, column, sum};

/// The part about a pair, and its changes by call site, largest first.
pub(super) fn part(pair: &Pair, by: Property) -> (Part, Vec<SiteChange>) {
    let Pair { before, after, .. } = pair;
    let file = match before.file == after.file {
        true => after.file.clone(),
        false => format!("{} \u{2192} {}", before.file, after.file),
    };
    let mut part = Part::of(&file, after.device);
    let changes = changes(named(before), named(after));
    let sentence = sentence(pair, &changes, by);
    part.prose = wrap::paragraph("  ", &sentence, wrap::PROSE_WIDTH);
    part.prose.push(String::new());
    part.fact("headline", "", Cell::Text(sentence));
    facts(&mut part, pair, &changes);
    change_table(&mut part, &changes);
    figure_table(&mut part, &before.figures, &after.figures);
    setting_table(&mut part, before, after);
    part.notes.clone_from(&pair.notes);
    part.notes.extend(phases(before, after));
    part.damage.clone_from(&before.damage);
    if before.file != after.file {
        part.damage.extend(after.damage.iter().cloned());
    }
    (part, changes)
}

/// The sentence about a pair, and its changes.
#[cfg(unix)]
pub(super) fn in_short(pair: &Pair, by: Property) -> (String, Vec<SiteChange>) {
    let changes = changes(named(&pair.before), named(&pair.after));
    (sentence(pair, &changes, by), changes)
}

/// The sentence that also begins the page's Compare, and whether only one of the sides grows.
fn sentence(pair: &Pair, changes: &[SiteChange], by: Property) -> String {
    let Pair { before, after, .. } = pair;
    let names = match before.file == after.file {
        true => ["the first moment", "the second moment"],
        false => ["the first file", "the second file"],
    };
    let all = |side: &Side| {
        let mut all = Amount::default();
        side.groups.iter().for_each(|(_, amount)| all.add(*amount));
        all
    };
    let total = Change {
        before: all(before),
        after: all(after),
    };
    let whole = headline(names, total, changes, by);
    // A difference that grows with each step says little by its size.
    let (name, growth) = match (&before.growth, &after.growth) {
        (None, Some(growth)) => (names[1], growth),
        (Some(growth), None) => (names[0], growth),
        _ => return whole,
    };
    format!("{whole} Only in {name}: {growth}.")
}

/// A note if the sides are in different phases.
fn phases(before: &Side, after: &Side) -> Option<String> {
    let found = different_phases(
        ["The first side", "the second"],
        [&before.figures, &after.figures],
    )?;
    let [peak, _] = found.same.first()?;
    let try_it = format!("The peaks of one phase: --at {}:peak.", peak.phase.word());
    Some(format!("{} {try_it}", found.sentence))
}

fn named(side: &Side) -> impl Iterator<Item = (&str, Amount)> {
    side.groups
        .iter()
        .map(|(name, amount)| (name.as_str(), *amount))
}

fn facts(part: &mut Part, pair: &Pair, changes: &[SiteChange]) {
    let [before, after] = [&pair.before, &pair.after].map(|side| side.figures.active_bytes);
    part.fact_with(
        "before_bytes",
        "before",
        Cell::Bytes(before),
        place(&pair.before, &pair.after),
    );
    part.fact_with(
        "after_bytes",
        "after",
        Cell::Bytes(after),
        place(&pair.after, &pair.before),
    );
    part.fact(
        "change_bytes",
        "change",
        Cell::BytesChange(delta(before, after)),
    );
    part.fact("change_share", "", share(before, after));
    let tally = tally(changes);
    for (key, number, remark) in [
        ("new", tally.new, "live only after"),
        ("gone", tally.gone, "live only before"),
        ("changed", tally.changed, ""),
        ("unchanged", tally.unchanged, ""),
    ] {
        part.fact_with(key, key, Cell::Number(number), remark);
    }
}

/// `peak, after event 1,234 of a.pickle`; without the file name if both sides are of one file.
fn place(side: &Side, other: &Side) -> String {
    let mut text = match side.figures.moment {
        0 => "before the first event".to_owned(),
        moment => format!("after event {}", Count(moment.into())),
    };
    // A moment given as an event number needs no other name.
    if side.moment.parse::<u32>().is_err() {
        text = format!("{}, {text}", side.moment);
    }
    if side.file != other.file {
        text = format!("{text} of {}", side.file);
    }
    text
}

fn share(before: u64, after: u64) -> Cell {
    let share = relative_change(before, after);
    Cell::or_none(share, Cell::ShareChange)
}

fn change_table(part: &mut Part, changes: &[SiteChange]) {
    const COLUMNS: [Column; 6] = [
        sum("change_bytes", "change"),
        column("change_share", ""),
        sum("before_bytes", "before"),
        sum("after_bytes", "after"),
        sum("change_allocations", "allocations"),
        column("group", ""),
    ];
    let changed = changes.iter().filter(|site| !site.change.is_none());
    let rows = changed.map(|site| {
        let Change { before, after } = site.change;
        vec![
            Cell::BytesChange(site.change.bytes_delta()),
            share(before.bytes, after.bytes),
            Cell::Bytes(before.bytes),
            Cell::Bytes(after.bytes),
            Cell::NumberChange(site.change.count_delta()),
            Cell::Text(site.label.clone()),
        ]
    });
    part.table("changes", "", &COLUMNS, rows.collect());
}

fn figure_table(part: &mut Part, before: &Figures, after: &Figures) {
    const COLUMNS: [Column; 4] = [
        column("change", "change"),
        column("before", "before"),
        column("after", "after"),
        column("figure", ""),
    ];
    let row = |change: Cell, [before, after]: [Cell; 2], figure: &str| {
        vec![change, before, after, Cell::Text(figure.to_owned())]
    };
    let bytes = |figure: &str, of: fn(&Figures) -> u64| {
        let (before, after) = (of(before), of(after));
        let change = Cell::BytesChange(delta(before, after));
        let cells = [Cell::Bytes(before), Cell::Bytes(after)];
        (before != after).then(|| row(change, cells, figure))
    };
    let known = |figure: &str, of: fn(&Figures) -> Option<u64>| {
        let (before, after) = (of(before), of(after));
        let change = before.zip(after);
        let change = Cell::or_none(change, |(before, after)| {
            Cell::BytesChange(delta(before, after))
        });
        let cells = [before, after].map(|bytes| Cell::or_none(bytes, Cell::Bytes));
        (before != after).then(|| row(change, cells, figure))
    };
    let number = |figure: &str, of: fn(&Figures) -> Option<u64>| {
        let (before, after) = (of(before), of(after));
        let change = before.zip(after);
        let change = Cell::or_none(change, |(before, after)| {
            Cell::NumberChange(delta(before, after))
        });
        let cells = [before, after].map(|count| Cell::or_none(count, Cell::Number));
        (before != after).then(|| row(change, cells, figure))
    };
    let durations = [before.duration_us, after.duration_us];
    let duration = (durations[0] != durations[1]).then(|| {
        let cells = durations.map(|us| Cell::or_none(us, Cell::SpanUs));
        row(Cell::None, cells, "duration")
    });
    let rows = [
        number("event compared", |side| Some(side.moment.into())),
        known("reserved then", |side| side.reserved_bytes),
        bytes("peak", |side| side.peak_active_bytes),
        known("highest reserved", |side| side.peak_reserved_bytes),
        number("failed requests", |side| side.ooms),
        number("events", |side| Some(side.events)),
        number("allocations", |side| Some(side.allocations)),
        number("segments made or mapped", |side| Some(side.segment_allocs)),
        number("segments freed or unmapped", |side| {
            Some(side.segment_frees)
        }),
        duration,
    ];
    let rows = rows.into_iter().flatten().collect();
    part.table("figures", "figures that differ", &COLUMNS, rows);
}

fn setting_table(part: &mut Part, before: &Side, after: &Side) {
    const COLUMNS: [Column; 3] = [
        column("setting", ""),
        column("before", "before"),
        column("after", "after"),
    ];
    let settings = compare_settings(&before.settings, &after.settings);
    let value = |value: Option<String>| Cell::or_none(value, Cell::Text);
    let rows = settings.into_iter().map(|setting| {
        vec![
            Cell::Text(setting.name),
            value(setting.before),
            value(setting.after),
        ]
    });
    part.table("settings", "settings that differ", &COLUMNS, rows.collect());
}
