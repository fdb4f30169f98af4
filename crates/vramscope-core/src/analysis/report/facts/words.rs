//! The text of facts and warnings.

use super::{Fact, FactKind, FactLevel, captured, profiled, saturating_sum};
use crate::analysis::memory::capture::AllocatorKind;
use crate::analysis::report::findings::{counted, free_on_device};
use crate::analysis::report::names::quoted;
use crate::model::{DeviceIndex, Warning, WarningKind};
use crate::units::{Bytes, Count};

/// Fewer than one in this many counts as a few.
const FEW_OF: u64 = 20;

/// Builds a fact from its figures: level and text.
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
        | FactKind::DryRun
        | FactKind::Profiled { .. }
        | FactKind::EndedWithoutNotice
        | FactKind::CaptureNote
        | FactKind::TorchCaptured
        | FactKind::OtherMemory { .. } => FactLevel::Notice,
        _ => FactLevel::Gap,
    };
    let of_driver = (allocator == AllocatorKind::Driver)
        .then(|| captured::meaning_and_advice(kind))
        .flatten();
    let words = words(kind);
    let [meaning, advice] = of_driver.unwrap_or([words.meaning, words.advice]);
    Fact {
        kind,
        level,
        device,
        text: words.text,
        meaning: meaning.to_owned(),
        advice: advice.to_owned(),
    }
}

/// The three texts of a fact.
#[derive(Default)]
pub(super) struct Words {
    pub(super) text: String,
    pub(super) meaning: &'static str,
    pub(super) advice: &'static str,
}

impl Words {
    pub(super) fn of(text: impl Into<String>, meaning: &'static str, advice: &'static str) -> Self {
        let text = text.into();
        Self {
            text,
            meaning,
            advice,
        }
    }
}

/// The remark in every answer about a dry run.
pub const DRY_RUN: &str = "A dry run: nothing was computed, and no GPU was there.";

fn words(kind: FactKind) -> Words {
    match kind {
        FactKind::Nothing
        | FactKind::NoTrace
        | FactKind::StateOnly
        | FactKind::NoTimes
        | FactKind::NoSegments
        | FactKind::SeveralDevices { .. }
        | FactKind::HostMemory { .. } => of_contents(kind),
        FactKind::DryRun => Words::of(
            DRY_RUN,
            "Memory is what PyTorch's own allocator made of the program's requests. What depends on computed values, and how much \
             cuDNN and other libraries ask for, may differ on a card.",
            "",
        ),
        FactKind::Profiled { form } => profiled::words(form),
        FactKind::NoStacks { .. }
        | FactKind::BeforeRecording { .. }
        | FactKind::CarriedOver { .. }
        | FactKind::RingFull { .. }
        | FactKind::SkippedActions { .. } => of_omissions(kind),
        FactKind::Skew { .. } | FactKind::FreesMissing { .. } | FactKind::TracesGathered { .. } => {
            of_contradictions(kind)
        }
        FactKind::OutOfMemory { .. } | FactKind::PendingFree { .. } => of_events(kind),
        FactKind::EndedWithoutNotice
        | FactKind::RecorderFailed
        | FactKind::RecordsLost { .. }
        | FactKind::NotRecorded { .. }
        | FactKind::CaptureNote
        | FactKind::TorchCaptured
        | FactKind::OtherMemory { .. } => captured::words(kind),
    }
}

/// The limits of a file without a trace.
const ONLY_A_STATE: &str = "Only the state at the dump is known; it is shown as flat bands. When memory was made, whether \
     it grows from step to step, what the peak was and why a job died is not known.";

const RECORD_ALL: &str = "To find out, record a history: call torch.cuda.memory._record_memory_history() (without \
     enabled=\"state\"; torch 2.0: with True, trace_alloc_max_entries=1_000_000) before the code in question, and _dump_snapshot() after it or where OutOfMemoryError is caught.";

/// Texts of facts about the content of the file.
fn of_contents(kind: FactKind) -> Words {
    match kind {
        FactKind::Nothing => Words::of(
            "The file holds no segment and no event.",
            "There is nothing to show: the allocator had not been used on any device.",
            "Dump in the process that uses the GPU, after it has allocated, and not with \
             PYTORCH_NO_CUDA_MEMORY_CACHING=1 or the cudaMallocAsync backend.",
        ),
        FactKind::NoTrace => Words::of("No events were recorded.", ONLY_A_STATE, RECORD_ALL),
        FactKind::StateOnly => Words::of(
            "The trace has exactly one event, as with enabled=\"state\", or by torch 2.0 without trace_alloc_max_entries.",
            ONLY_A_STATE,
            RECORD_ALL,
        ),
        FactKind::NoTimes => Words::of(
            "The events have no times.",
            "The order of events is exact, but not when they happened: only the event axis can be shown.",
            "PyTorch's recorder writes times since 2.2.",
        ),
        FactKind::NoSegments => Words::of(
            "The file has no segments for this device.",
            "Reserved memory, block sizes and fragmentation are not known; allocations are.",
            "Dump with torch.cuda.memory._dump_snapshot(), which writes segments too.",
        ),
        FactKind::SeveralDevices { devices } => Words::of(
            format!("The file covers {devices} devices."),
            "Each is shown on its own; the one with the highest peak comes first.",
            "",
        ),
        FactKind::HostMemory { bytes } => Words::of(
            format!(
                "Pinned host memory was recorded: {} at the end.",
                Bytes(bytes)
            ),
            "It is no part of any device's figures.",
            "",
        ),
        _ => Words::default(),
    }
}

/// Texts of facts about what was not recorded.
fn of_omissions(kind: FactKind) -> Words {
    match kind {
        FactKind::NoStacks {
            without,
            before_recording,
            of,
        } => Words::of(
            no_stacks(without, before_recording, of),
            "They cannot be told apart by where they were made.",
            if without == before_recording && without < of {
                ""
            } else {
                "Record with context=\"all\" and stacks=\"all\": the backward pass runs in threads without Python \
                 frames, so that stacks=\"python\" leaves it without any."
            },
        ),
        FactKind::BeforeRecording { allocations, bytes } => Words::of(
            format!(
                "Recording began after {} live {} of {} in all.",
                Count(allocations),
                plural(allocations, "allocation", "allocations"),
                Bytes(bytes)
            ),
            "They are at the bottom from the start; what happened to them before is not known, and often not where they \
             were allocated.",
            "Start recording before the model is built to see where they come from.",
        ),
        FactKind::CarriedOver { events } => Words::of(
            match events {
                1 => "The first event repeats what was live where the file was cut off.".to_owned(),
                _ => format!(
                    "The first {} events repeat what was live where the file was cut off.",
                    Count(events)
                ),
            },
            "The memory was allocated earlier; in a file without segments, only these events show that it was live.",
            "",
        ),
        FactKind::RingFull {
            max_entries,
            certain,
        } => Words::of(
            ring_full(max_entries, certain),
            "The trace shows only the latest part; memory from before stands at the bottom as if it had always been there.",
            "Record with a larger max_entries, or dump earlier.",
        ),
        FactKind::SkippedActions { action } => Words::of(
            format!(
                "There is no {} event at all.",
                action.name().unwrap_or("such")
            ),
            "Lives of allocations may look longer or shorter than they were.",
            "Record without skip_actions.",
        ),
        _ => Words::default(),
    }
}

fn no_stacks(without: u64, before_recording: u64, of: u64) -> String {
    if without == of {
        return "No stacks were recorded with the allocations.".to_owned();
    }
    let older = if without == before_recording {
        ", all from before recording"
    } else {
        ""
    };
    let have = plural(without, "has", "have");
    let (without, of) = (Count(without), Count(of));
    format!("{without} of {of} allocations {have} no stack{older}.")
}

fn ring_full(max_entries: Option<u64>, certain: bool) -> String {
    let likely = if certain { "was" } else { "was probably" };
    let size = max_entries.map(|entries| format!(" ({} entries)", Count(entries)));
    let size = size.unwrap_or_default();
    format!("The event buffer{size} {likely} full: the oldest events are lost.")
}

/// Texts of facts about contradictions in the file.
fn of_contradictions(kind: FactKind) -> Words {
    match kind {
        FactKind::Skew {
            live_without_block,
            size_differs,
            not_completed,
            segment_events,
        } => Words::of(
            skew([
                live_without_block,
                size_differs,
                not_completed,
                segment_events,
            ]),
            "PyTorch copies the trace before it walks the segments; another thread may allocate in between. \
             A few places are normal; many mean that events were left out (skip_actions) or the file was altered.",
            "Dump while no other thread allocates.",
        ),
        FactKind::TracesGathered {
            without_segments,
            with_segments,
        } => Words::of(
            format!(
                "Traces of several ranks were probably gathered into this file: {} {} with live memory but {} no segments, and \
                 only {} {} them.",
                counted(without_segments, "trace"),
                plural(without_segments, "ends", "end"),
                plural(without_segments, "has", "have"),
                counted(with_segments, "device"),
                plural(with_segments, "has", "have"),
            ),
            "Each device is then a rank. Segments, settings and annotations are those of the rank that wrote the file: what the \
             others had reserved at the end, and how it was split, is not known.",
            "Have each rank write its own file, and give vramscope their folder.",
        ),
        FactKind::FreesMissing { allocations } => Words::of(
            format!(
                "{} {} at an address where another was still live.",
                Count(allocations),
                plural(allocations, "allocation was made", "allocations were made")
            ),
            "The free of the older one is not in the trace: it is shown as live until then, and may have been \
             freed long before.",
            "Record without skip_actions.",
        ),
        _ => Words::default(),
    }
}

/// The text of [`FactKind::Skew`]. Counts of 0 are left out.
fn skew(counts: [u64; 4]) -> String {
    let names = [
        (
            "live allocation without a block",
            "live allocations without a block",
        ),
        ("block of another size", "blocks of another size"),
        (
            "requested free never completed",
            "requested frees never completed",
        ),
        (
            "segment event that does not fit",
            "segment events that do not fit",
        ),
    ];
    let parts: Vec<_> = counts
        .into_iter()
        .zip(names)
        .filter(|(count, _)| *count > 0)
        .map(|(count, (one, many))| format!("{} {}", Count(count), plural(count, one, many)))
        .collect();
    let places = saturating_sum(counts.into_iter());
    format!(
        "Trace and final state disagree in {} {}: {}.",
        Count(places),
        plural(places, "place", "places"),
        parts.join(", ")
    )
}

/// Texts of facts about events during the recording.
fn of_events(kind: FactKind) -> Words {
    match kind {
        FactKind::OutOfMemory {
            events,
            requested_bytes,
            device_free_bytes,
            event,
        } => {
            let often = match events {
                1 => "once".to_owned(),
                events => format!("{} times", Count(events)),
            };
            Words::of(
                format!(
                    "Out of memory {often}: the last request, at event {}, was for {} with {}.",
                    Count(u64::from(event)),
                    Bytes(requested_bytes),
                    free_on_device(device_free_bytes)
                ),
                "PyTorch gives completely free segments back to the device before it fails. The free memory that it still held \
                 was in segments partly in use, where the request did not fit.",
                "",
            )
        }
        FactKind::PendingFree { allocations, bytes } => Words::of(
            format!(
                "{} freed {} of {} in all still {} for other streams at the end.",
                Count(allocations),
                plural(allocations, "allocation", "allocations"),
                Bytes(bytes),
                plural(allocations, "waits", "wait")
            ),
            "Their memory cannot be used again until the streams of record_stream() have passed.",
            "",
        ),
        _ => Words::default(),
    }
}

pub(super) fn plural<'a>(count: u64, one: &'a str, many: &'a str) -> &'a str {
    if count == 1 { one } else { many }
}

/// A warning in one line: its number, its text and its first places.
#[must_use]
pub fn warning_line(warning: &Warning) -> String {
    let places = warning.places.iter().map(String::as_str);
    let places: Vec<_> = places.filter(|place| !place.is_empty()).collect();
    let places = match places.as_slice() {
        [] => String::new(),
        places => format!(" (e.g. {})", places.join(", ")),
    };
    let text = warning_text(&warning.kind);
    format!("{} x {text}{places}", Count(warning.count))
}

/// The text of a warning.
#[must_use]
pub fn warning_text(kind: &WarningKind) -> String {
    let text = match kind {
        WarningKind::UnknownKey(key) => return format!("unknown key {key}, not read"),
        WarningKind::UnknownAction(action) => {
            let name = match action.as_str() {
                "" => String::new(),
                action => format!(" {}", quoted(action)),
            };
            return format!("unknown action{name}: what it did to memory is not known");
        }
        WarningKind::MissingKey(key) => return format!("missing {key}, taken as 0 or empty"),
        WarningKind::MissingSize => "an address, a size or an action is missing; 0 is taken for it",
        WarningKind::BlocksDoNotFillSegment => "blocks do not add up to their segment's total_size",
        WarningKind::BlocksNotContiguous => "a block does not begin where the one before it ends",
        WarningKind::SegmentSumsDiffer => "a segment's sums are not those of its blocks",
        WarningKind::SegmentsUnsorted => "segments are not in address order",
        WarningKind::SegmentsOverlap => "segments overlap",
        WarningKind::TimeRunsBackwards => {
            "an event's time lies before an earlier event's: annotations of that time cannot be placed"
        }
        WarningKind::TimeMissing => "an event has no time, but others have",
        WarningKind::MoreThanThereIs => "more memory is in use than there is",
        WarningKind::TotalsDiffer => {
            "a total in the file is not the sum of the events before: memory was allocated or freed without an event"
        }
        WarningKind::InvalidUtf8 => "text is not valid Unicode; the bad parts are replaced",
        WarningKind::TrailingBytes => "bytes after the end of the data",
        WarningKind::DamagedEnd => {
            "the snapshot is complete, but what follows it in its container is damaged or cut off"
        }
        WarningKind::CheckSumWrong => {
            "the check sum does not match: some of what was read is not what was written"
        }
        WarningKind::ImpossibleSize => {
            "a size is negative, beyond 2^48 bytes or too large for its place; no sum contains it"
        }
        WarningKind::FreedTwice => "an address is freed again with no allocation in between",
        WarningKind::AllocatedTwice => "an address is allocated again with no free in between",
        WarningKind::FreedSizeDiffers => "a free states another size than its allocation",
        WarningKind::ValuesLeftOut => {
            "values are left out: too many, nested too deeply, of another shape, or of a repeated key"
        }
        WarningKind::FurtherFiles => {
            "another snapshot in the same archive or page, which is not read: only the first is"
        }
    };
    text.to_owned()
}
