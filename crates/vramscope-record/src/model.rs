//! A driver's memory in torch's terms: the current segments and blocks, and the trace entries that led to them.
//!
//! Segments are the driver's mappings. Blocks are the allocations that the driver returned. Neither ever overlaps,
//! whatever a log says: the newest record is right, and older memory that contradicts it is ended and counted.
//!
//! A free is in the log before the driver is called. If the driver refuses it, a later record says so, and the
//! entries of the free are withdrawn (`space/undo.rs`).
//!
//! [`Recording::push`] takes the records one by one. History is bounded by [`RecordingOptions::max_entries`]; live memory
//! and each distinct stack and text are always kept. `tests/it/random.rs` compares this model with a simple driver.

mod annotations;
mod arrays;
mod calls;
mod journal;
mod names;
mod physical;
mod pools;
mod samples;
mod space;

use std::collections::{BTreeMap, HashMap, HashSet};

use vramscope_core::model::Action;

use crate::layout::{self, pool_flags};
use crate::reader::{Damage, Record};
pub(crate) use annotations::Annotations;
use arrays::{Array, Arrays};
use journal::PoolRow;
pub(crate) use journal::{Entry, Journal, Location, Origin, Trace};
pub(crate) use names::Names;
use physical::Released;
use pools::{Figures, PoolPlace, Usage};
use samples::{MAX_POOL_SAMPLES, MAX_SAMPLES, PoolSample, Sample, Samples};
use space::Undo;
pub(crate) use space::{ROUNDING_BYTES, Retention, Segment, Space};

/// Which part of a recording is kept and goes into the snapshot.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RecordingOptions {
    /// How much history to keep.
    pub enabled: Enabled,
    /// Keep only this many of the newest trace entries of each device. `None` keeps all.
    pub max_entries: Option<usize>,
    /// Leave out trace entries with these actions.
    pub skip_actions: Vec<Action>,
    /// Keep only this device's memory. `None` keeps all devices.
    pub device: Option<u32>,
}

/// The modes of `enabled` in `torch.cuda.memory._record_memory_history`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Enabled {
    /// The memory held at the end, without history.
    State,
    /// All events. A free carries the stack of its allocation.
    Alloc,
    /// All events, each with its own stack.
    #[default]
    All,
}

/// The last free of a thread. It is logged before the driver is called, and may be withdrawn by a later record.
#[derive(Clone, Debug, Default)]
struct LastFree {
    /// Call, address and pool of the free; `None` once it was withdrawn.
    key: Option<(u8, u64, u64)>,
    undo: Undo,
    resource: FreedResource,
    is_host: bool,
}

/// Memory of a pool after its device's primary context ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Uncertain {
    pub(crate) device: u8,
    pub(crate) bytes: u64,
}

/// The resource that a free released besides blocks and segments. Stored to restore it if the driver refuses the free.
#[derive(Clone, Debug, Default)]
enum FreedResource {
    #[default]
    Blocks,
    EmptyAllocation,
    /// One of several openings of the same imported memory.
    ImportOpening,
    Pool(Option<DestroyedPool>),
    Physical(Option<Released>),
    Array(Option<Array>),
}

/// What was removed with a destroyed pool.
#[derive(Clone, Debug)]
struct DestroyedPool {
    row: PoolRow,
    figures: Option<Figures>,
    uncertain: Option<Uncertain>,
    /// What the device's remaining pools held.
    sample: Option<PoolSample>,
}

/// Counters for the report and its notes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) records: u64,
    pub(crate) events: u64,
    /// Frees of memory whose allocation is not in the log.
    pub(crate) unknown_frees: u64,
    pub(crate) empty_allocations: u64,
    /// Calls that only a newer version of the layout knows.
    pub(crate) unknown_calls: u64,
    /// Records that contradict themselves, such as an address range beyond 64 bits.
    pub(crate) impossible: u64,
    pub(crate) out_of_memory: u64,
}

/// The state of a recording after the records pushed so far.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    pub(crate) options: RecordingOptions,
    pub(crate) names: Names,
    pub(crate) journal: Journal,
    /// Memory of all devices, which share one address space.
    pub(crate) device: Space,
    pub(crate) host: Space,
    pub(crate) annotations: Annotations,
    pub(crate) samples: Samples<Sample, MAX_SAMPLES>,
    pub(crate) pool_samples: Samples<PoolSample, MAX_POOL_SAMPLES>,
    /// Pools that held memory when their device's primary context ended. It is unknown whether that memory ended, too.
    pub(crate) uncertain: BTreeMap<PoolRow, Uncertain>,
    /// The last end of a device's primary context.
    last_ends: HashMap<u8, Origin>,
    pub(crate) arrays: Arrays,
    /// Addresses returned for allocations of 0 bytes.
    empty_allocations: HashSet<u64>,
    /// Number of additional openings of imported memory, by address.
    opened: HashMap<u64, u64>,
    /// Last free by thread.
    last_frees: HashMap<u32, LastFree>,
    pub(crate) counts: Counts,
    pub(crate) damage: Vec<Damage>,
    pub(crate) read_us: Option<i64>,
}

impl Recording {
    /// An empty recording.
    #[must_use]
    pub fn new(options: RecordingOptions) -> Self {
        Self {
            journal: Journal::new(options.clone()),
            annotations: Annotations::new(options.max_entries),
            options,
            ..Self::default()
        }
    }

    /// Applies one record.
    pub fn push(&mut self, record: Record<'_>) {
        self.counts.records += 1;
        match record {
            Record::Event(event) => self.push_event(&event),
            Record::Stack { number, addresses } => self.names.add_stack(number, addresses),
            Record::Text { number, text } => self.names.add_text(number, text),
            Record::Annotation {
                annotation,
                attributes,
            } => self.push_annotation(&annotation, attributes),
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
            Record::Pool(pool) => self.push_pool_sample(&pool),
            Record::Memory(memory) => {
                self.journal.advance(memory.time_ns);
                if let Ok(device) = u8::try_from(memory.device) {
                    self.push_memory_sample(device, memory.free_bytes, memory.total_bytes);
                }
            }
            Record::Dump { time_ns, .. } => self.push_snapshot_events(time_ns),
            Record::Note(note) => self.names.add_note(note),
            Record::Name { of, name } => self.names.add_name(of, name),
        }
    }

    /// Adds the damage that [`Records::damage`](crate::reader::Records::damage) reports for one stretch of the log.
    pub fn add_damage(&mut self, damage: &[Damage]) {
        for new in damage {
            match self.damage.iter_mut().find(|old| old.kind == new.kind) {
                Some(old) => old.count = old.count.saturating_add(new.count),
                None => self.damage.push(*new),
            }
        }
    }

    /// Sets the time up to which the log of a running program was read, in µs since the Unix epoch. Snapshots state it from
    /// now on.
    pub fn set_read_time(&mut self, time_us: i64) {
        self.read_us = Some(time_us);
    }

    /// Number of allocations that failed for lack of memory so far.
    #[must_use]
    pub fn out_of_memory_count(&self) -> u64 {
        self.counts.out_of_memory
    }

    fn push_annotation(&mut self, annotation: &layout::Annotation, attributes: layout::Attributes) {
        // Streams reach their points while other threads write records, so these times must not advance the journal's.
        let time_us = if annotation.flags & layout::ON_STREAM == 0 {
            self.journal.advance(annotation.time_ns);
            self.journal.time_us
        } else {
            (annotation.time_ns / 1000) as i64
        };
        self.annotations.push(annotation, attributes, time_us);
    }

    fn push_pool_sample(&mut self, pool: &layout::Pool) {
        self.journal.advance(pool.time_ns);
        let device = u8::try_from(pool.device).unwrap_or(0);
        let row = self.sampled_pool(pool, device);
        self.device.undo.clear();
        if pool.flags & pool_flags::CONTEXT_ENDED != 0
            && let Some(uncertain) = self.take_uncertain(row)
            && pool.used_bytes == 0
        {
            let origin = self.last_ends.get(&uncertain.device).copied();
            self.device
                .end_pool(&mut self.journal, row, origin.unwrap_or_default());
        }
        let pools = &self.device.pools;
        let chosen = pools.released_segments(row, pool.reserved_bytes);
        self.release_segments(chosen, Origin::default());
        let pools = &mut self.device.pools;
        // The first sample is taken before the record of the allocation that made the pool grow.
        let is_first = pool.flags & pool_flags::GRAPHS == 0 && pools.get(row).is_new();
        pools.set_figures(row, device, (pool.reserved_bytes, pool.used_bytes));
        if pools.get(row).is_inexact() {
            let empty = pools.empty_segments(row);
            self.release_segments(empty, Origin::default());
        }
        let mut usage = self.device.pools.usage(device);
        let now = self.device.pools.get(row);
        if is_first && now.place == PoolPlace::Device {
            usage.unplaced_bytes -= now.unplaced_bytes();
        }
        self.push_pool_usage(device, usage);
    }

    /// Takes what was unknown about a pool's memory. From now on it is known, until the next end of a context.
    fn take_uncertain(&mut self, row: PoolRow) -> Option<Uncertain> {
        let uncertain = self.uncertain.remove(&row)?;
        self.device.name_again(uncertain.device, row);
        Some(uncertain)
    }

    /// Adds a sample of the memory in a device's pools, and returns it.
    fn push_pool_usage(&mut self, device: u8, usage: Usage) -> PoolSample {
        let sample = PoolSample {
            device,
            time_us: self.journal.time_us,
            usage,
        };
        self.pool_samples.push(sample);
        sample
    }

    /// Adds the event of a snapshot taken here. As in torch, it appears in the *next* snapshot.
    fn push_snapshot_events(&mut self, time_ns: u64) {
        self.journal.advance(time_ns);
        for device in 0..=u8::MAX {
            if usize::from(device) >= self.journal.devices.len() {
                break;
            }
            let bytes = self.device.live_bytes(device);
            let entry = Entry::new(Action::Snapshot, Origin::default(), 0, bytes);
            self.journal.push(Location::Device(device), entry);
        }
    }
}
