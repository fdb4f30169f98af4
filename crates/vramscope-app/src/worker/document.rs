//! An open file: the snapshot, each device's history, and what is found out about them on demand.

use std::cell::{OnceCell, RefCell};
use std::cmp::Reverse;
use std::rc::Rc;

use vramscope_core::Snapshot;
use vramscope_core::analysis::allocator_state::{AllocatorIndex, Recording};
use vramscope_core::analysis::annotations::{NamedRange, named_ranges};
use vramscope_core::analysis::call_sites::{CallSiteId, CallSites};
use vramscope_core::analysis::details::stream_numbers;
use vramscope_core::analysis::filter::{FilterIndex, Subject};
use vramscope_core::analysis::frames::FrameClasses;
use vramscope_core::analysis::history::History;
use vramscope_core::analysis::lanes::{Lanes, Steps, steps};
use vramscope_core::analysis::markers::Markers;
use vramscope_core::analysis::range_totals::RangeSums;
use vramscope_core::analysis::replay::Replay;
use vramscope_core::analysis::segment_history::SegmentHistory;
use vramscope_core::bitset::BitSet;
use vramscope_core::ids::AllocationId;
use vramscope_core::model::DeviceIndex;
use vramscope_view::map::{self, MemoryMap, PackedMap};
use vramscope_view::raster::{Bands, TimelineIndex};
use vramscope_view::segment_bands::SegmentBands;
use vramscope_view::viewport::Bounds;

use super::filter::CurrentFilter;
use crate::protocol::views::filter::FilterContext;
use crate::protocol::{Axis, FilterId};

/// One open file.
pub(super) struct Document {
    pub(super) snapshot: Snapshot,
    /// Of each device, the one with the highest peak first.
    pub(super) histories: Vec<History>,
    caches: Vec<Cache>,
    words: OnceCell<Words>,
    pub(super) filter: CurrentFilter,
}

/// What stacks and annotations say; found out when first asked.
pub(super) struct Words {
    pub(super) classes: FrameClasses,
    pub(super) call_sites: CallSites,
    pub(super) ranges: Vec<NamedRange>,
    /// Every stream; its number is its place.
    pub(super) streams: Vec<i64>,
}

/// What is found out about one device when first asked.
#[derive(Default)]
struct Cache {
    index: OnceCell<TimelineIndex>,
    site_of: OnceCell<Vec<CallSiteId>>,
    lanes: OnceCell<Lanes>,
    markers: OnceCell<Markers>,
    sums: OnceCell<RangeSums>,
    steps: OnceCell<Option<Steps>>,
    segments: OnceCell<SegmentHistory>,
    reserved: OnceCell<SegmentBands>,
    map_lanes: OnceCell<map::Lanes>,
    map: OnceCell<MemoryMap>,
    filter_index: OnceCell<FilterIndex>,
    replay: OnceCell<Replay>,
    allocator: OnceCell<AllocatorIndex>,
    packed: RefCell<Option<Rc<PackedMap>>>,
}

/// One device of an open file.
#[derive(Clone, Copy)]
pub(super) struct Device<'a> {
    pub(super) history: &'a History,
    cache: &'a Cache,
}

impl Document {
    /// Follows the allocations of every device.
    pub(super) fn new(snapshot: Snapshot) -> Self {
        let devices = snapshot.devices().into_iter();
        let mut histories: Vec<_> = devices
            .map(|device| History::of(&snapshot, device))
            .collect();
        histories.sort_by_key(|history| (Reverse(peak_bytes(history)), history.device));
        let caches = histories.iter().map(|_| Cache::default()).collect();
        Self {
            snapshot,
            histories,
            caches,
            words: OnceCell::new(),
            filter: CurrentFilter::default(),
        }
    }

    /// The allocations of `device` that the filter matches; `None` if all do, or if it is another filter
    /// by now.
    pub(super) fn matches(&self, device: Device<'_>, filter: FilterId) -> Option<Rc<BitSet>> {
        self.filter.matches(self, device, filter)
    }

    /// A device as filters and tables look at it.
    pub(super) fn subject<'a>(&'a self, device: Device<'a>, context: FilterContext) -> Subject<'a> {
        let words = self.words();
        let index = || FilterIndex::of(&self.snapshot, device.history);
        Subject {
            snapshot: &self.snapshot,
            history: device.history,
            index: device.cache.filter_index.get_or_init(index),
            call_sites: &words.call_sites,
            site_of: self.site_of(device),
            ranges: &words.ranges,
            streams: &words.streams,
            cursor: context.cursor,
            range: context.range,
        }
    }

    /// Finds out what the first picture needs.
    pub(super) fn prepare(&self) {
        if let Some(first) = self.devices().next() {
            first.index();
            self.site_of(first);
        }
    }

    /// All devices, the one with the highest peak first.
    pub(super) fn devices(&self) -> impl Iterator<Item = Device<'_>> {
        self.histories
            .iter()
            .zip(&self.caches)
            .map(|(history, cache)| Device { history, cache })
    }

    /// A device, if the file has it.
    pub(super) fn device(&self, device: DeviceIndex) -> Option<Device<'_>> {
        self.devices().find(|known| known.history.device == device)
    }

    /// What stacks and annotations say.
    pub(super) fn words(&self) -> &Words {
        self.words.get_or_init(|| {
            let classes = FrameClasses::of(&self.snapshot);
            let call_sites = CallSites::of(&self.snapshot, &classes, &self.histories);
            Words {
                call_sites,
                classes,
                ranges: named_ranges(&self.snapshot),
                streams: stream_numbers(&self.snapshot),
            }
        })
    }

    /// What states of `device`'s allocator are looked up in.
    pub(super) fn recording<'a>(&'a self, device: Device<'a>) -> Recording<'a> {
        let replay = || Replay::of(&self.snapshot, device.history);
        Recording {
            snapshot: &self.snapshot,
            history: device.history,
            replay: device.cache.replay.get_or_init(replay),
        }
    }

    /// What is prepared for states of `device`'s allocator.
    pub(super) fn allocator<'a>(&'a self, device: Device<'a>) -> &'a AllocatorIndex {
        let index = || AllocatorIndex::of(self.recording(device));
        device.cache.allocator.get_or_init(index)
    }

    /// The call site of each allocation of `device`.
    pub(super) fn site_of<'a>(&self, device: Device<'a>) -> &'a [CallSiteId] {
        let sites = || {
            self.words()
                .call_sites
                .of_allocations(&self.snapshot, device.history)
        };
        device.cache.site_of.get_or_init(sites)
    }
}

impl Document {
    /// Every piece of memory that `device` held.
    pub(super) fn segments<'a>(&self, device: Device<'a>) -> &'a SegmentHistory {
        let segments = || SegmentHistory::of(&self.snapshot, device.history);
        device.cache.segments.get_or_init(segments)
    }

    /// What the segment timeline is drawn of.
    pub(super) fn reserved<'a>(&self, device: Device<'a>) -> &'a SegmentBands {
        let reserved = || SegmentBands::of(self.segments(device), device.history);
        device.cache.reserved.get_or_init(reserved)
    }

    /// The map's y axis.
    pub(super) fn map_lanes<'a>(&self, device: Device<'a>) -> &'a map::Lanes {
        let lanes = || map::Lanes::new(&device.history.allocations, self.segments(device));
        device.cache.map_lanes.get_or_init(lanes)
    }

    /// The map.
    pub(super) fn map<'a>(&self, device: Device<'a>) -> &'a MemoryMap {
        device.cache.map.get_or_init(|| {
            let (history, sizes) = (device.history, &self.allocator(device).sizes);
            let held = |row: usize| sizes.bytes(history, AllocationId::from_index(row));
            let lanes = self.map_lanes(device).clone();
            MemoryMap::new(&history.allocations, self.segments(device), lanes, held)
        })
    }
}

impl Document {
    /// The best packing of `device` that is known by now.
    pub(super) fn packed(&self, device: Device<'_>) -> Option<Rc<PackedMap>> {
        device.cache.packed.borrow().clone()
    }

    /// A better one is known.
    pub(super) fn set_packed(&self, device: Device<'_>, packed: PackedMap) {
        device.cache.packed.replace(Some(Rc::new(packed)));
    }
}

impl<'a> Device<'a> {
    /// The highest sum of live bytes.
    pub(super) fn peak_bytes(self) -> u64 {
        peak_bytes(self.history)
    }

    /// Whether there is a time axis.
    pub(super) fn has_times(self) -> bool {
        !self.history.moment_start_us.is_empty()
    }

    /// The timeline's columns; by events where there are no times.
    pub(super) fn bands(self, axis: Axis) -> Bands<'a> {
        Bands::of(self.history, axis == Axis::Time)
    }

    /// What the timeline computes once; the same for both axes.
    pub(super) fn index(self) -> &'a TimelineIndex {
        self.cache
            .index
            .get_or_init(|| TimelineIndex::new(&self.bands(Axis::Events)))
    }

    /// Its named ranges. `snapshot` is the one it is of.
    pub(super) fn lanes(self, snapshot: &Snapshot) -> &'a Lanes {
        let lanes = &self.cache.lanes;
        lanes.get_or_init(|| Lanes::of(snapshot, self.history))
    }

    /// Its moments worth a mark. `snapshot` is the one it is of.
    pub(super) fn markers(self, snapshot: &Snapshot) -> &'a Markers {
        let markers = &self.cache.markers;
        markers.get_or_init(|| Markers::of(snapshot, self.history))
    }

    /// What the totals of ranges are made from.
    pub(super) fn sums(self) -> &'a RangeSums {
        self.cache.sums.get_or_init(|| RangeSums::of(self.history))
    }

    /// Its training steps, if any range looks like one. `snapshot` is the one it is of.
    pub(super) fn steps(self, snapshot: &Snapshot) -> Option<&'a Steps> {
        let found = || steps(snapshot, self.history, self.lanes(snapshot), self.sums());
        self.cache.steps.get_or_init(found).as_ref()
    }

    /// All there is to see.
    pub(super) fn bounds(self, axis: Axis) -> Bounds {
        Bounds::new(self.bands(axis).x_end(), self.peak_bytes())
    }

    /// Bytes of all segments at a moment; `None` where the file has neither segments nor their events.
    pub(super) fn reserved_bytes(self, moment: u32) -> Option<u64> {
        self.knows_segments()
            .then(|| self.history.reserved_bytes(moment))
    }

    /// Whether anything is known of segments.
    pub(super) fn knows_segments(self) -> bool {
        self.history.most_reserved_bytes() > 0
    }

    /// Whether the device has this allocation.
    pub(super) fn has(self, allocation: AllocationId) -> bool {
        allocation.index() < self.history.allocations.len()
    }
}

fn peak_bytes(history: &History) -> u64 {
    history.active_bytes_at(history.peak_moment)
}
