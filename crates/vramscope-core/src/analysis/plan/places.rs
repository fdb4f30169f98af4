//! A device's buffers by pool and stream, as problems to pack; and what each place and all together need at least.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Waiting;
use crate::Snapshot;
use crate::analysis::allocator_state::{BlockSizes, Recording};
use crate::analysis::capture::AllocatorKind;
use crate::analysis::details::stream_numbers;
use crate::analysis::findings::{failed_requests, numbered_stream};
use crate::analysis::history::{AllocationTable, NEVER};
use crate::analysis::packing::Problem;
use crate::analysis::places;
use crate::analysis::segment_history::SegmentHistory;
use crate::ids::AllocationId;
use crate::model::PoolId;

/// Memory that serves the same requests.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct PlaceKey {
    /// The pool; the default one where the file does not say.
    pub pool: PoolId,
    /// The `cudaStream_t` as a number; `None` = all streams, as in the driver's own pools.
    pub stream: Option<i64>,
}

impl PlaceKey {
    fn of(kind: AllocatorKind, pool: Option<PoolId>, stream: Option<i64>) -> Self {
        Self {
            pool: pool.unwrap_or_default(),
            stream: match kind {
                AllocatorKind::Torch => Some(stream.unwrap_or(0)),
                AllocatorKind::Driver => None,
            },
        }
    }

    /// `default pool, stream 2`.
    pub(super) fn label(self, numbers: &StreamNumbers) -> String {
        let Some(stream) = self.stream else {
            return self.pool.to_string();
        };
        let stream = numbered_stream(numbers.0.get(&stream).copied());
        format!("{}, {stream}", self.pool)
    }
}

/// The numbers of a file's streams.
pub(super) struct StreamNumbers(HashMap<i64, usize>);

impl StreamNumbers {
    pub(super) fn of(snapshot: &Snapshot) -> Self {
        Self(stream_numbers(snapshot).into_iter().zip(0..).collect())
    }
}

/// The buffers of one pool on one stream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// Which.
    pub key: PlaceKey,
    /// The allocation that each buffer of the problem is, ascending.
    pub allocations: Vec<AllocationId>,
    /// The buffers: times are moments, sizes are those of blocks. A buffer ends when its free is completed; what
    /// is older than the recording begins with it, and what is never freed ends after the last moment.
    pub problem: Arc<Problem>,
    /// The most of its requested bytes that were live at once.
    pub requested_bytes: u64,
    /// The same of the problem's sizes: no packing needs fewer.
    pub rounded_bytes: u64,
    /// The most bytes of its segments at once.
    pub reserved_bytes: u64,
}

/// What all places need together.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Needs {
    /// The most requested bytes that are live at once.
    pub(super) requested_bytes: u64,
    /// The first moment of it.
    pub(super) requested_moment: u32,
    /// Buffers live then.
    pub(super) live_at_peak: u64,
    /// The most bytes of blocks that are live at once.
    pub(super) rounded_bytes: u64,
    /// What waits for other streams.
    pub(super) waiting: Waiting,
}

/// A device's places, the largest first, and what they need together.
pub(super) fn places_of(recording: Recording<'_>, sizes: &BlockSizes) -> (Vec<Place>, Needs) {
    let kind = AllocatorKind::of(recording.snapshot);
    let mut rows = Rows::default();
    let place_of = place_of_allocations(recording, kind, &mut rows);
    let table = &recording.history.allocations;
    let blocks: Vec<u64> = table
        .bytes
        .iter()
        .map(|&bytes| sizes.rounded(bytes))
        .collect();
    let (peaks, needs) = sweep(table, &blocks, &place_of, rows.keys.len());

    let end = u64::from(recording.history.event_count) + 1;
    let mut problems: Vec<(Problem, Vec<AllocationId>)> = Vec::new();
    problems.resize_with(rows.keys.len(), Default::default);
    for (row, &place) in place_of.iter().enumerate() {
        let (problem, allocations) = &mut problems[place as usize];
        allocations.push(AllocationId::from_index(row));
        problem.lower.push(u64::from(table.born[row]));
        problem.upper.push(match table.died[row] {
            NEVER => end,
            died => u64::from(died),
        });
        problem.size.push(blocks[row]);
    }
    let reserved = reserved_peaks(recording, kind, &mut rows);
    // What only asked and got nothing might have got something under other settings.
    let snapshot = recording.snapshot;
    for moment in failed_requests(snapshot, recording.history) {
        let event = recording.history.first_event + moment - 1;
        let context = snapshot
            .contexts
            .get(snapshot.events.context[event as usize]);
        rows.number(PlaceKey::of(kind, context.pool, Some(context.stream)));
    }
    problems.resize_with(rows.keys.len(), Default::default);
    let mut places: Vec<Place> = problems
        .into_iter()
        .enumerate()
        .map(|(row, (problem, allocations))| {
            let peak = peaks.get(row).copied().unwrap_or_default();
            Place {
                key: rows.keys[row],
                allocations,
                problem: Arc::new(problem),
                requested_bytes: peak.requested.most(),
                rounded_bytes: peak.rounded.most(),
                reserved_bytes: reserved.get(row).copied().unwrap_or(0),
            }
        })
        .collect();
    places.sort_by_key(|place| {
        (
            std::cmp::Reverse((place.rounded_bytes, place.reserved_bytes)),
            place.key,
        )
    });
    (places, needs)
}

/// Places by number.
#[derive(Default)]
struct Rows {
    keys: Vec<PlaceKey>,
    numbers: HashMap<PlaceKey, u32>,
}

impl Rows {
    fn number(&mut self, key: PlaceKey) -> u32 {
        *self.numbers.entry(key).or_insert_with(|| {
            self.keys.push(key);
            self.keys.len() as u32 - 1
        })
    }
}

fn place_of_allocations(
    recording: Recording<'_>,
    kind: AllocatorKind,
    rows: &mut Rows,
) -> Vec<u32> {
    let (snapshot, history) = (recording.snapshot, recording.history);
    let pools = places::column(
        snapshot,
        history,
        |context| context.pool,
        |segment| segment.pool,
    );
    let streams = places::column(
        snapshot,
        history,
        |context| Some(context.stream),
        |segment| segment.stream,
    );
    let keys = pools.into_iter().zip(streams);
    keys.map(|(pool, stream)| rows.number(PlaceKey::of(kind, pool, stream)))
        .collect()
}

/// A sum and the most it ever was.
#[derive(Clone, Copy, Default)]
struct Running {
    now: u128,
    most: u128,
}

impl Running {
    /// Whether it is higher than ever.
    fn add(&mut self, bytes: u64) -> bool {
        self.now += u128::from(bytes);
        let is_highest = self.now > self.most;
        self.most = self.most.max(self.now);
        is_highest
    }

    fn sub(&mut self, bytes: u64) {
        self.now = self.now.saturating_sub(u128::from(bytes));
    }

    fn most(&self) -> u64 {
        u64::try_from(self.most).unwrap_or(u64::MAX)
    }
}

#[derive(Clone, Copy, Default)]
struct Peaks {
    requested: Running,
    rounded: Running,
}

/// One walk over births, requests to free and deaths, for the peaks of each place and of the device.
struct Sweep<'a> {
    table: &'a AllocationTable,
    blocks: &'a [u64],
    place_of: &'a [u32],
    /// Until when each was in use; from then on it waited.
    used_until: Vec<u32>,
    /// The next allocation to be born; they are numbered by birth.
    next: usize,
    by_place: Vec<Peaks>,
    device: Peaks,
    in_use: Running,
    waiting: Running,
    live: u64,
    needs: Needs,
}

fn sweep(
    table: &AllocationTable,
    blocks: &[u64],
    place_of: &[u32],
    places: usize,
) -> (Vec<Peaks>, Needs) {
    let lives = table.free_requested.iter().zip(&table.died);
    let mut sweep = Sweep {
        table,
        blocks,
        place_of,
        used_until: lives.map(|(&freed, &died)| freed.min(died)).collect(),
        next: 0,
        by_place: vec![Peaks::default(); places],
        device: Peaks::default(),
        in_use: Running::default(),
        waiting: Running::default(),
        live: 0,
        needs: Needs::default(),
    };
    sweep.walk();
    let mut needs = sweep.needs;
    needs.requested_bytes = sweep.device.requested.most();
    needs.rounded_bytes = sweep.device.rounded.most();
    needs.waiting.most_bytes = sweep.waiting.most();
    needs.waiting.peak_without_bytes = sweep.in_use.most();
    (sweep.by_place, needs)
}

/// The rows whose moment comes, by it.
fn by_moment(moments: &[u32]) -> Vec<u32> {
    let rows = 0..moments.len() as u32;
    let mut order: Vec<u32> = rows.filter(|&row| moments[row as usize] != NEVER).collect();
    order.sort_by_key(|&row| moments[row as usize]);
    order
}

impl Sweep<'_> {
    fn walk(&mut self) {
        let (deaths, releases) = (by_moment(&self.table.died), by_moment(&self.used_until));
        let mut deaths = deaths.into_iter().map(|row| row as usize).peekable();
        let mut releases = releases.into_iter().map(|row| row as usize).peekable();
        loop {
            let next = [
                self.table.born.get(self.next).copied(),
                deaths.peek().map(|&row| self.table.died[row]),
                releases.peek().map(|&row| self.used_until[row]),
            ];
            let Some(moment) = next.into_iter().flatten().min() else {
                return;
            };
            while let Some(row) = releases.next_if(|&row| self.used_until[row] == moment) {
                self.release(row, moment);
            }
            while let Some(row) = deaths.next_if(|&row| self.table.died[row] == moment) {
                self.die(row);
            }
            while self.table.born.get(self.next) == Some(&moment) {
                self.be_born(self.next);
                self.next += 1;
            }
        }
    }

    fn release(&mut self, row: usize, moment: u32) {
        let bytes = self.table.bytes[row];
        // What had been freed before the recording is not in use at any moment.
        if row < self.next {
            self.in_use.sub(bytes);
        }
        if self.table.died[row] > moment {
            self.waiting.add(bytes);
        }
    }

    fn die(&mut self, row: usize) {
        if self.used_until[row] < self.table.died[row] {
            self.waiting.sub(self.table.bytes[row]);
        }
        self.live -= 1;
        for peaks in [
            &mut self.device,
            &mut self.by_place[self.place_of[row] as usize],
        ] {
            peaks.requested.sub(self.table.bytes[row]);
            peaks.rounded.sub(self.blocks[row]);
        }
    }

    fn be_born(&mut self, row: usize) {
        let (bytes, moment) = (self.table.bytes[row], self.table.born[row]);
        self.live += 1;
        if self.used_until[row] > moment {
            self.in_use.add(bytes);
        }
        let place = &mut self.by_place[self.place_of[row] as usize];
        place.requested.add(bytes);
        place.rounded.add(self.blocks[row]);
        self.device.rounded.add(self.blocks[row]);
        if self.device.requested.add(bytes) {
            self.needs.requested_moment = moment;
            self.needs.live_at_peak = self.live;
            self.needs.waiting.at_peak_bytes = u64::try_from(self.waiting.now).unwrap_or(u64::MAX);
        }
    }
}

/// The most bytes of segments that each place held at once; places without any buffer are added.
fn reserved_peaks(recording: Recording<'_>, kind: AllocatorKind, rows: &mut Rows) -> Vec<u64> {
    let pieces = SegmentHistory::of(recording.snapshot, recording.history);
    let mut changes: Vec<(u32, u32, bool, u64)> = Vec::with_capacity(pieces.len() * 2);
    for piece in 0..pieces.len() {
        let segment = pieces.segment_of(piece);
        let place = rows.number(PlaceKey::of(kind, segment.pool, Some(segment.stream)));
        let bytes = pieces.bytes[piece];
        changes.push((place, pieces.born[piece], true, bytes));
        if pieces.died[piece] != NEVER {
            changes.push((place, pieces.died[piece], false, bytes));
        }
    }
    // By place and time; what goes comes before what comes.
    changes.sort_unstable();
    let mut sums = vec![Running::default(); rows.keys.len()];
    for (place, _, is_mapped, bytes) in changes {
        let sum = &mut sums[place as usize];
        if is_mapped {
            sum.add(bytes);
        } else {
            sum.sub(bytes);
        }
    }
    sums.iter().map(Running::most).collect()
}
