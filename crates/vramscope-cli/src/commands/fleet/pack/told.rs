//! The answer of `fleet pack`.

use std::time::Duration;

use vramscope_core::analysis::report::findings::counted;
use vramscope_core::fleet::Fleet;
use vramscope_core::units::Count;

use super::dataset::Dataset;
use super::share::Share;
use super::{Done, Work};
use crate::failure::Failure;
use crate::harmless::quoted;
use crate::report::{Cell, Part, column};

/// The answer of the command. `by`: the variable that set the share.
pub(super) fn part(
    work: &Work<'_>,
    done: &Done,
    fleet: &Fleet,
    (by, time): (Option<&str>, Duration),
) -> Part {
    let mut part = empty(work.dataset);
    share(&mut part, work, by);
    facts(&mut part, done, fleet, time);
    problems(&mut part, fleet);
    if done.others > 0 {
        part.notes.push(format!(
            "{} of the dataset {} not among the sources, and {}; --prune removes {}.",
            counted(done.others as u64, "snapshot"),
            if done.others == 1 { "is" } else { "are" },
            if done.others == 1 { "stays" } else { "stay" },
            if done.others == 1 { "it" } else { "them" },
        ));
    }
    part.notes.extend(stuck(done.stuck));
    match done.missing {
        0 => next(&mut part, work.dataset, fleet),
        missing => part.notes.push(unfinished(missing, work.dataset)),
    }
    part
}

/// The answer if only the overview was made.
pub(super) fn finished(dataset: &Dataset, fleet: &Fleet) -> Part {
    let mut part = empty(dataset);
    in_dataset(&mut part, fleet);
    problems(&mut part, fleet);
    next(&mut part, dataset, fleet);
    part
}

fn empty(dataset: &Dataset) -> Part {
    Part {
        file: dataset.shown().to_owned(),
        ..Part::default()
    }
}

/// Which share it was, unless all were packed.
fn share(part: &mut Part, work: &Work<'_>, by: Option<&str>) {
    if work.share != Share::ALL {
        let remark = by.map_or_else(String::new, |by| {
            format!("from {by}; --share 1/1 packs all")
        });
        part.fact_with("share", "share", Cell::Text(work.share.name()), remark);
    }
}

/// Says that the dataset has no overview yet, and why.
fn unfinished(missing: usize, dataset: &Dataset) -> String {
    let (snapshots, is) = match missing {
        1 => ("1 snapshot".to_owned(), "is"),
        more => (counted(more as u64, "snapshot"), "are"),
    };
    format!(
        "Not finished: {snapshots} {is} not packed yet. The process that ends last makes the overview. If one \
         is gone, pack its share again; or `vramscope fleet pack --finish -o {}` makes the overview of what is packed.",
        quoted(dataset.shown())
    )
}

/// Other files in the folder, and what to ask next.
fn next(part: &mut Part, dataset: &Dataset, fleet: &Fleet) {
    const NAMED: usize = 5;
    let others = dataset.others();
    if !others.is_empty() {
        let more = if others.len() > NAMED { ", …" } else { "" };
        let named: Vec<_> = others.iter().take(NAMED).map(|it| quoted(it)).collect();
        part.notes.push(format!(
            "Left in the dataset's folder, as it is not part of the dataset: {}{more}.",
            named.join(", ")
        ));
    }
    let name = quoted(dataset.shown());
    if !fleet.ranks.is_empty() {
        part.notes.push(format!(
            "Next: `vramscope fleet odd {name}`, `vramscope fleet peaks {name}`, `vramscope view {name}`, \
             `vramscope sql --tables`."
        ));
    }
}

/// The snapshots whose ranks differ from those they would have if all were packed at once.
fn stuck(count: usize) -> Option<String> {
    let (has, it) = match count {
        0 => return None,
        1 => ("keeps", "it is"),
        _ => ("keep", "they are"),
    };
    Some(format!(
        "{} of the dataset {has} an earlier job or rank, as {it} gone, or not below the folder in \
         which the dataset lies, and cannot be packed again beside these.",
        counted(count as u64, "snapshot"),
    ))
}

/// The failure of the command; the answer says why, for each snapshot.
pub(super) fn failure(done: &Done) -> Option<Failure> {
    let count = done.failures.len() as u64;
    (count > 0).then(|| {
        let unread = format!("{} could not be read", counted(count, "snapshot"));
        let advice = "The answer says why. `vramscope info FILE` says what to do.";
        Failure::Input(unread).followed_by([advice])
    })
}

fn facts(part: &mut Part, done: &Done, fleet: &Fleet, time: Duration) {
    let sum = |of: fn(&super::Packed) -> u64| done.packed.iter().map(of).sum::<u64>();
    let number = |number: usize| Cell::Number(number as u64);
    let seconds = time.as_secs_f64();
    let unpacked = sum(|packed| packed.unpacked_bytes);
    part.fact("packed", "packed", number(done.packed.len()));
    part.fact("skipped", "unchanged", number(done.unchanged));
    if done.missing > 0 {
        part.fact("missing", "not packed yet", number(done.missing));
    }
    if done.pruned > 0 {
        part.fact("pruned", "removed", number(done.pruned));
    }
    in_dataset(part, fleet);
    let events = sum(|packed| packed.events);
    // Text leaves out rows without a label, such as this one if nothing was packed.
    let label = |text| if done.packed.is_empty() { "" } else { text };
    part.fact("events", label("events packed"), Cell::Number(events));
    part.fact(
        "source_bytes",
        label("read"),
        Cell::Bytes(sum(|packed| packed.source_bytes)),
    );
    part.fact("unpacked_bytes", "", Cell::Bytes(unpacked));
    let bytes = sum(|packed| packed.bytes);
    let remark = match events {
        0 => String::new(),
        _ => format!("{:.1} per event", bytes as f64 / events as f64),
    };
    part.fact_with("bytes", label("written"), Cell::Bytes(bytes), remark);
    let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    let remark = match unpacked {
        0 => String::new(),
        _ => format!("{:.0} MB/s of snapshots", unpacked as f64 / 1e6 / seconds),
    };
    part.fact_with("duration_us", "time", Cell::SpanUs(micros), remark);
}

fn in_dataset(part: &mut Part, fleet: &Fleet) {
    let number = |number: usize| Cell::Number(number as u64);
    let damaged = fleet.ranks.iter().filter(|rank| rank.damage > 0).count();
    part.fact("damaged", "damaged", number(damaged));
    part.fact("unreadable", "unreadable", number(fleet.unreadable.len()));
    part.fact("ranks", "ranks in the dataset", number(fleet.ranks.len()));
}

/// The snapshots of the dataset that could not be read, or only in part.
fn problems(part: &mut Part, fleet: &Fleet) {
    let columns = [
        column("problem", ""),
        column("why", ""),
        column("snapshot", "snapshot"),
    ];
    let row = |problem: &str, why: String, path: &str| {
        vec![
            Cell::Text(problem.to_owned()),
            Cell::Text(why),
            Cell::Text(path.to_owned()),
        ]
    };
    let unreadable = fleet.unreadable.iter();
    let unreadable = unreadable.map(|it| row("unreadable", it.why.clone(), &it.source.path));
    let damaged = fleet.ranks.iter().filter(|rank| rank.damage > 0);
    let damaged = damaged.map(|rank| {
        let why = format!("in {} places", Count(rank.damage));
        row("damaged", why, &rank.source.path)
    });
    let rows: Vec<_> = unreadable.chain(damaged).collect();
    if !rows.is_empty() {
        part.table("problems", "not read as a whole", &columns, rows);
    }
}
