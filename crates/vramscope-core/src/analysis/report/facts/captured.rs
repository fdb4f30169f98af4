//! Facts about captured snapshots, and the wording of other facts for them.

use super::words::{Words, fact, plural};
use super::{Fact, FactKind};
use crate::Snapshot;
use crate::analysis::memory::capture::{AllocatorKind, Capture, Ended, has_torch};
use crate::units::{Bytes, Count};

/// The meaning of lost records.
pub const LOST: &str = "If a free is missing, memory looks live to the end; lost allocations are missing. A log that is \
                        followed (--live, --max-entries) continues as soon as there is room, so the gap is in the middle; \
                        otherwise everything after it is missing.";

/// How to avoid losing records.
pub const MORE_ROOM: &str = "Capture with more room (--cap). With --live or --max-entries, see that the program that follows keeps up.";

/// The facts about the capture; empty for other snapshots.
pub(super) fn facts(snapshot: &Snapshot) -> Vec<Fact> {
    let Some(capture) = Capture::of(snapshot) else {
        return Vec::new();
    };
    let of_file = |kind| fact(kind, None, AllocatorKind::Driver);
    let mut facts = Vec::new();
    match capture.ended {
        Ended::RecorderFailed => facts.push(of_file(FactKind::RecorderFailed)),
        Ended::WithoutNotice => facts.push(of_file(FactKind::EndedWithoutNotice)),
        Ended::Running | Ended::InOrder | Ended::Unknown => {}
    }
    if capture.dropped_records > 0 {
        let records = capture.dropped_records;
        facts.push(of_file(FactKind::RecordsLost { records }));
    }
    facts.extend(capture.lost.iter().map(|lost| Fact {
        text: lost.sentence(),
        ..of_file(FactKind::NotRecorded { times: lost.times })
    }));
    facts.extend(capture.notes.iter().map(|note| Fact {
        text: note.clone(),
        ..of_file(FactKind::CaptureNote)
    }));
    if has_torch(snapshot) {
        facts.push(of_file(FactKind::TorchCaptured));
    }
    let devices = capture.devices.iter();
    facts.extend(devices.filter_map(|device| {
        let other = device.other?;
        let kind = FactKind::OtherMemory {
            last_bytes: other.last_bytes,
            highest_bytes: other.highest_bytes,
            device_bytes: device.total_bytes,
        };
        Some(fact(kind, Some(device.index), AllocatorKind::Driver))
    }));
    facts
}

/// The texts of facts that only captured snapshots have. Notes and losses come with their own text.
pub(super) fn words(kind: FactKind) -> Words {
    match kind {
        FactKind::EndedWithoutNotice => Words::of(
            "The program was killed or crashed; everything it did until then is here.",
            "Memory that was live then is shown as live to the end.",
            "",
        ),
        FactKind::RecorderFailed => Words::of(
            "The recorder switched itself off in the middle after an error of its own.",
            "What the program did afterwards is missing.",
            "The notes contain the error: please report it.",
        ),
        FactKind::RecordsLost { records } => Words::of(
            format!(
                "{} {} lost because the log was full.",
                Count(records),
                plural(records, "record was", "records were")
            ),
            LOST,
            MORE_ROOM,
        ),
        FactKind::NotRecorded { .. } => Words::of(
            "",
            "The recording looks complete and is not.",
            "Please report it, with what the driver and the program are.",
        ),
        FactKind::TorchCaptured => Words::of(
            "The program used PyTorch: the segments of its allocator are shown, not its tensors.",
            "Each allocation is a cudaMalloc by PyTorch, which serves many tensors from it; the free memory inside is not \
             known here.",
            "torch.cuda.memory._record_memory_history() and _dump_snapshot() show the tensors.",
        ),
        FactKind::OtherMemory {
            last_bytes,
            highest_bytes,
            device_bytes,
        } => {
            let of = device_bytes.map(|bytes| format!(" of the device's {}", Bytes(bytes)));
            Words::of(
                format!(
                    "{}{} were held by others at the end, {} at the most.",
                    Bytes(last_bytes),
                    of.unwrap_or_default(),
                    Bytes(highest_bytes)
                ),
                "Other processes, CUDA contexts, modules and the driver itself had it: the device's total minus free and \
                 captured memory.",
                "",
            )
        }
        _ => Words::default(),
    }
}

const CAPTURE_ALL: &str = "Capture with --enabled all, which is the default.";

/// The meaning of a fact for a captured snapshot, and how to capture better. `None` if the general text applies.
pub(super) fn meaning_and_advice(kind: FactKind) -> Option<[&'static str; 2]> {
    Some(match kind {
        FactKind::Nothing => [
            "There is nothing to show: no CUDA allocation of this program was seen.",
            "Statically linked programs, setuid programs and those that load CUDA with RTLD_DEEPBIND cannot be captured. \
             vramscope-capture does not look into containers: run it inside.",
        ],
        FactKind::NoTrace => [
            "Only the final state is known; it is shown as flat bands.",
            CAPTURE_ALL,
        ],
        FactKind::StateOnly => [
            "Only the final state is known; it is shown as flat bands. What was allocated and freed before is not in the file.",
            CAPTURE_ALL,
        ],
        FactKind::NoTimes => ["Only the event axis can be shown.", ""],
        FactKind::NoSegments => [
            "What the driver had mapped is not known; allocations are.",
            "",
        ],
        FactKind::NoStacks {
            without,
            before_recording,
            of,
        } if without == before_recording && without < of => return None,
        FactKind::NoStacks { .. } => [
            "They cannot be told apart by where they were made.",
            "Capture with --stacks native; with a program that was not stripped, or its debug files beside it, stacks \
             show functions and lines.",
        ],
        FactKind::BeforeRecording { .. } => [
            "They are at the bottom from the start; what happened to them before is not in the file.",
            "Capture the program from its start, and without --max-entries or with a larger one.",
        ],
        FactKind::RingFull { .. } => [
            "The trace shows only the latest part; memory from before stands at the bottom as if it had always been there.",
            "Capture with a larger --max-entries, or without it.",
        ],
        FactKind::SkippedActions { .. } => [
            "Lives of allocations may look longer or shorter than they were.",
            "Capture without --skip-actions.",
        ],
        FactKind::OutOfMemory { .. } => [
            "The free memory of the driver's pools could not serve the request.",
            "",
        ],
        FactKind::Skew { .. } => [
            "Both come from one log: records are missing (--skip-actions or a full log), or the driver did not report its \
             mappings as they are.",
            "",
        ],
        FactKind::FreesMissing { .. } => [
            "The free of the older one is not in the trace: it is shown as live until then, and may have been \
             freed long before.",
            "Capture without --skip-actions, and with room enough (--cap).",
        ],
        FactKind::PendingFree { .. } => ["Their memory cannot be used again yet.", ""],
        _ => return None,
    })
}
