//! A training run whose second step does not fit. It ends in an `oom` entry with much live memory.

use crate::snapshot::{Producer, Snapshot};
use crate::stacks::Depth;
use crate::training::{self, Options, Scale};

/// Trains on a device too small for its batches.
#[must_use]
pub fn oom(seed: u64) -> Snapshot {
    let scale = Scale {
        device_bytes: 2560 << 20,
        ..Scale::SMALL
    };
    training::snapshot(&Options {
        events: 200_000,
        seed,
        producer: Producer::Python(2, 8),
        scale,
        depth: Depth::All,
        ..Options::default()
    })
}
