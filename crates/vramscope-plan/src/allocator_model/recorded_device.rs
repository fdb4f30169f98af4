//! The driver of a checked allocator: it answers with the recorded events around one call.

use std::collections::{BTreeSet, VecDeque};

use super::allocator::Driver;

/// A recorded event that waits for a call to explain it.
#[derive(Clone, Copy)]
pub(super) enum Item {
    /// A block that became free after its own free event.
    Free(u32),
    /// `segment_alloc` or `segment_map`: address, bytes.
    Obtained(u64, u64),
    /// `segment_free` or `segment_unmap`: address, bytes.
    GivenBack(u64, u64),
}

/// Waiting events by kind, numbered in the order of the recording. Each is removed when the model does the same.
/// Finding one takes logarithmic time, because one call may give back a million segments.
#[derive(Default)]
pub(super) struct RecordedDevice {
    next: u64,
    /// (number, block), ascending.
    freed: Vec<(u64, u32)>,
    /// (number, address, bytes), ascending.
    obtained: VecDeque<(u64, u64, u64)>,
    /// (address, bytes, number).
    given_back: BTreeSet<(u64, u64, u64)>,
    /// The numbers in `given_back`.
    releases: BTreeSet<u64>,
    /// Number of recorded segment events that the model repeated.
    pub(super) agreeing: u64,
    /// Number of releases of the model that were not recorded.
    pub(super) extra: u64,
    /// Whether the model requested memory when none was obtained, or other memory.
    pub(super) missed: bool,
}

impl RecordedDevice {
    pub(super) fn push(&mut self, item: Item) {
        let number = self.next;
        self.next += 1;
        match item {
            Item::Free(row) => self.freed.push((number, row)),
            Item::Obtained(address, bytes) => self.obtained.push_back((number, address, bytes)),
            Item::GivenBack(address, bytes) => {
                self.given_back.insert((address, bytes, number));
                self.releases.insert(number);
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.freed.is_empty() && self.obtained.is_empty() && self.releases.is_empty()
    }

    pub(super) fn gives_back(&self) -> bool {
        !self.releases.is_empty()
    }

    pub(super) fn has_obtained(&self) -> bool {
        !self.obtained.is_empty()
    }

    /// Removes and returns the blocks that became free.
    pub(super) fn take_frees(&mut self) -> Vec<u32> {
        self.freed.drain(..).map(|(_, row)| row).collect()
    }

    /// Removes and returns the events after the last release.
    pub(super) fn split_off_obtained(&mut self) -> Self {
        let first = self.releases.last().map_or(0, |last| last + 1);
        let freed = self.freed.partition_point(|item| item.0 < first);
        let obtained = self.obtained.partition_point(|item| item.0 < first);
        Self {
            next: self.next,
            freed: self.freed.split_off(freed),
            obtained: self.obtained.split_off(obtained),
            ..Self::default()
        }
    }

    /// Address and bytes of the next obtained memory, if nothing was returned to CUDA before it.
    fn next_obtained(&self) -> Option<(u64, u64)> {
        let &(number, address, bytes) = self.obtained.front()?;
        let release = self.releases.first();
        let is_next = release.is_none_or(|&release| number < release);
        is_next.then_some((address, bytes))
    }

    fn take_obtained(&mut self) {
        self.obtained.pop_front();
        self.agreeing += 1;
    }
}

impl Driver for RecordedDevice {
    fn malloc(&mut self, bytes: u64) -> Option<u64> {
        match self.next_obtained() {
            Some((address, recorded)) if recorded == bytes => {
                self.take_obtained();
                Some(address)
            }
            _ => {
                self.missed |= !self.gives_back() && !self.is_empty();
                None
            }
        }
    }

    fn reserve(&mut self, _bytes: u64) -> Option<u64> {
        self.next_obtained().map(|(address, _)| address)
    }

    fn map(&mut self, address: u64, bytes: u64) -> bool {
        let is_it = self.next_obtained() == Some((address, bytes));
        if is_it {
            self.take_obtained();
        }
        is_it
    }

    fn give_back(&mut self, address: u64, bytes: u64) {
        let mut given = self
            .given_back
            .range((address, bytes, 0)..=(address, bytes, u64::MAX));
        match given.next().copied() {
            Some(item) => {
                self.given_back.remove(&item);
                self.releases.remove(&item.2);
                self.agreeing += 1;
            }
            None => self.extra += 1,
        }
    }

    fn synchronise(&mut self) -> Vec<u32> {
        self.take_frees()
    }
}
