//! A recording with `enabled="state"`: blocks with stacks, and a trace of one entry without a stack.

use crate::snapshot::{Producer, Snapshot};
use crate::stacks::Depth;
use crate::training::{self, Options, Scale};

/// The state in the middle of a training step.
#[must_use]
pub fn state_only(seed: u64) -> Snapshot {
    let mut snapshot = training::snapshot(&Options {
        events: 4_000,
        seed,
        producer: Producer::Python(2, 8),
        scale: Scale::SMALL,
        depth: Depth::All,
        ..Options::default()
    });
    for trace in &mut snapshot.device_traces {
        trace.drain(..trace.len().saturating_sub(1));
        trace.iter_mut().for_each(|entry| entry.frames = None);
    }
    snapshot
}
