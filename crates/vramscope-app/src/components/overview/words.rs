//! Words of the overview.

use vramscope_core::analysis::findings::{EvidenceView, Severity};
use vramscope_core::analysis::lanes::StepsBy;
use vramscope_core::analysis::overview::Occasion;
use vramscope_view::display;

use crate::protocol::views::overview::{Bar, PartKind};
use crate::state::ViewKind;

/// What a part is called, and what it is.
pub(super) fn part(kind: PartKind) -> (&'static str, &'static str) {
    match kind {
        PartKind::InUse => ("in use", "requested by the program and not freed"),
        PartKind::Pending => (
            "pending free",
            "freed by the program, but other streams may still be using it",
        ),
        PartKind::Rounding => (
            "rounding",
            "what blocks are larger than their requests; of blocks that were freed since, derived from the allocator's rules",
        ),
        PartKind::Partly => (
            "free, between memory in use",
            "free blocks in segments that are partly in use: only for requests that fit into a piece",
        ),
        PartKind::Empty => (
            "free, whole segments",
            "segments that hold nothing: kept for reuse; empty_cache() gives them back to CUDA, in captured programs cuMemPoolTrimTo",
        ),
        PartKind::OtherPools => (
            "free, in other pools",
            "free blocks of CUDA graphs' or the user's pools: of no use to any other pool",
        ),
        PartKind::OtherStreams => (
            "free, on other streams",
            "free blocks of other streams: a request can only use its own stream's",
        ),
    }
}

/// The class of a part's colour.
pub(super) fn part_class(kind: PartKind) -> &'static str {
    match kind {
        PartKind::InUse => "in-use",
        PartKind::Pending => "pending",
        PartKind::Rounding => "rounding",
        PartKind::Partly => "partly",
        PartKind::Empty => "empty",
        PartKind::OtherPools => "pools",
        PartKind::OtherStreams => "streams",
    }
}

/// `Peak of active memory, end`.
pub(super) fn occasions(bar: &Bar) -> String {
    let word = |occasion: &Occasion| match occasion {
        Occasion::Peak => "peak of active memory",
        Occasion::ReservedPeak => "most reserved",
        Occasion::OutOfMemory => "out of memory",
        Occasion::End => "end",
    };
    let text = bar
        .occasions
        .iter()
        .map(word)
        .collect::<Vec<_>>()
        .join(", ");
    capital(&text)
}

/// `event 1,403, +1.2 s`.
pub(super) fn place(moment: u32, since_start_us: Option<i64>) -> String {
    let event = match moment {
        0 => "before event 1".to_owned(),
        moment => display::event(u64::from(moment)),
    };
    match since_start_us {
        Some(us) => format!("{event} · {}", display::offset(us)),
        None => event,
    }
}

/// How the steps are told.
pub(super) fn steps_by(by: StepsBy, pattern: &str) -> String {
    match by {
        StepsBy::Profiler => "Told by the profiler's steps.".to_owned(),
        StepsBy::Numbered => format!("Told by annotations such as “{pattern}”."),
        StepsBy::NumberedMetadata => format!("Told by user metadata such as “{pattern}”."),
        StepsBy::Repeated => format!("Told by the annotation “{pattern}”, which repeats."),
        StepsBy::Optimizer => format!("Each lasts from one end of “{pattern}” to the next."),
    }
}

/// A severity's class and word.
pub(super) fn severity(severity: Severity) -> (&'static str, &'static str) {
    match severity {
        Severity::Problem => ("problem", "Problem"),
        Severity::Warning => ("warning", "Worth a look"),
        Severity::Note => ("note", "Note"),
    }
}

/// The view that shows evidence, and its word on the rail.
pub(super) fn view(view: EvidenceView) -> (ViewKind, &'static str) {
    match view {
        EvidenceView::Timeline => (ViewKind::Timeline, "Timeline"),
        EvidenceView::Segments => (ViewKind::Segments, "Segments"),
        EvidenceView::Map => (ViewKind::Map, "Map"),
        EvidenceView::State => (ViewKind::Allocator, "State"),
        EvidenceView::Flame => (ViewKind::Flame, "Flame"),
        EvidenceView::Table => (ViewKind::Table, "Table"),
        EvidenceView::Facts => (ViewKind::Facts, "Facts"),
    }
}

/// The search that finds the allocations of a call site.
pub(super) fn site_search(label: &str) -> String {
    let quoted = label.replace('\\', "\\\\").replace('"', "\\\"");
    format!("site:\"{quoted}\"")
}

/// `12.3 %`, `0.4 %`; whole numbers from 10 on.
pub(in crate::components) fn percent(percent: f64) -> String {
    if percent >= 9.95 {
        format!("{percent:.0} %")
    } else {
        format!("{percent:.1} %")
    }
}

fn capital(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(characters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use vramscope_core::analysis::filter::Filter;

    #[test]
    fn searches_for_sites_are_filters() {
        for label in [
            "a/b.py:12 f",
            "at::_ops::mm::call",
            "odd \" \\ name",
            "<lambda>",
        ] {
            let search = site_search(label);
            assert!(Filter::parse(&search).is_ok(), "{search}");
        }
    }

    #[test]
    fn percentages() {
        assert_eq!(
            [percent(0.04), percent(9.96), percent(99.9)],
            ["0.0 %", "10 %", "100 %"]
        );
    }
}
