//! Compares the model with the recording, event by event, with the file's own settings.
//!
//! The recorded events stand in for CUDA: a new segment gets its recorded address, and CUDA has no memory where the
//! recording shows that memory was returned first or that a request failed. After a difference the model takes over
//! the recorded state, so that a difference is counted only once.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde::{Deserialize, Serialize};

use super::allocator::{Allocator, NONE, Request};
use super::program::{Call, Program, is_late};
use super::recorded::Recorded;
use super::recorded_device::{Item, RecordedDevice};
use super::{ModelSettings, Start, replay};
use vramscope_core::analysis::memory::allocator_state::Stepper;
use vramscope_core::analysis::recording::Device;
use vramscope_core::ids::AllocationId;
use vramscope_core::model::{Action, PoolId};

/// The model takes over the recorded state this often at most; later events are not compared.
const RESYNCHRONISED_AT_MOST: u64 = 1000;

/// The same limit in blocks, all of which are taken over each time: as many as a thousand times a genuine program has.
const BLOCKS_TAKEN_OVER_AT_MOST: usize = 2_000_000;

/// After taking over this often, the final state no longer counts as the model's own, because determining which part does
/// would cost as much again.
const COMPARED_AT_MOST: u64 = 100;

/// How many of a number of recorded items the model reproduces.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Agreement {
    /// Number of recorded items.
    pub recorded: u64,
    /// Number of them that the model reproduces.
    pub agreeing: u64,
}

impl Agreement {
    fn count(&mut self, agrees: bool) {
        self.recorded += 1;
        self.agreeing += u64::from(agrees);
    }

    /// Whether the model reproduces all of them.
    #[must_use]
    pub fn is_full(self) -> bool {
        self.recorded == self.agreeing
    }

    /// The share that the model reproduces, 0 to 1; 1 if nothing was recorded.
    #[must_use]
    pub fn share(self) -> f64 {
        if self.recorded == 0 {
            return 1.0;
        }
        self.agreeing as f64 / self.recorded as f64
    }
}

/// A kind of difference between model and recording.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Difference {
    /// The model took another free block.
    OtherBlock,
    /// Only one of the two obtained memory from the device, or they obtained different memory.
    OtherSegments,
    /// The two returned different segments or pages to CUDA.
    OtherRelease,
    /// A request was served by one of the two and refused by the other.
    OtherRefusal,
    /// Segments changed in the recording without any action of the program that explains it.
    Unexplained,
}

/// How closely the model follows a recording.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Check {
    /// Requests that got the same address.
    pub allocs: Agreement,
    /// Segment events (obtained, mapped, returned, unmapped) with the same address and size, for the same call.
    pub segment_events: Agreement,
    /// Number of segment events of the model that were not recorded.
    pub extra_segment_events: u64,
    /// The final state's segments, by address and size. Those that the model took over from the recording do not count as
    /// reproduced.
    pub final_segments: Agreement,
    /// The final state's blocks, by address, size and whether they are active, counted in the same way.
    pub final_blocks: Agreement,
    /// Number of differences of each kind that occurs.
    pub differences: BTreeMap<Difference, u64>,
    /// The moment after the first difference.
    pub first_difference: Option<u32>,
    /// Number of events that were not compared because there had been too many differences.
    pub events_left_out: u64,
    /// Peak of the bytes reserved in the recording.
    pub recorded_peak_bytes: u64,
    /// Peak of the bytes that the model reserves when it starts empty ([`Start::Afresh`]) with the same settings. The
    /// difference to `recorded_peak_bytes` is the error of a what-if.
    pub modelled_peak_bytes: u64,
}

impl Check {
    /// The modelled minus the recorded peak, as a share of the recorded one; 0 if nothing was reserved.
    #[must_use]
    pub fn peak_error(&self) -> f64 {
        if self.recorded_peak_bytes == 0 {
            return 0.0;
        }
        self.modelled_peak_bytes as f64 / self.recorded_peak_bytes as f64 - 1.0
    }
}

/// Runs a device's trace through the model, starting from the recorded state, and compares. `settings` are those of the
/// recording.
#[must_use]
pub fn check(device: Device<'_>, settings: &ModelSettings) -> Check {
    let modelled = replay(device, settings, Start::Afresh);
    compare(device, settings, modelled.peak_reserved_bytes)
}

/// [`check`], given [`Check::modelled_peak_bytes`].
pub(crate) fn compare(
    device: Device<'_>,
    settings: &ModelSettings,
    modelled_peak_bytes: u64,
) -> Check {
    let mut run = CheckRun::new(device, settings);
    run.run(device);
    run.settle(device, device.history.event_count);
    run.compare_final(device);
    Check {
        recorded_peak_bytes: device.history.most_reserved_bytes(),
        modelled_peak_bytes,
        ..run.check
    }
}

/// A [`check`] in progress.
struct CheckRun {
    program: Program,
    settings: ModelSettings,
    stepper: Stepper,
    allocator: Allocator,
    /// The block of each allocation, or [`NONE`].
    blocks: Vec<u32>,
    cuda: RecordedDevice,
    /// Releases by the program whose events are being read.
    meant: Vec<Call>,
    check: Check,
    resynchronised: u64,
    /// Number of blocks taken over in total.
    blocks_taken_over: usize,
    taken_over: TakenOver,
}

impl CheckRun {
    /// A check that has run no event.
    fn new(device: Device<'_>, settings: &ModelSettings) -> Self {
        let stepper = device.stepper_at(0);
        let allocations = device.history.allocations.len();
        let recorded = Recorded::of(settings, stepper.state(), allocations);
        Self {
            program: Program::of(device),
            settings: settings.clone(),
            stepper,
            allocator: recorded.allocator,
            blocks: recorded.blocks,
            cuda: RecordedDevice::default(),
            meant: Vec::new(),
            check: Check::default(),
            resynchronised: 0,
            blocks_taken_over: 0,
            taken_over: TakenOver::default(),
        }
    }

    /// Runs all events, unless there are too many differences.
    fn run(&mut self, device: Device<'_>) {
        let last = device.history.event_count;
        for moment in 1..=last {
            if self.resynchronised >= RESYNCHRONISED_AT_MOST
                || self.blocks_taken_over >= BLOCKS_TAKEN_OVER_AT_MOST
            {
                self.check.events_left_out = u64::from(last - moment + 1);
                return self.resynchronise(device, last);
            }
            self.step(device, moment);
        }
    }

    fn step(&mut self, device: Device<'_>, moment: u32) {
        let (snapshot, history) = (device.snapshot(), device.history);
        let row = (history.first_event + moment - 1) as usize;
        let (address, bytes) = (snapshot.events.addr[row], snapshot.events.size[row]);
        let mut calls = Vec::new();
        self.program.calls(device, moment, |call| calls.push(call));
        let item = match snapshot.events.action[row] {
            Action::SegmentAlloc | Action::SegmentMap => Some(Item::Obtained(address, bytes)),
            Action::SegmentFree | Action::SegmentUnmap => Some(Item::GivenBack(address, bytes)),
            _ => None,
        };
        // A run of releases has a call only at its first event.
        let goes_on = calls.is_empty() && matches!(item, Some(Item::GivenBack(..)));
        if !self.meant.is_empty() && !goes_on {
            self.settle(device, moment - 1);
        }
        if let Some(item) = item {
            self.check.segment_events.recorded += 1;
            self.taken_over.note(item);
            self.cuda.push(item);
        }
        for call in calls {
            self.act(device, moment, call, address);
        }
    }

    fn act(&mut self, device: Device<'_>, moment: u32, call: Call, address: u64) {
        match call {
            Call::Malloc(id) => self.malloc(device, moment, id, address),
            Call::Refused {
                bytes,
                stream,
                pool,
            } => {
                let request = self.prepare(device, (bytes, stream, pool), moment - 1);
                let served = self.allocator.malloc(request, bytes, &mut self.cuda);
                self.finish(device, moment, served.map(|_| Difference::OtherRefusal));
            }
            Call::Free(id) => {
                let is_late = is_late(device.history, id, moment);
                if !is_late {
                    self.settle(device, moment - 1);
                }
                let row = std::mem::replace(&mut self.blocks[id.index()], NONE);
                let address = device.history.allocations.address[id.index()];
                self.taken_over.blocks.remove(&address);
                match row {
                    NONE => {}
                    // It completed because streams were polled or waited for on behalf of the following request.
                    _ if is_late => self.cuda.push(Item::Free(row)),
                    _ => self.allocator.free(row),
                }
            }
            Call::FreeRequested(_) => self.settle(device, moment - 1),
            Call::EmptyCache | Call::ReleasePool(_) => self.meant.push(call),
            Call::Abandon(pool) => self.allocator.abandon(pool),
            Call::ForRequest => {}
        }
    }

    fn malloc(&mut self, device: Device<'_>, moment: u32, id: AllocationId, address: u64) {
        let asked = Program::request(device, id);
        let request = self.prepare(device, asked, moment - 1);
        let served = self.allocator.malloc(request, asked.0, &mut self.cuda);
        let placed = served.map(|row| self.allocator.blocks[row as usize].address);
        self.taken_over.blocks.remove(&address);
        self.check.allocs.recorded += 1;
        self.check.allocs.agreeing += u64::from(placed == Some(address));
        self.blocks[id.index()] = served.unwrap_or(NONE);
        let difference = match placed {
            None => Some(Difference::OtherRefusal),
            Some(placed) if placed != address => Some(Difference::OtherBlock),
            Some(_) => None,
        };
        self.finish(device, moment, difference);
    }

    /// Handles the waiting events that come before a request, and returns the request. Frees that complete at its beginning
    /// are carried out. If memory was returned to CUDA although a free block fits, the program must have done it.
    fn prepare(
        &mut self,
        device: Device<'_>,
        (bytes, stream, pool): (u64, i64, PoolId),
        before: u32,
    ) -> Request {
        let request = self.allocator.request(bytes, stream, pool);
        if self.cuda.gives_back() && self.allocator.find_free(request).is_some() {
            self.meant.push(Call::EmptyCache);
            let later = self.cuda.split_off_obtained();
            let resynchronised = self.resynchronised;
            self.settle(device, before);
            // A state that was taken over already contains the later events, and its blocks have other rows.
            if self.resynchronised == resynchronised {
                self.cuda = later;
            }
        }
        if !self.cuda.gives_back() || self.settings.collects_garbage() {
            self.complete_frees();
        }
        // Settling may have taken over the recorded state, in which pools have other rows.
        self.allocator.request(bytes, stream, pool)
    }

    fn complete_frees(&mut self) {
        for row in self.cuda.take_frees() {
            self.allocator.free(row);
        }
    }

    /// Handles waiting events that belong to no request.
    fn settle(&mut self, device: Device<'_>, moment: u32) {
        if self.meant.is_empty() && self.cuda.is_empty() {
            return;
        }
        for call in std::mem::take(&mut self.meant) {
            match call {
                Call::ReleasePool(pool) => {
                    self.complete_frees();
                    self.allocator.release_private(pool, &mut self.cuda);
                }
                _ => self.allocator.release_cached(&mut self.cuda),
            }
        }
        self.complete_frees();
        self.finish(device, moment, None);
    }

    /// Ends a call. If the model differs, counts the difference and takes over the recorded state at `moment`.
    fn finish(&mut self, device: Device<'_>, moment: u32, difference: Option<Difference>) {
        let events = std::mem::take(&mut self.cuda);
        self.check.segment_events.agreeing += events.agreeing;
        self.check.extra_segment_events += events.extra;
        let found = match difference {
            Some(Difference::OtherRefusal) => difference,
            _ if events.has_obtained() || events.missed => Some(Difference::OtherSegments),
            _ if events.extra > 0 || !events.is_empty() => Some(Difference::OtherRelease),
            _ => difference,
        };
        if let Some(found) = found {
            *self.check.differences.entry(found).or_default() += 1;
            self.check.first_difference.get_or_insert(moment);
            self.resynchronise(device, moment);
        }
    }

    fn resynchronise(&mut self, device: Device<'_>, moment: u32) {
        self.resynchronised += 1;
        device.move_to(&mut self.stepper, moment);
        let recorded = Recorded::of(&self.settings, self.stepper.state(), self.blocks.len());
        self.blocks_taken_over += recorded.allocator.blocks.len();
        match self.resynchronised {
            ..=COMPARED_AT_MOST => self.taken_over.add(&self.allocator, &recorded.allocator),
            _ => self.taken_over.is_all = true,
        }
        let abandoned = std::mem::take(&mut self.allocator.abandoned);
        self.allocator = recorded.allocator;
        self.allocator.abandoned = abandoned;
        for row in 0..self.allocator.pools.len() as u32 {
            self.allocator.give_up(row);
        }
        self.blocks = recorded.blocks;
        self.meant.clear();
    }

    /// Compares the file's final state with the model's.
    fn compare_final(&mut self, device: Device<'_>) {
        let (snapshot, history) = (device.snapshot(), device.history);
        let modelled = self.allocator.segments();
        let device = i32::try_from(history.device).unwrap_or(i32::MIN);
        for (_, segment) in snapshot.segments.of_device(device) {
            let own = modelled.get(&segment.address);
            let taken = &self.taken_over;
            let is_own = !taken.is_all && !taken.segments.contains(&segment.address);
            let own = own.filter(|(bytes, _)| *bytes == segment.total_size && is_own);
            self.check.final_segments.count(own.is_some());
            for id in segment.block_ids() {
                let block = snapshot.blocks.get(id);
                let listed = (block.address, block.size, block.state.is_active());
                let is_there = own.is_some_and(|(_, blocks)| blocks.binary_search(&listed).is_ok());
                let is_own = !taken.blocks.contains(&block.address);
                self.check.final_blocks.count(is_there && is_own);
            }
        }
    }
}

/// Addresses of segments and blocks that the model took over from the recording, until they are replaced.
#[derive(Default)]
struct TakenOver {
    segments: BTreeSet<u64>,
    /// Active blocks.
    blocks: HashSet<u64>,
    /// Whether everything counts as taken over, after too many differences.
    is_all: bool,
}

impl TakenOver {
    /// Forgets the segments that an event replaces or removes.
    fn note(&mut self, item: Item) {
        match item {
            Item::Obtained(address, _) => {
                self.segments.remove(&address);
            }
            Item::GivenBack(address, bytes) => {
                let gone = self.segments.range(address..address.saturating_add(bytes));
                let gone: Vec<u64> = gone.copied().collect();
                for address in gone {
                    self.segments.remove(&address);
                }
            }
            Item::Free(_) => {}
        }
    }

    /// Adds everything in `recorded` that `modelled`, which it replaces, lacks.
    fn add(&mut self, modelled: &Allocator, recorded: &Allocator) {
        let modelled = modelled.segments();
        for (address, (bytes, blocks)) in recorded.segments() {
            let own = modelled.get(&address).filter(|own| own.0 == bytes);
            if own.is_none() {
                self.segments.insert(address);
            }
            let active = blocks.into_iter().filter(|block| block.2);
            let others =
                active.filter(|block| own.is_none_or(|own| own.1.binary_search(block).is_err()));
            self.blocks.extend(others.map(|block| block.0));
        }
    }
}
