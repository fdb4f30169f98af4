//! Words about the ranks of a fleet.

use vramscope_protocol::views::fleet::{
    Along, At, Drawn, FleetFile, MarkKind, Measure, Memory, OddValue, RankLine, SiteLine, Unit, Way,
};
use vramscope_view::display;

use super::sentences::count_of;

/// Where a rank runs, and which snapshot it is of: `node3 · device 1 · step 200`.
#[must_use]
pub fn whereabouts(rank: &RankLine) -> String {
    let named = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    let parts = [
        named(&rank.host),
        named(&rank.job),
        rank.device.map(|device| format!("device {device}")),
        rank.step.map(|step| format!("step {step}")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    parts.join(" · ")
}

/// `8 ranks in 12.3 KiB`.
#[must_use]
pub fn file(file: &FleetFile) -> String {
    let ranks = count_of(file.ranks.into(), "rank", "ranks");
    format!("{ranks} in {}", display::bytes(file.file_bytes))
}

/// Why no rank is shown, of a file with so many.
#[must_use]
pub fn none(ranks: u32) -> &'static str {
    match ranks {
        0 => {
            "This overview holds no rank: none of its snapshots could be read, or nothing happened in them."
        }
        _ => "No rank matches the search.",
    }
}

/// The memory that colours stand for.
#[must_use]
pub fn memory(memory: Memory) -> &'static str {
    match memory {
        Memory::Active => "active",
        Memory::Reserved => "reserved",
    }
}

/// The place of a heat map's pixel.
#[must_use]
pub fn place(at: &At, start_us: Option<i64>) -> String {
    let us = i64::try_from(at.place.at).unwrap_or(i64::MAX);
    match (at.unit, start_us) {
        (Unit::Events, _) => display::event(at.place.at),
        (Unit::Steps, _) => {
            let step = at.first_step.saturating_add(at.place.at / Unit::PER_STEP);
            format!("step {}", display::count(step))
        }
        (Unit::Time, Some(start_us)) => display::time_of_day(start_us.saturating_add(us)),
        (Unit::Time, None) => display::offset(us),
    }
}

/// The most bytes at a pixel, and what is marked there.
#[must_use]
pub fn at(at: &At) -> String {
    let bytes = match at.bytes {
        None => "nothing recorded here".to_owned(),
        Some(bytes) => format!(
            "{} {} at most",
            display::bytes(bytes),
            memory(at.look.memory)
        ),
    };
    match at.mark {
        None => bytes,
        Some(MarkKind::Peak) => format!("{bytes} · the peak begins"),
        Some(MarkKind::Oom) => format!("{bytes} · out of memory"),
    }
}

/// What the axis counts.
#[must_use]
pub fn axis(drawn: &Drawn) -> String {
    match (drawn.look.along, drawn.frame.unit, drawn.start_us) {
        (Along::Step, ..) => "by step".to_owned(),
        (_, Unit::Events, _) => "events of each rank".to_owned(),
        (Along::Clock, _, Some(start_us)) => {
            let second = start_us - start_us.rem_euclid(1_000_000);
            let text = display::date_time(second);
            let text = text.split('.').next().unwrap_or_default();
            format!("since {text} UTC")
        }
        _ => "since each rank's first event".to_owned(),
    }
}

/// What the user has to do so that a snapshot opens.
#[must_use]
pub fn missing(ways: &[Way]) -> String {
    let files: Vec<String> = ways
        .iter()
        .map(|way| format!("{} ({})", way.name, display::bytes(way.file_bytes)))
        .collect();
    let (it, opens) = match ways.len() {
        1 => ("it", "opens"),
        _ => ("they", "open"),
    };
    format!(
        "This page cannot reach {}. Drop {} here, and {it} {opens} at this moment. \
         `vramscope view` with the folder of the dataset finds snapshots by itself.",
        files.join(" and "),
        if ways.len() == 1 { "it" } else { "them" },
    )
}

fn value(odd: &OddValue, value: u64) -> String {
    match odd.measure {
        Measure::PeakTime => display::percent(value, 1000),
        measure if measure.is_bytes() => display::bytes(value),
        _ => display::count(value),
    }
}

/// In what a rank differs from the rest: `peak, reserved`.
#[must_use]
pub fn odd(rank: &RankLine) -> String {
    let measures = rank.odd.iter().map(|odd| odd.measure.name());
    let settings = (!rank.settings.is_empty()).then_some("settings");
    let words: Vec<&str> = measures.chain(settings).collect();
    words.join(", ")
}

/// In what a rank differs from the rest, a line for each: `peak: 41.2 GiB, usual are 33.1 GiB`.
#[must_use]
pub fn odd_lines(rank: &RankLine) -> Vec<String> {
    let values = rank.odd.iter().map(|odd| {
        let (own, usual) = (value(odd, odd.value), value(odd, odd.usual.median));
        format!("Odd: {} {own}, usual {usual}", odd.measure.name())
    });
    let settings = rank.settings.iter().map(|change| {
        let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "not set".to_owned());
        format!(
            "Odd: {} is {}, of most {}",
            change.name,
            text(&change.after),
            text(&change.before)
        )
    });
    values.chain(settings).collect()
}

/// All of [`odd_lines`] in one text.
#[must_use]
pub fn odd_in_full(rank: &RankLine) -> String {
    odd_lines(rank).join("\n")
}

/// The ranks that are odd at a call site: `17, 3 and 2 more`.
#[must_use]
pub fn odd_ranks(site: &SiteLine) -> String {
    let numbers: Vec<String> = site.odd.iter().map(u32::to_string).collect();
    let more = (site.all_odd as usize).saturating_sub(numbers.len());
    let text = numbers.join(", ");
    match more {
        0 => text,
        more => format!("{text} and {more} more"),
    }
}
