//! Facts about snapshots made from a profiler's files, and the wording of other facts for them.

use super::words::Words;
use super::{Fact, FactKind};
use crate::model::{DeviceKind, Profile, ProfileKind};
use crate::units::Bytes;

/// Describes a profile.
pub(super) fn words(form: ProfileKind) -> Words {
    match form {
        ProfileKind::Trace => Words::of(
            "This is a trace of torch.profiler.",
            "Sizes on a GPU are those of blocks, not of requests. Stacks have operators and Python functions, these at the line where \
             they begin.",
            "",
        ),
        ProfileKind::RawTimeline => Words::of(
            "This is a memory timeline of torch.profiler: sizes and categories, without addresses.",
            "Among tensors of one size and category, the latest is assumed to be the one that was dropped. A tensor whose \
             category changes \
             appears as another.",
            "",
        ),
        ProfileKind::Timeline => Words::of(
            "This is a memory timeline of torch.profiler: the sum of each category over time.",
            "Growth of a category is shown as an allocation: sums are exact, but no band is a tensor.",
            "export_memory_timeline writes tensors to a file whose name ends in .raw.json.gz.",
        ),
    }
}

fn is_host(fact: &Fact, profile: &Profile) -> bool {
    let device = fact.device.and_then(|device| profile.device(device));
    device.is_some_and(|device| device.kind == DeviceKind::Cpu)
}

/// Words a fact for a profile.
pub(super) fn reword(fact: &mut Fact, profile: &Profile) {
    let is_trace = profile.kind == ProfileKind::Trace;
    match fact.kind {
        FactKind::NoSegments => {
            "torch.profiler records no segments.".clone_into(&mut fact.text);
            "Reserved memory over time and fragmentation are not known; allocations are."
                .clone_into(&mut fact.meaning);
            // Snapshots cover GPUs only.
            match is_host(fact, profile) {
                true => fact.advice.clear(),
                false => "A snapshot of torch.cuda.memory._record_memory_history() has them."
                    .clone_into(&mut fact.advice),
            }
            let device = fact.device.and_then(|device| profile.device(device));
            if let Some(bytes) = device.and_then(|device| device.peak_reserved_bytes) {
                fact.text = format!(
                    "torch.profiler records no segments: only the highest total of reserved memory is known, {}.",
                    Bytes(bytes)
                );
            }
        }
        FactKind::NoStacks { .. } if !fact.advice.is_empty() => {
            fact.advice = match is_trace {
                true => "Record with with_stack=True.".to_owned(),
                false => {
                    "export_chrome_trace of a profile with with_stack=True has them.".to_owned()
                }
            };
        }
        // The file does not contain free memory and segments.
        FactKind::OutOfMemory { .. } => fact.meaning.clear(),
        FactKind::BeforeRecording { .. } => {
            if is_trace {
                "Those that are not freed either are known only as a sum, which counts as one of them."
                    .clone_into(&mut fact.meaning);
            }
            "Start the profiler before the model is built, without a schedule that waits, to see where they come from."
                .clone_into(&mut fact.advice);
        }
        _ => {}
    }
}
