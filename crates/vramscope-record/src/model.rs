//! What a recording says about memory: the segments and blocks of now, and the events that led there.
//!
//! Records are pushed as they come. Memory for history is bounded where [`RecordingOptions::max_entries`] is; what is
//! live, and each distinct stack and text, is always kept.

mod annotations;
mod calls;
mod journal;
mod names;
mod physical;
mod pools;
mod samples;
mod space;

use std::collections::{HashMap, HashSet};

use vramscope_core::model::Action;

use crate::layout;
use crate::reader::{Damage, Record};
pub(crate) use annotations::Annotations;
use journal::PoolRow;
pub(crate) use journal::{By, Entry, Journal, Place, Trace};
pub(crate) use names::Names;
use physical::Released;
use samples::Samples;
use space::Undo;
pub(crate) use space::{Keeping, ROUNDING_BYTES, Segment, Space};

/// What is to be kept, and shown.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RecordingOptions {
    /// How much history.
    pub enabled: Enabled,
    /// The newest so many trace entries of each device are kept; `None` for all.
    pub max_entries: Option<usize>,
    /// Trace entries of these kinds are left out.
    pub skip_actions: Vec<Action>,
    /// Only this device's memory; `None` for all.
    pub device: Option<u32>,
}

/// torch's `enabled`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Enabled {
    /// What is held at the end, and no history.
    State,
    /// All events; frees have the stack of what they free.
    Alloc,
    /// All events, each with its own stack.
    #[default]
    All,
}

/// An array: memory without an address.
#[derive(Clone, Copy, Debug)]
struct Array {
    device: u8,
    bytes: u64,
    context: u64,
}

/// A free, which is written before the driver is asked, and may turn out to have been refused.
#[derive(Clone, Debug, Default)]
struct LastFree {
    /// Its call, address and pool; `None` if it was refused.
    what: Option<(u8, u64, u64)>,
    undo: Undo,
    gone: Gone,
}

/// What else a free took away than segments and blocks.
#[derive(Clone, Debug, Default)]
enum Gone {
    /// Nothing else.
    #[default]
    Memory,
    /// An allocation of no bytes.
    Empty,
    /// One opening of several of the same memory.
    Opening,
    Pool(Option<PoolRow>),
    Physical(Option<Released>),
    Array(Option<Array>),
}

/// How often what happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) records: u64,
    pub(crate) events: u64,
    /// Frees of what nobody saw allocated.
    pub(crate) unknown_frees: u64,
    /// Allocations of no bytes.
    pub(crate) empty_allocations: u64,
    /// Calls that a newer version of the layout has.
    pub(crate) unknown_calls: u64,
    /// What cannot have happened as it is recorded.
    pub(crate) impossible: u64,
    pub(crate) out_of_memory: u64,
}

/// A recording as far as it was read.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    pub(crate) options: RecordingOptions,
    pub(crate) names: Names,
    pub(crate) journal: Journal,
    /// Memory of all devices, which share one address space.
    pub(crate) device: Space,
    /// Pinned memory of the host.
    pub(crate) host: Space,
    pub(crate) annotations: Annotations,
    pub(crate) samples: Samples,
    arrays: HashMap<u64, Array>,
    /// Addresses given out for no bytes.
    empty_allocations: HashSet<u64>,
    /// How often memory of other processes was opened again.
    opened: HashMap<u64, u64>,
    /// The last free of each thread.
    last_frees: HashMap<u32, LastFree>,
    pub(crate) counts: Counts,
    pub(crate) damage: Vec<Damage>,
}

impl Recording {
    /// Nothing yet.
    #[must_use]
    pub fn new(options: RecordingOptions) -> Self {
        Self {
            journal: Journal::new(options.clone()),
            annotations: Annotations::new(options.max_entries),
            options,
            ..Self::default()
        }
    }

    /// What a record says.
    pub fn push(&mut self, record: Record<'_>) {
        self.counts.records += 1;
        match record {
            Record::Event(event) => self.event(&event),
            Record::Stack { number, addresses } => self.names.add_stack(number, addresses),
            Record::Text { number, text } => self.names.add_text(number, text),
            Record::Annotation(annotation) => self.annotation(&annotation),
            Record::Program(program) => self.names.set_program(program),
            Record::Module {
                module,
                build_id,
                path,
            } => self.names.add_module(module, build_id, path),
            Record::Thread { thread, name } => self.names.add_thread(thread, name),
            Record::Device { device, name } => {
                if let Ok(number) = u8::try_from(device.ordinal) {
                    self.journal.add_device(number);
                    self.names.add_device(number, device, name);
                }
            }
            Record::Pool(pool) => self.pool(&pool),
            Record::Memory(memory) => {
                self.journal.advance(memory.time_ns);
                if let Ok(device) = u8::try_from(memory.device) {
                    self.sample(device, memory.free_bytes, memory.total_bytes);
                }
            }
            Record::Dump { time_ns, .. } => self.dumped(time_ns),
            Record::Note(note) => self.names.add_note(note),
        }
    }

    /// Adds what the reader skipped since the last time: what [`Records::damage`](crate::reader::Records::damage)
    /// says of each stretch of the log.
    pub fn add_damage(&mut self, damage: &[Damage]) {
        for new in damage {
            match self.damage.iter_mut().find(|old| old.kind == new.kind) {
                Some(old) => old.count = old.count.saturating_add(new.count),
                None => self.damage.push(*new),
            }
        }
    }

    /// Allocations that failed for want of memory until now.
    #[must_use]
    pub fn out_of_memory_count(&self) -> u64 {
        self.counts.out_of_memory
    }

    /// Bytes of arrays by device: memory that has no address, and so no block.
    pub(crate) fn array_bytes(&self) -> std::collections::BTreeMap<u8, u64> {
        let mut sums = std::collections::BTreeMap::new();
        #[expect(clippy::iter_over_hash_type, reason = "sums have no order")]
        for array in self.arrays.values() {
            let sum: &mut u64 = sums.entry(array.device).or_default();
            *sum = sum.saturating_add(array.bytes);
        }
        sums
    }

    fn annotation(&mut self, annotation: &layout::Annotation) {
        // A range on a stream is told when it is asked for, and says when the stream got there.
        let time_us = if annotation.stream == 0 {
            self.journal.advance(annotation.time_ns);
            self.journal.time_us
        } else {
            (annotation.time_ns / 1000) as i64
        };
        self.annotations.push(annotation, time_us);
    }

    fn pool(&mut self, pool: &layout::Pool) {
        self.journal.advance(pool.time_ns);
        let row = self.sampled_pool(pool.pool, pool.is_default != 0);
        let chosen = self.device.pools.given_back(row, pool.reserved_bytes);
        self.device.undo.clear();
        self.give_back(&chosen, By::default());
    }

    /// A snapshot was taken here: the event of it is in the next one, as torch does it.
    fn dumped(&mut self, time_ns: u64) {
        self.journal.advance(time_ns);
        for device in 0..=u8::MAX {
            if usize::from(device) >= self.journal.devices.len() {
                break;
            }
            let entry = Entry {
                action: Action::Snapshot,
                is_undone: false,
                by: By::default(),
                pool: 0,
                note: 0,
                address: 0,
                bytes: self.device.live_bytes(device),
                stream: 0,
                time_us: 0,
            };
            self.journal.push(Place::Device(device), entry);
        }
    }
}
