//! The figures of two compared sides as rows of text.

use std::cmp::Ordering;

use vramscope_protocol::views::compare::{Compared, Profile};
use vramscope_view::display;

use super::sentences;

/// A figure on both sides.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FigureRow {
    pub name: &'static str,
    /// The value on the first side.
    pub before: String,
    /// The value on the second side.
    pub after: String,
    /// The difference; empty if it says nothing.
    pub change: String,
    /// The direction of the difference; [`Ordering::Greater`] = it grew.
    pub direction: Ordering,
    /// The exact numbers of sizes; else empty.
    pub exact: String,
}

/// The sums of both sides.
#[must_use]
pub fn totals(compared: &Compared) -> Vec<FigureRow> {
    let of = |name, get: fn(&Profile) -> u64| (name, get);
    let (name, get) = of("compared", |side| side.total.bytes);
    let mut rows = vec![
        bytes(name, get(&compared.before), get(&compared.after)),
        count(
            "allocations",
            compared.before.total.count,
            compared.after.total.count,
        ),
    ];
    let figures = (&compared.before.figures, &compared.after.figures);
    rows.push(known(
        "reserved then",
        figures.0.reserved_bytes,
        figures.1.reserved_bytes,
    ));
    if compared.turnover.is_none() {
        rows.push(bytes(
            "peak live",
            figures.0.peak_active_bytes,
            figures.1.peak_active_bytes,
        ));
    }
    rows
}

/// All figures of both sides.
#[must_use]
pub fn all(compared: &Compared) -> Vec<FigureRow> {
    let (a, b) = (&compared.before.figures, &compared.after.figures);
    let span = |us: Option<u64>| us.map(|us| i64::try_from(us).unwrap_or(i64::MAX));
    let time = |us| span(us).map_or_else(|| "no times".to_owned(), display::duration);
    vec![
        plain("written by", a.producer.clone(), b.producer.clone()),
        count("recorded events", a.events, b.events),
        plain("recorded time", time(a.duration_us), time(b.duration_us)),
        count("known allocations", a.allocations, b.allocations),
        bytes("peak live", a.peak_active_bytes, b.peak_active_bytes),
        known(
            "peak reserved",
            a.peak_reserved_bytes,
            b.peak_reserved_bytes,
        ),
        bytes("live then", a.active_bytes, b.active_bytes),
        known("reserved then", a.reserved_bytes, b.reserved_bytes),
        count(
            "cudaMalloc and mappings",
            a.segment_allocs,
            b.segment_allocs,
        ),
        count("cudaFree and unmappings", a.segment_frees, b.segment_frees),
        known_count("out of memory", a.ooms, b.ooms),
    ]
}

/// A number that the files may not tell.
fn known_count(name: &'static str, before: Option<u64>, after: Option<u64>) -> FigureRow {
    match (before, after) {
        (Some(before), Some(after)) => count(name, before, after),
        _ => plain(
            name,
            sentences::known_count(before),
            sentences::known_count(after),
        ),
    }
}

/// Bytes that the files may not tell.
fn known(name: &'static str, before: Option<u64>, after: Option<u64>) -> FigureRow {
    if let (Some(before), Some(after)) = (before, after) {
        return bytes(name, before, after);
    }
    let side = |bytes: Option<u64>| bytes.map_or_else(|| "unknown".to_owned(), display::bytes);
    plain(name, side(before), side(after))
}

fn plain(name: &'static str, before: String, after: String) -> FigureRow {
    FigureRow {
        name,
        before,
        after,
        change: String::new(),
        direction: Ordering::Equal,
        exact: String::new(),
    }
}

fn bytes(name: &'static str, before: u64, after: u64) -> FigureRow {
    FigureRow {
        name,
        before: display::bytes(before),
        after: display::bytes(after),
        change: with_share(display::bytes_change(before, after), before, after),
        direction: after.cmp(&before),
        exact: format!(
            "{} \u{2192} {} bytes",
            display::count(before),
            display::count(after)
        ),
    }
}

fn count(name: &'static str, before: u64, after: u64) -> FigureRow {
    FigureRow {
        name,
        before: display::count(before),
        after: display::count(after),
        change: with_share(display::count_change(before, after), before, after),
        direction: after.cmp(&before),
        exact: String::new(),
    }
}

/// A change with its share of what was there before: `+2.00 GiB (25.0 %)`; above twice as much, how often.
fn with_share(change: String, before: u64, after: u64) -> String {
    match after.abs_diff(before) {
        0 => change,
        _ if before == 0 => change,
        by if by <= before => format!("{change} ({})", display::percent(by, before)),
        _ => format!("{change} (×{:.1})", after as f64 / before as f64),
    }
}

/// The class of an element whose colour shows the direction of a change.
#[must_use]
pub fn direction_class(direction: Ordering) -> &'static str {
    match direction {
        Ordering::Greater => "grew",
        Ordering::Less => "shrank",
        Ordering::Equal => "same",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_say_what_differs_and_which_way() {
        let row = bytes("x", 3 << 20, 1 << 20);
        assert_eq!(row.change, "\u{2212}2.00 MiB (66.7 %)");
        assert_eq!(direction_class(row.direction), "shrank");
        assert_eq!(row.exact, "3,145,728 \u{2192} 1,048,576 bytes");
        assert_eq!(count("y", 4, 1_004).change, "+1,000 (×251.0)");
        assert_eq!(count("y", 0, 7).change, "+7");
    }
}
