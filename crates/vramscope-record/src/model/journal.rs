//! What happened, as trace entries: all of it, or the newest of each device.

use std::collections::VecDeque;
use std::ops::Range;

use vramscope_core::model::Action;

use super::{Enabled, RecordingOptions};

/// Whose memory: an index of `device_traces`, or the host's.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Place {
    Device(u8),
    Host,
}

/// Which call did something, and from where: numbers of [`Call`](crate::layout::Call) and of a stack, 0 for none.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct By {
    pub(crate) call: u8,
    pub(crate) stack: u32,
}

/// A row of [`Pools`](super::pools::Pools).
pub(crate) type PoolRow = u32;

/// A trace entry. The time is when it was pushed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) action: Action,
    /// It did not happen after all.
    pub(crate) is_undone: bool,
    pub(crate) by: By,
    pub(crate) pool: PoolRow,
    /// Number of a text that the program gives what lives there; 0 for none.
    pub(crate) note: u32,
    pub(crate) address: u64,
    pub(crate) bytes: u64,
    pub(crate) stream: u64,
    pub(crate) time_us: i64,
}

/// Names an entry of a place, also after others were dropped before it.
pub(crate) type EntryNumber = u64;

/// Entries that are looked at to find out whether a refused free can be undone.
const MOST_LOOKED_AT: u64 = 10_000;

/// The entries of one place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trace {
    pub(crate) entries: VecDeque<Entry>,
    /// Entries that are not there any more.
    dropped: u64,
}

/// The entries of all places.
#[derive(Clone, Debug, Default)]
pub(crate) struct Journal {
    options: RecordingOptions,
    pub(crate) devices: Vec<Trace>,
    pub(crate) host: Trace,
    /// Now. Never goes back.
    pub(crate) time_us: i64,
}

impl Journal {
    pub(crate) fn new(options: RecordingOptions) -> Self {
        Self {
            options,
            ..Self::default()
        }
    }

    /// Lets time go on to `time_ns`, unless that is past.
    pub(crate) fn advance(&mut self, time_ns: u64) {
        self.time_us = self.time_us.max((time_ns / 1000) as i64);
    }

    /// Sees to it that a device has a trace.
    pub(crate) fn add_device(&mut self, device: u8) {
        let count = usize::from(device) + 1;
        if self.devices.len() < count {
            self.devices.resize_with(count, Trace::default);
        }
    }

    /// Adds an entry, at the present time. Its number, unless it is not wanted.
    pub(crate) fn push(&mut self, place: Place, mut entry: Entry) -> Option<EntryNumber> {
        let options = &self.options;
        let is_other = match (place, options.device) {
            (Place::Device(device), Some(only)) => u32::from(device) != only,
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
        let trace = self.trace_mut(place);
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

    /// Takes an entry back, if it is still there.
    pub(crate) fn undo(&mut self, place: Place, number: EntryNumber) {
        let trace = self.trace_mut(place);
        let row = number.checked_sub(trace.dropped);
        let row = row.and_then(|row| usize::try_from(row).ok());
        if let Some(entry) = row.and_then(|row| trace.entries.get_mut(row)) {
            entry.is_undone = true;
        }
    }

    /// Whether an entry of a place after the one of this number is about a part of this range, or may be.
    pub(crate) fn is_touched_since(
        &self,
        place: Place,
        number: EntryNumber,
        range: &Range<u64>,
    ) -> bool {
        let trace = match place {
            Place::Host => Some(&self.host),
            Place::Device(device) => self.devices.get(usize::from(device)),
        };
        let Some(trace) = trace else { return false };
        let newer = (trace.dropped + trace.entries.len() as u64).saturating_sub(number + 1);
        let entries = trace.entries.iter().rev();
        // Further back it is not looked, for logs that undo very much.
        newer > MOST_LOOKED_AT
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

    /// Who a free is put down to: whoever frees, or, as torch does with `enabled="alloc"`, whoever allocated.
    pub(crate) fn freed_by(&self, allocated: By, freed: By) -> By {
        match self.options.enabled {
            Enabled::Alloc => allocated,
            _ => freed,
        }
    }

    fn trace_mut(&mut self, place: Place) -> &mut Trace {
        match place {
            Place::Host => &mut self.host,
            Place::Device(device) => {
                self.add_device(device);
                &mut self.devices[usize::from(device)]
            }
        }
    }
}
