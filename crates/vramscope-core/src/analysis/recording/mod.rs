//! A snapshot with the histories of its devices, and results that several analyses share. Each result is computed once,
//! on first use.
//!
//! Belongs here: results of lower modules that several analyses need. Does not: results that a single analysis needs,
//! and layouts of views; their users keep them.

mod device;
mod pool;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::sync::OnceLock;

pub use self::device::Device;
use self::device::Prepared;
use crate::Snapshot;
use crate::analysis::code::call_sites::{CallSites, frees_carry_alloc_stacks};
use crate::analysis::code::frames::FrameClasses;
use crate::analysis::code::operators::Operators;
use crate::analysis::memory::allocator_state::SizeClass;
use crate::analysis::memory::contradictions::contradictions;
use crate::analysis::memory::gap::Arena;
use crate::analysis::memory::pools::Pools;
use crate::analysis::memory::settings::{Setting, settings};
use crate::analysis::roles::StackSignals;
use crate::analysis::time::annotations::{NamedRange, named_ranges};
use crate::analysis::time::history::History;
use crate::model::{DeviceIndex, Profile, Streams};
use crate::sorting::SortFew;

/// A snapshot with the histories of all its devices, and shared results about them.
pub struct Recording {
    /// The decoded file.
    pub snapshot: Snapshot,
    /// One history per device, in the order of [`devices`](Self::devices).
    pub histories: Vec<History>,
    prepared: Vec<Prepared>,
    /// Whether it covers only some [memory pools](Self::within_pools) of another recording.
    is_part: bool,
    classes: OnceLock<FrameClasses>,
    call_sites: OnceLock<CallSites>,
    operators: OnceLock<Operators>,
    signals: OnceLock<StackSignals>,
    frees_tell: OnceLock<bool>,
    ranges: OnceLock<Vec<NamedRange>>,
    streams: OnceLock<Streams>,
    pools: OnceLock<Pools>,
}

impl Recording {
    /// Computes the history of every device, in the order of [`Snapshot::devices`]. Contradictions found on the way
    /// become warnings of the snapshot.
    #[must_use]
    pub fn of(mut snapshot: Snapshot) -> Self {
        // The histories need the times of all events, too.
        snapshot.events.time_us.share();
        let devices = snapshot.devices().into_iter();
        let histories: Vec<_> = devices
            .map(|device| History::of(&snapshot, device))
            .collect();
        let found = contradictions(&snapshot, &histories);
        snapshot.warnings.merge(found.into_list());
        Self::with(snapshot, histories)
    }

    /// Like [`of`](Self::of), but sorts devices by peak, highest first. Equal peaks are sorted by device number.
    #[must_use]
    pub fn by_peak(snapshot: Snapshot) -> Self {
        let Self {
            snapshot,
            mut histories,
            ..
        } = Self::of(snapshot);
        histories.sort_few_by_key(|history| {
            let is_host = snapshot.is_host(history.device);
            (is_host, Reverse(history.peak_bytes()), history.device)
        });
        Self::with(snapshot, histories)
    }

    fn with(snapshot: Snapshot, histories: Vec<History>) -> Self {
        Self {
            prepared: histories.iter().map(|_| Prepared::default()).collect(),
            snapshot,
            histories,
            is_part: false,
            classes: OnceLock::new(),
            call_sites: OnceLock::new(),
            operators: OnceLock::new(),
            signals: OnceLock::new(),
            frees_tell: OnceLock::new(),
            ranges: OnceLock::new(),
            streams: OnceLock::new(),
            pools: OnceLock::new(),
        }
    }

    /// Whether it covers only some [memory pools](Self::within_pools) of another recording.
    #[must_use]
    pub fn is_within_pools(&self) -> bool {
        self.is_part
    }

    /// All devices, in the order of [`histories`](Self::histories).
    pub fn devices(&self) -> impl Iterator<Item = Device<'_>> {
        let both = self.histories.iter().zip(&self.prepared);
        both.map(|(history, prepared)| Device::new(self, history, prepared))
    }

    /// The device with this number; `None` if the file does not have it.
    #[must_use]
    pub fn device(&self, device: DeviceIndex) -> Option<Device<'_>> {
        self.devices().find(|known| known.index() == device)
    }

    /// The class of each frame: whose code it is.
    pub fn classes(&self) -> &FrameClasses {
        self.classes
            .get_or_init(|| FrameClasses::of(&self.snapshot))
    }

    /// The call sites of all devices.
    pub fn call_sites(&self) -> &CallSites {
        let sites = || CallSites::of(&self.snapshot, self.classes(), &self.histories);
        self.call_sites.get_or_init(sites)
    }

    /// The operators of all stacks.
    pub fn operators(&self) -> &Operators {
        let operators = || Operators::of(&self.snapshot, self.classes());
        self.operators.get_or_init(operators)
    }

    /// What stacks reveal about roles and phases.
    pub(super) fn signals(&self) -> &StackSignals {
        self.signals
            .get_or_init(|| StackSignals::of(&self.snapshot))
    }

    /// Whether frees have stacks of their own, not those of the allocations.
    pub(super) fn frees_tell(&self) -> bool {
        let tell = || !frees_carry_alloc_stacks(&self.snapshot, &self.histories);
        *self.frees_tell.get_or_init(tell)
    }

    /// The allocator's settings, in the order of the file.
    #[must_use]
    pub fn settings(&self) -> Vec<Setting> {
        let failed = self.devices().flat_map(|device| {
            let moments = device.failed_requests().iter();
            moments.filter_map(move |&moment| device.history.event_before(moment))
        });
        settings(&self.snapshot, failed)
    }

    /// The annotated ranges of all devices.
    pub fn ranges(&self) -> &[NamedRange] {
        self.ranges.get_or_init(|| named_ranges(&self.snapshot))
    }

    /// The streams of all devices.
    pub fn streams(&self) -> &Streams {
        self.streams.get_or_init(|| self.snapshot.streams())
    }

    /// The memory pools of all devices, by name.
    pub fn pools(&self) -> &Pools {
        let members = || self.devices().flat_map(Device::pool_members);
        self.pools
            .get_or_init(|| Pools::of(&self.snapshot, members()))
    }

    /// Whether the file records pools and streams, as a profiler's does not.
    #[must_use]
    pub fn knows_places(&self) -> bool {
        Profile::of(&self.snapshot).is_none()
    }

    /// The name of a pool and stream: `default pool, stream 2`.
    #[must_use]
    pub fn place_label(&self, arena: Arena) -> String {
        if !self.knows_places() {
            return "unknown pool and stream".to_owned();
        }
        let (pool, stream) = (self.pools().label(arena.pool), arena.stream);
        format!("{pool}, {}", self.streams().name(stream))
    }

    /// Like [`place_label`](Self::place_label) with the size class: `default pool, stream 2, up to 1 MiB`.
    #[must_use]
    pub fn sized_place_label(&self, arena: Arena, class: Option<SizeClass>) -> String {
        let size = match class {
            Some(SizeClass::Small) => ", up to 1 MiB",
            Some(SizeClass::Large) => ", beyond 1 MiB",
            None => "",
        };
        format!("{}{size}", self.place_label(arena))
    }
}
