//! A file prepared for questions: its snapshot, the histories of its devices, and what follows from them,
//! computed once and only when it is asked for.
//!
//! Belongs here: results of the rooms below that several questions need. Does not: results of a single question,
//! and pictures, which their askers keep.

mod device;
#[cfg(test)]
mod tests;

use std::cell::OnceCell;
use std::cmp::Reverse;

pub use self::device::Device;
use self::device::Prepared;
use crate::Snapshot;
use crate::analysis::code::call_sites::CallSites;
use crate::analysis::code::frames::FrameClasses;
use crate::analysis::time::annotations::{NamedRange, named_ranges};
use crate::analysis::time::history::History;
use crate::model::DeviceIndex;

/// A snapshot with the histories of all its devices.
pub struct Recording {
    /// The file's tables.
    pub snapshot: Snapshot,
    /// One history per device.
    pub histories: Vec<History>,
    prepared: Vec<Prepared>,
    classes: OnceCell<FrameClasses>,
    call_sites: OnceCell<CallSites>,
    ranges: OnceCell<Vec<NamedRange>>,
    streams: OnceCell<Vec<i64>>,
}

impl Recording {
    /// Follows the allocations of every device, in the order of [`Snapshot::devices`].
    #[must_use]
    pub fn of(snapshot: Snapshot) -> Self {
        let devices = snapshot.devices().into_iter();
        let histories: Vec<_> = devices
            .map(|device| History::of(&snapshot, device))
            .collect();
        Self::with(snapshot, histories)
    }

    /// The same with the device of the highest peak first; of equal ones the lowest number first.
    #[must_use]
    pub fn by_peak(snapshot: Snapshot) -> Self {
        let Self {
            snapshot,
            mut histories,
            ..
        } = Self::of(snapshot);
        histories.sort_by_key(|history| (Reverse(history.peak_bytes()), history.device));
        Self::with(snapshot, histories)
    }

    fn with(snapshot: Snapshot, histories: Vec<History>) -> Self {
        Self {
            prepared: histories.iter().map(|_| Prepared::default()).collect(),
            snapshot,
            histories,
            classes: OnceCell::new(),
            call_sites: OnceCell::new(),
            ranges: OnceCell::new(),
            streams: OnceCell::new(),
        }
    }

    /// All devices, in the order of [`histories`](Self::histories).
    pub fn devices(&self) -> impl Iterator<Item = Device<'_>> {
        let both = self.histories.iter().zip(&self.prepared);
        both.map(|(history, prepared)| Device::new(self, history, prepared))
    }

    /// The device of that number, if the file has it.
    #[must_use]
    pub fn device(&self, device: DeviceIndex) -> Option<Device<'_>> {
        self.devices().find(|known| known.index() == device)
    }

    /// Whose code each frame is.
    pub fn classes(&self) -> &FrameClasses {
        self.classes
            .get_or_init(|| FrameClasses::of(&self.snapshot))
    }

    /// Every place in the code that allocated.
    pub fn call_sites(&self) -> &CallSites {
        let sites = || CallSites::of(&self.snapshot, self.classes(), &self.histories);
        self.call_sites.get_or_init(sites)
    }

    /// The annotated ranges of all devices.
    pub fn ranges(&self) -> &[NamedRange] {
        self.ranges.get_or_init(|| named_ranges(&self.snapshot))
    }

    /// The handles of all streams; a stream's number is its place. See [`Snapshot::streams`].
    pub fn streams(&self) -> &[i64] {
        self.streams.get_or_init(|| self.snapshot.streams())
    }
}
