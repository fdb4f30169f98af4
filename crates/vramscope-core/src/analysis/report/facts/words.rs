//! Facts and warnings in words.

use super::{Fact, FactKind, FactLevel, captured, saturating_sum};
use crate::analysis::memory::capture::AllocatorKind;
use crate::model::{DeviceIndex, WarningKind};
use crate::units::{Bytes, Count};

/// Fewer than one in this many is few.
const FEW_OF: u64 = 20;

/// Adds the words to the figures.
pub(super) fn fact(kind: FactKind, device: Option<DeviceIndex>, allocator: AllocatorKind) -> Fact {
    let level = match kind {
        FactKind::NoStacks {
            without,
            before_recording,
            of,
        } if without == before_recording || without < of.div_ceil(FEW_OF) => FactLevel::Notice,
        FactKind::SeveralDevices { .. }
        | FactKind::OutOfMemory { .. }
        | FactKind::HostMemory { .. }
        | FactKind::BeforeRecording { .. }
        | FactKind::PendingFree { .. }
        | FactKind::EndedWithoutNotice
        | FactKind::CaptureNote
        | FactKind::TorchCaptured
        | FactKind::OtherMemory { .. } => FactLevel::Notice,
        _ => FactLevel::Gap,
    };
    let of_driver = (allocator == AllocatorKind::Driver)
        .then(|| captured::meaning_and_advice(kind))
        .flatten();
    let words = of_driver.unwrap_or_else(|| meaning_and_advice(kind));
    let [meaning, advice] = words.map(str::to_owned);
    Fact {
        kind,
        level,
        device,
        text: text(kind),
        meaning,
        advice,
    }
}

#[expect(clippy::too_many_lines, reason = "one arm per kind, all of them words")]
fn text(kind: FactKind) -> String {
    match kind {
        FactKind::Nothing => "The file holds no segment and no event.".to_owned(),
        FactKind::NoTrace => "No events were recorded.".to_owned(),
        FactKind::StateOnly => {
            "The trace has exactly one event: recorded with enabled=\"state\".".to_owned()
        }
        FactKind::NoTimes => "The events have no times.".to_owned(),
        FactKind::NoSegments => "The file has no segments for this device.".to_owned(),
        FactKind::NoStacks { without, of, .. } if without == of => {
            "No stacks were recorded with the allocations.".to_owned()
        }
        FactKind::NoStacks {
            without,
            before_recording,
            of,
        } => {
            let older = if without == before_recording {
                ", all from before recording"
            } else {
                ""
            };
            let have = plural(without, "has", "have");
            format!(
                "{} of {} allocations {have} no stack{older}.",
                Count(without),
                Count(of)
            )
        }
        FactKind::BeforeRecording { allocations, bytes } => format!(
            "Recording began after {} live {} of {} in all.",
            Count(allocations),
            plural(allocations, "allocation", "allocations"),
            Bytes(bytes)
        ),
        FactKind::RingFull {
            certain,
            max_entries,
        } => {
            let likely = if certain { "was" } else { "was probably" };
            let size = max_entries
                .map(|entries| format!(" ({} entries)", Count(entries)))
                .unwrap_or_default();
            format!("The event buffer{size} {likely} full: the oldest events are lost.")
        }
        FactKind::SkippedActions { action } => {
            format!(
                "There is no {} event at all.",
                action.name().unwrap_or("such")
            )
        }
        FactKind::SeveralDevices { devices } => format!("The file covers {devices} devices."),
        FactKind::OutOfMemory {
            events,
            requested_bytes,
            device_free_bytes,
            event,
        } => format!(
            "Out of memory {}: the last request, at event {}, was for {} with {} free on the device.",
            if events == 1 {
                "once".to_owned()
            } else {
                format!("{} times", Count(events))
            },
            Count(u64::from(event)),
            Bytes(requested_bytes),
            Bytes(device_free_bytes)
        ),
        FactKind::Skew {
            live_without_block,
            size_differs,
            not_completed,
            segment_events,
        } => skew_text([
            (
                live_without_block,
                "live allocation without a block",
                "live allocations without a block",
            ),
            (
                size_differs,
                "block of another size",
                "blocks of another size",
            ),
            (
                not_completed,
                "requested free never completed",
                "requested frees never completed",
            ),
            (
                segment_events,
                "segment event that does not fit",
                "segment events that do not fit",
            ),
        ]),
        FactKind::FreesMissing { allocations } => format!(
            "{} {} at an address where another was still live.",
            Count(allocations),
            plural(allocations, "allocation was made", "allocations were made")
        ),
        FactKind::ActiveExceedsReserved {
            active_bytes,
            reserved_bytes,
        } => format!(
            "{} were in use at the peak, but only {} held from CUDA.",
            Bytes(active_bytes),
            Bytes(reserved_bytes)
        ),
        FactKind::EndedWithoutNotice => {
            "The program was killed or crashed; all that it had done until then is here.".to_owned()
        }
        FactKind::RecorderFailed => {
            "The recorder switched itself off in the middle after an error of its own.".to_owned()
        }
        FactKind::RecordsLost { records } => format!(
            "{} {} lost because the log was full.",
            Count(records),
            plural(records, "record was", "records were")
        ),
        FactKind::CaptureNote => String::new(),
        FactKind::TorchCaptured => {
            "The program used PyTorch: what is shown are the segments of its allocator, not its tensors."
                .to_owned()
        }
        FactKind::OtherMemory {
            last_bytes,
            highest_bytes,
            device_bytes,
        } => {
            let of = device_bytes.map(|bytes| format!(" of the device's {}", Bytes(bytes)));
            format!(
                "{}{} were held by others at the end, {} at the most.",
                Bytes(last_bytes),
                of.unwrap_or_default(),
                Bytes(highest_bytes)
            )
        }
        FactKind::HostMemory { bytes } => format!(
            "Pinned host memory was recorded: {} at the end.",
            Bytes(bytes)
        ),
        FactKind::PendingFree { allocations, bytes } => format!(
            "{} freed {} of {} in all still {} for other streams at the end.",
            Count(allocations),
            plural(allocations, "allocation", "allocations"),
            Bytes(bytes),
            plural(allocations, "waits", "wait")
        ),
    }
}

/// In how many places trace and final state disagree, and which; `parts` without any are left out.
fn skew_text(parts: [(u64, &str, &str); 4]) -> String {
    let places = saturating_sum(parts.iter().map(|&(count, ..)| count));
    let parts: Vec<_> = parts
        .iter()
        .filter(|(count, ..)| *count > 0)
        .map(|&(count, one, many)| format!("{} {}", Count(count), plural(count, one, many)))
        .collect();
    format!(
        "Trace and final state disagree in {} {}: {}.",
        Count(places),
        plural(places, "place", "places"),
        parts.join(", ")
    )
}

fn plural<'a>(count: u64, one: &'a str, many: &'a str) -> &'a str {
    if count == 1 { one } else { many }
}

const RECORD_ALL: &str = "Call torch.cuda.memory._record_memory_history() (without enabled=\"state\") before the \
     code in question, and _dump_snapshot() after it.";

#[expect(clippy::too_many_lines, reason = "one arm per kind, all of them words")]
fn meaning_and_advice(kind: FactKind) -> [&'static str; 2] {
    match kind {
        FactKind::Nothing => [
            "There is nothing to show: the allocator had not been used on any device.",
            "Dump in the process that uses the GPU, after it has allocated, and not with \
             PYTORCH_NO_CUDA_MEMORY_CACHING=1 or the cudaMallocAsync backend.",
        ],
        FactKind::NoTrace => [
            "Only the final state is known; it is shown as flat bands.",
            RECORD_ALL,
        ],
        FactKind::StateOnly => [
            "Only the final state is known; it is shown as flat bands. What was allocated and freed before is not in the file.",
            RECORD_ALL,
        ],
        FactKind::NoTimes => [
            "The order of events is exact, but not when they happened: only the event axis can be shown.",
            "PyTorch's recorder writes times since 2.2.",
        ],
        FactKind::NoSegments => [
            "Reserved memory, block sizes and fragmentation are not known; allocations are.",
            "Dump with torch.cuda.memory._dump_snapshot(), which writes segments too.",
        ],
        FactKind::NoStacks {
            without,
            before_recording,
            of,
        } if without == before_recording && without < of => {
            ["They cannot be told apart by where they were made.", ""]
        }
        FactKind::NoStacks { .. } => [
            "They cannot be told apart by where they were made.",
            "Record with context=\"all\" and stacks=\"all\": the backward pass runs in threads without Python \
             frames, so that stacks=\"python\" leaves it without any.",
        ],
        FactKind::BeforeRecording { .. } => [
            "They are at the bottom from the start; what happened to them before is not known, and \
             where they were allocated often not either.",
            "Start recording before the model is built to see where they come from.",
        ],
        FactKind::RingFull { .. } => [
            "The trace shows only the latest part; memory from before stands at the bottom as if it had always been there.",
            "Record with a larger max_entries, or dump earlier.",
        ],
        FactKind::ActiveExceedsReserved { .. } => [
            "That cannot be: trace and final state do not belong together, or the file was altered.",
            "",
        ],
        FactKind::SkippedActions { .. } => [
            "Lives of allocations may look longer or shorter than they were.",
            "Record without skip_actions.",
        ],
        FactKind::SeveralDevices { .. } => [
            "Each is shown on its own; the one with the highest peak comes first.",
            "",
        ],
        FactKind::OutOfMemory { .. } => [
            "PyTorch gives segments that are wholly free back to CUDA before it fails. What it still held free then lay in \
             segments partly in use, where the request did not fit.",
            "",
        ],
        FactKind::Skew { .. } => [
            "PyTorch copies the trace before it walks the segments; another thread may allocate in between. \
             A few places are normal; many mean that events were left out (skip_actions) or the file was altered.",
            "Dump while no other thread allocates.",
        ],
        FactKind::FreesMissing { .. } => [
            "The free of the older one is not in the trace: it is shown as live until then, and may have been \
             freed long before.",
            "Record without skip_actions.",
        ],
        FactKind::EndedWithoutNotice => ["What was live then is shown as live to the end.", ""],
        FactKind::RecorderFailed => [
            "What the program did afterwards is missing.",
            "The notes tell the error: please report it.",
        ],
        FactKind::RecordsLost { .. } => [
            "What happened afterwards is missing, frees too, so that memory may look live that was not.",
            "Capture with more room (--cap) or keep only the newest events (--max-entries).",
        ],
        FactKind::CaptureNote => ["", ""],
        FactKind::TorchCaptured => [
            "Each allocation is a cudaMalloc of PyTorch's, from which it serves many tensors; what it had free in them is \
             not known here.",
            "torch.cuda.memory._record_memory_history() and _dump_snapshot() show the tensors.",
        ],
        FactKind::OtherMemory { .. } => [
            "Other processes, CUDA contexts, modules and the driver itself had it: the device's total less what was free \
             and what was captured.",
            "",
        ],
        FactKind::HostMemory { .. } => ["It is no part of any device's figures.", ""],
        FactKind::PendingFree { .. } => [
            "Their memory cannot be used again until the streams of record_stream() have passed.",
            "",
        ],
    }
}

/// A warning's kind in words.
#[must_use]
pub fn warning_text(kind: &WarningKind) -> String {
    let text = match kind {
        WarningKind::UnknownKey(key) => return format!("unknown key {key}, not read"),
        WarningKind::UnknownAction(action) => {
            return format!("unknown action {action}, kept as it is");
        }
        WarningKind::MissingKey(key) => return format!("missing {key}, taken as 0 or empty"),
        WarningKind::BlocksDoNotFillSegment => "blocks do not add up to their segment's total_size",
        WarningKind::BlocksNotContiguous => "a block does not begin where the one before it ends",
        WarningKind::SegmentSumsDiffer => "a segment's sums are not those of its blocks",
        WarningKind::SegmentsUnsorted => "segments are not in address order",
        WarningKind::SegmentsOverlap => "segments overlap",
        WarningKind::TimeRunsBackwards => "an event's time lies before its predecessor's",
        WarningKind::InvalidUtf8 => "text is not valid UTF-8; the bad bytes are replaced",
        WarningKind::TrailingBytes => "bytes after the end of the data",
        WarningKind::DamagedEnd => {
            "the snapshot is complete, but what follows it in its container is damaged"
        }
        WarningKind::FurtherFiles => "further snapshots in the same container; the first was read",
    };
    text.to_owned()
}
