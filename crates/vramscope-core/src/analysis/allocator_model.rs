//! PyTorch's caching allocator as a model: a recorded trace is run through it again, with its own settings or others.
//!
//! [`check`] runs a trace with its own settings beside the recording and counts where the two part; only that
//! tells how far a what-if can be trusted. [`replay`] answers the what-if: same program, other settings.
//!
//! # What is taken from the recording, what is not
//! Requests, frees, streams, pools, and the moments at which frees complete are the program's and stay as they were;
//! so does `empty_cache()`. What the allocator did by itself is not looked at: segments, retries, garbage collection.
//! A program that had been refused a request might have gone on differently had it been served: a request that is
//! now refused is left out with its free, and one that was refused then is tried, and given back at once if served.
//!
//! # What is not modelled
//! Pools that may not be split or that serve as a reserve (`MemPool(no_split=True)`, `use_on_oom`) or have an
//! allocator of their own; settings that are changed while the program runs; fragmentation inside of CUDA.

mod allocator;
mod blocks;
mod check;
mod expandable;
mod program;
mod recorded;
mod recorded_device;
mod release;
mod reserved;
mod settings;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use self::allocator::{Allocator, Driver, NONE};
pub use self::check::{Agreement, Check, CheckRun, Difference, check};
use self::program::{Call, Program, live_at_start};
use self::recorded::Recorded;
pub(super) use self::settings::lower_limit;
pub use self::settings::{Allowed, ModelSettings};
use super::allocator_state::{AllocatorIndex, Recording};
use super::byte_steps::bytes_at;
use super::gap::Arena;
use crate::ids::AllocationId;

/// From what a replay starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
    /// The segments and blocks that were there when the recording began: to check the model.
    AsRecorded,
    /// An empty allocator, which is first asked for what was live when the recording began: to compare
    /// settings. In which order the program had asked is not known: it is taken to be that of addresses.
    Afresh,
}

/// A request that the modelled allocator refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Refused {
    /// The moment that begins with it.
    pub moment: u32,
    /// Requested bytes; of requests that had failed in the recording too, rounded.
    pub bytes: u64,
}

/// What the model held.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Outcome {
    /// Bytes of all segments, as steps: (first moment, bytes from then on), ascending; the first is moment 0.
    pub reserved_steps: Vec<(u32, u64)>,
    /// The most reserved at a moment, and the first moment of it.
    pub peak_reserved_bytes: u64,
    /// See `peak_reserved_bytes`.
    pub peak_moment: u32,
    /// Bytes of free blocks at that moment.
    pub free_bytes_at_peak: u64,
    /// Bytes by which blocks are larger than what was asked for, at that moment.
    pub rounding_bytes_at_peak: u64,
    /// The most reserved at a moment by each pool and stream, requests of all sizes together; the largest first.
    pub arena_peaks: Vec<(Arena, u64)>,
    /// Requests that were refused, oldest first; what follows in the trace goes on without them.
    pub refused: Vec<Refused>,
    /// Requests that failed in the recording and would not have, oldest first.
    pub rescued: Vec<Refused>,
    /// For how many requests all cached segments were given back to CUDA because memory was short
    /// (`num_alloc_retries`).
    pub retries: u64,
}

impl Outcome {
    /// Bytes of all segments at a moment.
    #[must_use]
    pub fn reserved_bytes(&self, moment: u32) -> u64 {
        bytes_at(&self.reserved_steps, moment)
    }

    fn note(&mut self, moment: u32, allocator: &mut Allocator) {
        allocator.reserved.end_moment();
        let reserved = allocator.reserved.bytes;
        if self
            .reserved_steps
            .last()
            .is_some_and(|last| last.1 == reserved)
        {
            return;
        }
        self.reserved_steps.push((moment, reserved));
        if reserved > self.peak_reserved_bytes {
            self.peak_reserved_bytes = reserved;
            self.peak_moment = moment;
            self.free_bytes_at_peak = reserved.saturating_sub(allocator.active);
            self.rounding_bytes_at_peak = allocator.active.saturating_sub(allocator.requested);
        }
    }
}

/// Runs one device's trace through the model. Time in proportion to the events, some tenths of a second per million.
#[must_use]
pub fn replay(recording: Recording<'_>, settings: &ModelSettings, start: Start) -> Outcome {
    let mut run = Run::new(recording, settings, start);
    run.run(recording, &mut || false);
    run.into_outcome()
}

/// After so many events a run asks whether its time is over: some hundred µs.
const EVENTS_BETWEEN_LOOKS: u32 = 1_024;

/// Where the addresses begin that the model makes up.
const FIRST_ADDRESS: u64 = 1 << 32;

/// A device of which the modelled program has so much.
struct Device {
    free: u64,
    next_address: u64,
    /// What the program freed and other streams may still be using: allocation, block.
    pending: BTreeMap<AllocationId, u32>,
    /// What has become free since it was last looked at, because all streams were waited for.
    completed: Vec<AllocationId>,
}

impl Driver for Device {
    fn malloc(&mut self, bytes: u64) -> Option<u64> {
        if bytes > self.free {
            return None;
        }
        let address = self.reserve(bytes)?;
        self.free -= bytes;
        Some(address)
    }

    fn reserve(&mut self, bytes: u64) -> Option<u64> {
        let address = self.next_address;
        self.next_address = address.checked_add(bytes)?;
        Some(address)
    }

    fn map(&mut self, _address: u64, bytes: u64) -> bool {
        let fits = bytes <= self.free;
        if fits {
            self.free -= bytes;
        }
        fits
    }

    fn give_back(&mut self, _address: u64, bytes: u64) {
        self.free = self.free.saturating_add(bytes);
    }

    fn synchronise(&mut self) -> Vec<u32> {
        let pending = std::mem::take(&mut self.pending);
        self.completed.extend(pending.keys());
        pending.into_values().collect()
    }
}

/// [`replay`] in slices.
pub struct Run {
    program: Program,
    allocator: Allocator,
    /// Allocation → its block, or [`NONE`].
    blocks: Vec<u32>,
    device: Device,
    /// The next moment.
    moment: u32,
    outcome: Outcome,
}

impl Run {
    /// As it is at the start.
    #[must_use]
    pub fn new(recording: Recording<'_>, settings: &ModelSettings, start: Start) -> Self {
        let allocations = recording.history.allocations.len();
        let recorded = match start {
            Start::AsRecorded => {
                let state = AllocatorIndex::of(recording).state_at(recording, 0);
                Recorded::of(settings, &state, allocations)
            }
            Start::Afresh => Recorded {
                allocator: Allocator::new(settings.clone()),
                blocks: vec![NONE; allocations],
            },
        };
        let capacity = settings.capacity_bytes.unwrap_or(u64::MAX);
        let ends = recorded.allocator.blocks.iter();
        let end = ends.map(|block| block.address.saturating_add(block.bytes));
        let device = Device {
            free: capacity.saturating_sub(recorded.allocator.reserved.bytes),
            // New memory mostly lies above what there is.
            next_address: end.max().unwrap_or(0).max(FIRST_ADDRESS),
            pending: BTreeMap::new(),
            completed: Vec::new(),
        };
        let mut run = Self {
            program: Program::of(recording).with_late_frees(recording),
            allocator: recorded.allocator,
            blocks: recorded.blocks,
            device,
            moment: 1,
            outcome: Outcome::default(),
        };
        if start == Start::Afresh {
            for id in live_at_start(recording.history) {
                run.act(recording, 0, Call::Malloc(id));
            }
        }
        run.outcome.note(0, &mut run.allocator);
        run
    }

    /// Goes on until `is_over`, at least by some events; whether the trace is at its end. `recording` is the one that it was made of.
    pub fn run(&mut self, recording: Recording<'_>, is_over: &mut dyn FnMut() -> bool) -> bool {
        let mut calls = Vec::new();
        while self.moment <= recording.history.event_count {
            let moment = self.moment;
            self.program
                .calls(recording, moment, |call| calls.push(call));
            for call in calls.drain(..) {
                self.act(recording, moment, call);
            }
            self.outcome.note(moment, &mut self.allocator);
            self.moment += 1;
            if moment.is_multiple_of(EVENTS_BETWEEN_LOOKS) && is_over() {
                break;
            }
        }
        self.moment > recording.history.event_count
    }

    /// What the model held by now, without what is counted at the end.
    #[must_use]
    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// What the model held by now.
    #[must_use]
    pub fn into_outcome(mut self) -> Outcome {
        self.outcome.retries = self.allocator.retries;
        self.outcome.arena_peaks = self.allocator.reserved.peaks();
        self.outcome
    }

    fn act(&mut self, recording: Recording<'_>, moment: u32, call: Call) {
        match call {
            Call::Malloc(id) => {
                let (bytes, stream, pool) = self.program.request(recording, id);
                let request = self.allocator.request(bytes, stream, pool);
                match self.allocator.malloc(request, bytes, &mut self.device) {
                    Some(row) => self.blocks[id.index()] = row,
                    None => self.outcome.refused.push(Refused { moment, bytes }),
                }
            }
            Call::Refused {
                bytes,
                stream,
                pool,
            } => {
                let request = self.allocator.request(bytes, stream, pool);
                match self.allocator.malloc(request, bytes, &mut self.device) {
                    Some(row) => {
                        self.allocator.free(row);
                        self.outcome.rescued.push(Refused { moment, bytes });
                    }
                    None => self.outcome.refused.push(Refused { moment, bytes }),
                }
            }
            Call::FreeRequested(id) => {
                let row = self.blocks[id.index()];
                if row != NONE {
                    self.device.pending.insert(id, row);
                }
            }
            Call::Free(id) => self.free(id),
            Call::EmptyCache => self.allocator.release_cached(&mut self.device),
            Call::ReleasePool(pool) => self.allocator.release_private(pool, &mut self.device),
            Call::Abandon(pool) => self.allocator.abandon(pool),
            Call::ForRequest => {}
        }
        for id in self.device.completed.drain(..) {
            self.blocks[id.index()] = NONE;
        }
    }

    /// Frees an allocation's block, unless it was refused, or became free while all streams were waited for.
    fn free(&mut self, id: AllocationId) {
        let row = std::mem::replace(&mut self.blocks[id.index()], NONE);
        if row != NONE {
            self.device.pending.remove(&id);
            self.allocator.free(row);
        }
    }
}

#[cfg(test)]
mod tests;
