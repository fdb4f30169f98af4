//! Texts of the overview.

use vramscope_core::analysis::memory::gap::GapPart;
use vramscope_core::analysis::report::findings::Severity;
use vramscope_core::analysis::report::overview::{Bar, Occasion};
use vramscope_core::analysis::time::lanes::StepsBy;
use vramscope_view::display;

use crate::state::sentences;

/// The name and the explanation of a part.
pub(super) fn part(kind: GapPart) -> (&'static str, &'static str) {
    match kind {
        GapPart::Requested => ("requested", "requested by the program and not freed"),
        GapPart::Pending => (
            "requested, pending free",
            "what was requested and is freed by the program, but other streams may still be using it",
        ),
        GapPart::Rounding => (
            "rounding",
            "what blocks are larger than their requests; of blocks that were freed since, derived from the allocator's rules",
        ),
        GapPart::Partly => (
            "free, between memory in use",
            "free blocks in segments that are partly in use: only for requests that fit into a piece",
        ),
        GapPart::Empty => (
            "free, whole segments",
            "segments that hold nothing: kept for reuse; empty_cache() gives them back to the device, in captured programs cuMemPoolTrimTo",
        ),
        GapPart::OtherPools => (
            "free, in other pools",
            "free blocks of CUDA graphs' or the user's pools: of no use to any other pool; what is free in a graph's pool, its replays write to",
        ),
        GapPart::OtherStreams => (
            "free, on other streams",
            "free blocks of other streams: a request can only use its own stream's",
        ),
    }
}

/// The style class of a part's colour.
pub(super) fn part_class(kind: GapPart) -> &'static str {
    match kind {
        GapPart::Requested => "requested",
        GapPart::Pending => "pending",
        GapPart::Rounding => "rounding",
        GapPart::Partly => "partly",
        GapPart::Empty => "empty",
        GapPart::OtherPools => "pools",
        GapPart::OtherStreams => "streams",
    }
}

/// `Peak active, end`.
pub(super) fn occasions(bar: &Bar) -> String {
    let word = |occasion: &Occasion| match occasion {
        Occasion::Peak => "peak live",
        Occasion::ReservedPeak => "peak reserved",
        Occasion::OutOfMemory => "out of memory",
        Occasion::End => "end",
    };
    let text = bar
        .occasions
        .iter()
        .map(word)
        .collect::<Vec<_>>()
        .join(", ");
    sentences::capital(&text)
}

/// `event 1,403 · +1.2 s`.
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

/// How steps were recognised.
pub(super) fn steps_by(by: StepsBy, pattern: &str) -> String {
    match by {
        StepsBy::Profiler => "Recognised by the profiler's steps.".to_owned(),
        StepsBy::Numbered => format!("Recognised by annotations such as “{pattern}”."),
        StepsBy::NumberedMetadata => format!("Recognised by user metadata such as “{pattern}”."),
        StepsBy::Repeated => format!("Recognised by the annotation “{pattern}”, which repeats."),
        StepsBy::Optimizer => format!("Each lasts from one end of “{pattern}” to the next."),
        StepsBy::InferredOptimizer | StepsBy::InferredBackward => {
            format!("Inferred from stacks: each ends with one {pattern}.")
        }
        StepsBy::InferredRepetition => {
            "Inferred from stacks: each begins with the same code.".to_owned()
        }
        StepsBy::InferredForward => {
            "Inferred from stacks: each begins with a forward pass.".to_owned()
        }
    }
}

/// The style class and the name of a severity.
pub(super) fn severity(severity: Severity) -> (&'static str, &'static str) {
    match severity {
        Severity::Problem => ("problem", "Problem"),
        Severity::Warning => ("warning", "Worth a look"),
        Severity::Note => ("note", "Note"),
    }
}

/// A share of a whole, 0 to 1; 0 of 0.
pub(super) fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        return 0.0;
    }
    (part as f64 / whole as f64).min(1.0)
}

/// µs since the start of the recording.
pub(super) fn since(start_us: Option<i64>, time_us: Option<i64>) -> Option<i64> {
    let (time, start) = time_us.zip(start_us)?;
    Some(time.saturating_sub(start))
}
