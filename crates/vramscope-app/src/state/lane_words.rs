//! Lanes, marks and lines in words.

use vramscope_core::analysis::memory::capacity::{Capacity, CapacitySource};
use vramscope_core::analysis::time::lanes::{LaneKind, StepsBy};
use vramscope_core::analysis::time::markers::{Marker, MarkerKind};
use vramscope_core::analysis::time::range_totals::RangeTotals;
use vramscope_protocol::views::lanes::{LaneFacts, LineFacts, NamedItem, StepMarks};
use vramscope_view::display;
use vramscope_view::marks::Mark;

use super::sentences::{capital, count_of};

/// The name of a lane, for the narrow column on its left.
#[must_use]
pub fn lane_name(lane: &LaneFacts) -> &str {
    match lane.kind {
        _ if !lane.name.is_empty() => &lane.name,
        LaneKind::Annotations => "ranges",
        LaneKind::Internal => "torch",
        LaneKind::UserMetadata => "metadata",
        LaneKind::CompileContext => "compile",
        LaneKind::Inferred => "inferred",
    }
}

/// The source of a lane's ranges, as a sentence.
#[must_use]
pub fn lane_meaning(lane: &LaneFacts) -> String {
    let meaning = match lane.kind {
        LaneKind::Annotations => "Annotations: record_function, NVTX, optimizer and profiler steps",
        LaneKind::Internal => {
            "Annotations of torch itself: guard lookups, compiled graphs, collectives"
        }
        LaneKind::UserMetadata => "user_metadata of the events; threads take turns",
        LaneKind::CompileContext => "Regions of torch.compile, as the events name them",
        LaneKind::Inferred => {
            "Phases inferred from stacks: the file has no annotations that name them"
        }
    };
    if lane.name.is_empty() {
        meaning.to_owned()
    } else {
        format!("{}: {meaning}", lane.name)
    }
}

/// The heading of a range's tooltip.
#[must_use]
pub fn item(item: &NamedItem) -> String {
    let count = u64::from(item.item.count);
    match (count, item.name.is_empty()) {
        (1, false) => item.name.clone(),
        (1, true) => "unnamed range".to_owned(),
        (_, false) => format!("{} × {}", display::count(count), item.name),
        (_, true) => count_of(count, "range", "ranges"),
    }
}

/// Two lines: `+1.20 GiB live · peak 31.2 GiB, 2.00 GiB above its begin` and `3.10 GiB allocated in 120
/// allocations, 1.90 GiB freed`.
#[must_use]
pub fn totals(totals: &RangeTotals) -> [String; 2] {
    let change = display::bytes_change(totals.before_bytes, totals.after_bytes);
    let peak = display::bytes(totals.peak_bytes);
    let rise = display::bytes(totals.rise_bytes());
    [
        format!("{change} live · peak {peak}, {rise} above its begin"),
        format!(
            "{} allocated in {}, {} freed",
            display::bytes(totals.allocated_bytes),
            count_of(u64::from(totals.allocations), "allocation", "allocations"),
            display::bytes(totals.freed_bytes),
        ),
    ]
}

/// The length of a range: events, and time if there are times.
#[must_use]
pub fn length(item: &NamedItem, is_time: bool) -> String {
    let events = u64::from(item.moments.1.saturating_sub(item.moments.0));
    let events = count_of(events, "event", "events");
    let open = if item.is_open {
        " · one end was not recorded"
    } else {
        ""
    };
    if is_time {
        let us = (item.item.x.1 - item.item.x.0).round() as i64;
        format!("{events} · {}{open}", display::duration(us))
    } else {
        format!("{events}{open}")
    }
}

fn kind_words(kind: MarkerKind) -> (&'static str, &'static str) {
    match kind {
        MarkerKind::Oom => ("failed allocation", "failed allocations"),
        MarkerKind::Snapshot => ("snapshot", "snapshots"),
        MarkerKind::Annotate => ("annotated tensor", "annotated tensors"),
        MarkerKind::SegmentAlloc => ("segment allocated", "segments allocated"),
        MarkerKind::SegmentMap => ("mapping", "mappings"),
        MarkerKind::SegmentFree => ("segment freed", "segments freed"),
        MarkerKind::SegmentUnmap => ("unmapping", "unmappings"),
    }
}

/// The heading of a mark's tooltip.
#[must_use]
pub fn mark(mark: &Mark) -> String {
    let (one, several) = kind_words(mark.kind);
    let count = count_of(u64::from(mark.count), one, several);
    let bytes = display::bytes(mark.bytes);
    match (mark.kind, mark.count) {
        (MarkerKind::Oom, 1) => format!("Out of memory: {bytes} asked for"),
        (MarkerKind::Oom, _) => count,
        // Bytes active at several snapshots are no sum of anything.
        (MarkerKind::Snapshot, 1) => format!("Snapshot taken: {bytes} active"),
        (MarkerKind::Snapshot, _) => count,
        (_, 1) => format!("{} · {bytes}", capital(one)),
        _ => format!("{count} · {bytes}"),
    }
}

/// The place and figures of a mark, as lines below its heading; `pool`: the name of its pool.
#[must_use]
pub fn marker(marker: &Marker, pool: Option<&str>) -> Vec<String> {
    let mut lines = Vec::new();
    if !marker.text.is_empty() {
        lines.push(marker.text.clone());
    }
    if marker.kind == MarkerKind::Oom {
        lines.push(match marker.device_free_bytes {
            Some(bytes) => format!("the device had {} free", display::bytes(bytes)),
            None => "what the device had free is not known".to_owned(),
        });
    }
    if !matches!(marker.kind, MarkerKind::Oom | MarkerKind::Snapshot) {
        let mut place = format!(
            "{} · {}",
            display::address(marker.address),
            marker.stream_name
        );
        if let Some(pool) = pool {
            place = format!("{place} · {pool}");
        }
        lines.push(place);
    }
    lines
}

/// The source of the device's capacity.
#[must_use]
pub fn capacity(capacity: &Capacity) -> String {
    match capacity.source {
        CapacitySource::File => "as the file states".to_owned(),
        CapacitySource::Oom {
            reserved_bytes,
            free_bytes,
            ..
        } => format!(
            "{} reserved and {} free on the device when an allocation failed: what this process could have, at least",
            display::bytes(reserved_bytes),
            display::bytes(free_bytes)
        ),
    }
}

/// The number of training steps and their source, for the strip's title; `None` if there are none.
#[must_use]
pub fn steps(marks: &StepMarks) -> Option<String> {
    let by = match marks.by? {
        StepsBy::Optimizer => "by the ends of",
        StepsBy::InferredOptimizer | StepsBy::InferredBackward | StepsBy::InferredForward => {
            "inferred from each"
        }
        StepsBy::InferredRepetition => "inferred from",
        StepsBy::Profiler | StepsBy::Numbered | StepsBy::NumberedMetadata | StepsBy::Repeated => {
            "named"
        }
    };
    let count = count_of(marks.count, "step", "steps");
    Some(format!("{count} {by} {}", marks.pattern))
}

/// The number of annotations that are not shown, and why; empty if all are shown.
#[must_use]
pub fn left_out(facts: &LineFacts) -> String {
    let mut parts = Vec::new();
    if facts.outside > 0 {
        let count = count_of(facts.outside, "annotation", "annotations");
        parts.push(format!("{count} before or after the recorded events"));
    }
    if facts.unplaced > 0 {
        let count = count_of(facts.unplaced, "annotation", "annotations");
        parts.push(format!(
            "{count} that cannot be placed: times are missing or go back"
        ));
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_in_words() {
        let at = |kind, count| Mark {
            kind,
            x: 0.0,
            x_last: 0.0,
            moment: 1,
            last_moment: count,
            count,
            bytes: 2 << 20,
        };
        assert_eq!(
            mark(&at(MarkerKind::Oom, 1)),
            "Out of memory: 2.00 MiB asked for"
        );
        assert_eq!(
            mark(&at(MarkerKind::SegmentAlloc, 1)),
            "Segment allocated · 2.00 MiB"
        );
        assert_eq!(
            mark(&at(MarkerKind::SegmentFree, 3)),
            "3 segments freed · 2.00 MiB"
        );
    }

    #[test]
    fn totals_in_words() {
        let lines = totals(&RangeTotals {
            before_bytes: 1 << 30,
            after_bytes: 2 << 30,
            peak_bytes: 3 << 30,
            allocated_bytes: 4 << 30,
            freed_bytes: 3 << 30,
            allocations: 12,
            ..RangeTotals::default()
        });
        assert_eq!(
            lines[0],
            "+1.00 GiB live · peak 3.00 GiB, 2.00 GiB above its begin"
        );
        assert_eq!(
            lines[1],
            "4.00 GiB allocated in 12 allocations, 3.00 GiB freed"
        );
    }
}
