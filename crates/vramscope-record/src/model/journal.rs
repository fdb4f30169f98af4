//! The history as trace entries: all of them, or the newest of each device.

use std::collections::VecDeque;
use std::ops::Range;

use vramscope_core::model::Action;

use super::pools::NO_POOL;
use super::{Enabled, RecordingOptions};

/// Where memory resides: on a device (its index in `device_traces`), or on the host.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Location {
    Device(u8),
    Host,
}

/// Origin of an event: the number of its [`Call`](crate::layout::Call) and of its stack, each 0 if unknown.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Origin {
    pub(crate) call: u8,
    pub(crate) stack: u32,
}

/// A row of [`Pools`](super::pools::Pools).
pub(crate) type PoolRow = u32;

/// A trace entry. [`Journal::push`] sets its time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) action: Action,
    /// Whether the event was withdrawn: the driver refused the free.
    pub(crate) is_undone: bool,
    pub(crate) origin: Origin,
    pub(crate) pool: PoolRow,
    /// Number of the text that the program gave to the allocation; 0 if it gave no text.
    pub(crate) note: u32,
    pub(crate) address: u64,
    pub(crate) bytes: u64,
    pub(crate) stream: u64,
    pub(crate) time_us: i64,
}

impl Entry {
    /// An entry without pool, text and stream.
    pub(crate) fn new(action: Action, origin: Origin, address: u64, bytes: u64) -> Self {
        Self {
            action,
            is_undone: false,
            origin,
            pool: NO_POOL,
            note: 0,
            address,
            bytes,
            stream: 0,
            time_us: 0,
        }
    }
}

/// Identifies an entry of a location. Stays valid when older entries are dropped.
pub(crate) type EntryNumber = u64;

/// Maximum number of newer entries searched to decide whether a refused free can be undone.
const MAX_SEARCHED_ENTRIES: u64 = 10_000;

/// The entries of one location.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trace {
    pub(crate) entries: VecDeque<Entry>,
    dropped: u64,
}

/// The entries of all locations.
#[derive(Clone, Debug, Default)]
pub(crate) struct Journal {
    options: RecordingOptions,
    pub(crate) devices: Vec<Trace>,
    pub(crate) host: Trace,
    /// Current time. Never decreases.
    pub(crate) time_us: i64,
}

impl Journal {
    pub(crate) fn new(options: RecordingOptions) -> Self {
        Self {
            options,
            ..Self::default()
        }
    }

    /// Advances the time to `time_ns`, unless that is in the past.
    pub(crate) fn advance(&mut self, time_ns: u64) {
        self.time_us = self.time_us.max((time_ns / 1000) as i64);
    }

    /// Adds empty traces up to this device.
    pub(crate) fn add_device(&mut self, device: u8) {
        let count = usize::from(device) + 1;
        if self.devices.len() < count {
            self.devices.resize_with(count, Trace::default);
        }
    }

    /// Adds an entry at the current time. Returns its number, or `None` if the options exclude it.
    pub(crate) fn push(&mut self, location: Location, mut entry: Entry) -> Option<EntryNumber> {
        let options = &self.options;
        let is_other = match (location, options.device) {
            (Location::Device(device), Some(only)) => u32::from(device) != only,
            _ => false,
        };
        if is_other
            || options.enabled == Enabled::State
            || options.skip_actions.contains(&entry.action)
        {
            return None;
        }
        entry.time_us = self.time_us;
        let most = options.max_entries.unwrap_or(usize::MAX);
        let trace = self.trace_mut(location);
        while trace.entries.len() >= most.max(1) {
            trace.entries.pop_front();
            trace.dropped += 1;
        }
        if most == 0 {
            trace.dropped += 1;
            return None;
        }
        trace.entries.push_back(entry);
        Some(trace.dropped + trace.entries.len() as u64 - 1)
    }

    /// Number of the newest entry of a location.
    pub(crate) fn newest(&self, location: Location) -> Option<EntryNumber> {
        let trace = self.trace(location)?;
        (trace.dropped + trace.entries.len() as u64).checked_sub(1)
    }

    /// Extends the newest entry of a location by one that begins where it ends, at the same time, and agrees in everything
    /// else. Returns whether that was possible.
    pub(crate) fn extend(&mut self, location: Location, entry: &Entry) -> bool {
        let time_us = self.time_us;
        let Some(newest) = self.trace_mut(location).entries.back_mut() else {
            return false;
        };
        let key = |it: &Entry| (it.action, it.origin, it.pool, it.stream, it.is_undone);
        let is_next = key(newest) == key(entry)
            && newest.time_us == time_us
            && newest.address.checked_add(newest.bytes) == Some(entry.address);
        if is_next {
            newest.bytes += entry.bytes;
        }
        is_next
    }

    /// Number of entries that newer ones have replaced.
    pub(crate) fn dropped_entries(&self) -> u64 {
        let traces = self.devices.iter().chain([&self.host]);
        traces.map(|trace| trace.dropped).sum()
    }

    /// Withdraws an entry, if it was not dropped.
    pub(crate) fn undo(&mut self, location: Location, number: EntryNumber) {
        let trace = self.trace_mut(location);
        let row = number.checked_sub(trace.dropped);
        let row = row.and_then(|row| usize::try_from(row).ok());
        if let Some(entry) = row.and_then(|row| trace.entries.get_mut(row)) {
            entry.is_undone = true;
        }
    }

    /// Whether an entry after number `number` affects this range, or might. Gives up with `true` after
    /// [`MAX_SEARCHED_ENTRIES`].
    pub(crate) fn is_touched_since(
        &self,
        location: Location,
        number: EntryNumber,
        range: &Range<u64>,
    ) -> bool {
        let Some(trace) = self.trace(location) else {
            return false;
        };
        let newer = (trace.dropped + trace.entries.len() as u64).saturating_sub(number + 1);
        let entries = trace.entries.iter().rev();
        // Bounds the work for hostile logs with very many refused frees.
        newer > MAX_SEARCHED_ENTRIES
            || entries.take(newer as usize).any(|entry| {
                let end = entry.address.saturating_add(entry.bytes);
                !entry.is_undone
                    && !matches!(
                        entry.action,
                        Action::Oom | Action::Snapshot | Action::Annotate
                    )
                    && entry.address < range.end
                    && range.start < end
            })
    }

    /// The origin that a free shows: its own, or with `enabled="alloc"`, as in torch, that of the allocation.
    pub(crate) fn origin_of_free(&self, allocated: Origin, freed: Origin) -> Origin {
        match self.options.enabled {
            Enabled::Alloc => allocated,
            _ => freed,
        }
    }

    fn trace(&self, location: Location) -> Option<&Trace> {
        match location {
            Location::Host => Some(&self.host),
            Location::Device(device) => self.devices.get(usize::from(device)),
        }
    }

    fn trace_mut(&mut self, location: Location) -> &mut Trace {
        match location {
            Location::Host => &mut self.host,
            Location::Device(device) => {
                self.add_device(device);
                &mut self.devices[usize::from(device)]
            }
        }
    }
}
