//! An open file with the indexes that its pictures are drawn from. Each index is made on demand and kept.

use std::cell::{OnceCell, RefCell};
use std::ops::Deref;
use std::rc::Rc;

use vramscope_core::Snapshot;
use vramscope_core::analysis::recording::{self, Recording};
use vramscope_core::bitset::BitSet;
use vramscope_core::ids::AllocationId;
use vramscope_core::model::{DeviceIndex, PoolId};
use vramscope_protocol::views::filter::FilterText;
use vramscope_protocol::{Axis, Look};
use vramscope_view::colour::Leaders;
use vramscope_view::map::{self, MemoryMap, PackedMap};
use vramscope_view::raster::{Bands, TimelineIndex};
use vramscope_view::segment_bands::SegmentBands;
use vramscope_view::viewport::Bounds;

use super::filter::Filters;
use super::flame_trees::FlameTrees;

/// An open file. Its first device is the one with the highest peak.
pub(super) struct Document {
    recording: Recording,
    pictures: Vec<Pictures>,
    leaders: OnceCell<Leaders>,
    /// The number of this version of the file, 0 for the first.
    pub(super) version: u32,
    pub(super) filters: Filters,
    pub(super) flame: RefCell<FlameTrees>,
}

/// The indexes that pictures of one device are drawn from.
#[derive(Default)]
struct Pictures {
    timeline: OnceCell<TimelineIndex>,
    reserved: OnceCell<SegmentBands>,
    map_lanes: OnceCell<map::Lanes>,
    map: OnceCell<MemoryMap>,
    packed: RefCell<Option<Rc<PackedMap>>>,
}

/// One device of an open file.
#[derive(Clone, Copy)]
pub(super) struct Device<'a> {
    device: recording::Device<'a>,
    pictures: &'a Pictures,
    leaders: &'a OnceCell<Leaders>,
}

impl Deref for Document {
    type Target = Recording;

    fn deref(&self) -> &Recording {
        &self.recording
    }
}

impl<'a> Deref for Device<'a> {
    type Target = recording::Device<'a>;

    fn deref(&self) -> &recording::Device<'a> {
        &self.device
    }
}

impl Document {
    /// Replays the allocations of every device.
    pub(super) fn new(snapshot: Snapshot) -> Self {
        Self::of(Recording::by_peak(snapshot))
    }

    pub(super) fn of(recording: Recording) -> Self {
        let pictures = recording.devices().map(|_| Pictures::default()).collect();
        Self {
            recording,
            pictures,
            leaders: OnceCell::new(),
            version: 0,
            filters: Filters::default(),
            flame: RefCell::default(),
        }
    }

    /// The same devices narrowed to some memory pools, in the same colours.
    pub(super) fn within_pools(&self, is_meant: impl Fn(PoolId) -> bool) -> Self {
        Self {
            leaders: self.leaders().clone().into(),
            version: self.version,
            ..Self::of(self.recording.within_pools(is_meant))
        }
    }

    /// The allocations of `device` that the filter matches; `None` if all do.
    pub(super) fn matches(
        &self,
        device: Device<'_>,
        filter: Option<&FilterText>,
    ) -> Option<Rc<BitSet>> {
        Some(self.filters.found(device, filter?)?.set)
    }

    /// The allocations of a picture that are not dimmed; `None` if all are alike.
    pub(super) fn lit(&self, device: Device<'_>, look: &Look) -> Option<Rc<BitSet>> {
        match (&look.lit, &look.filter) {
            (None, None) => None,
            (Some(of), _) => self.flame.borrow_mut().lit(self, device, of),
            (None, Some(filter)) => self.matches(device, Some(filter)),
        }
    }

    /// Makes the indexes of the first picture.
    pub(super) fn prepare(&self) {
        if let Some(first) = self.devices().next() {
            let _prepared = (first.timeline(), first.site_of());
        }
    }

    /// All devices, the one with the highest peak first.
    pub(super) fn devices(&self) -> impl Iterator<Item = Device<'_>> {
        let both = self.recording.devices().zip(&self.pictures);
        both.map(|(device, pictures)| Device {
            device,
            pictures,
            leaders: &self.leaders,
        })
    }

    /// The call sites with the distinct colours.
    pub(super) fn leaders(&self) -> &Leaders {
        let leaders = || Leaders::of_sites(&self.recording);
        self.leaders.get_or_init(leaders)
    }

    /// A device; `None` if the file has no such.
    pub(super) fn device(&self, device: DeviceIndex) -> Option<Device<'_>> {
        self.devices().find(|known| known.index() == device)
    }
}

impl<'a> Device<'a> {
    /// The timeline's bands; those by events if there are no times.
    pub(super) fn bands(self, axis: Axis) -> Bands<'a> {
        Bands::of(self.history, axis == Axis::Time)
    }

    /// The call sites with the distinct colours.
    pub(super) fn leaders(self) -> &'a Leaders {
        let leaders = || Leaders::of_sites(self.recording);
        self.leaders.get_or_init(leaders)
    }

    /// The timeline's index, which is the same for both axes.
    pub(super) fn timeline(self) -> &'a TimelineIndex {
        let index = || TimelineIndex::new(&self.bands(Axis::Events));
        self.pictures.timeline.get_or_init(index)
    }

    /// The bounds of the timeline.
    pub(super) fn bounds(self, axis: Axis) -> Bounds {
        Bounds::new(self.bands(axis).x_end(), self.peak_bytes())
    }

    /// The bands of the segment timeline.
    pub(super) fn reserved(self) -> &'a SegmentBands {
        let reserved = || SegmentBands::of(self.segments(), self.history);
        self.pictures.reserved.get_or_init(reserved)
    }

    /// The map's y axis.
    pub(super) fn map_lanes(self) -> &'a map::Lanes {
        let lanes = || map::Lanes::new(&self.history.allocations, self.segments());
        self.pictures.map_lanes.get_or_init(lanes)
    }

    /// The map.
    pub(super) fn map(self) -> &'a MemoryMap {
        self.pictures.map.get_or_init(|| {
            let (history, sizes) = (self.history, self.block_sizes());
            let held = |row: usize| sizes.bytes(history, AllocationId::from_index(row));
            let lanes = self.map_lanes().clone();
            MemoryMap::new(&history.allocations, self.segments(), lanes, held)
        })
    }

    /// The best packing so far; `None` before the first.
    pub(super) fn packed(self) -> Option<Rc<PackedMap>> {
        self.pictures.packed.borrow().clone()
    }

    /// Keeps a better packing, which is made when the last one is gone: of large files each takes 90 MB.
    pub(super) fn set_packed(self, packed: impl FnOnce() -> PackedMap) {
        self.pictures.packed.take();
        self.pictures.packed.replace(Some(Rc::new(packed())));
    }
}
