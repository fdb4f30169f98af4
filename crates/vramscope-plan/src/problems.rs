//! A device's buffers as one packing problem per pool and stream, and the least memory needed by each and by all together.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::packing::Problem;
use vramscope_core::analysis::memory::allocator_state::BlockSizes;
use vramscope_core::analysis::memory::capture::AllocatorKind;
use vramscope_core::analysis::memory::gap::{Arena, gap};
use vramscope_core::analysis::recording::{Device, Recording};
use vramscope_core::analysis::time::history::{AllocationTable, NEVER};
use vramscope_core::analysis::time::selection::Selection;
use vramscope_core::ids::AllocationId;
use vramscope_core::model::PoolId;
use vramscope_core::sorting::{SortFew, rows_by_end};

/// The pool and stream whose requests share memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct ArenaKey {
    /// The pool; the default pool if the file does not state it.
    pub pool: PoolId,
    /// The `cudaStream_t` as a number; `None` = all streams, as in the driver's own pools.
    pub stream: Option<i64>,
}

impl ArenaKey {
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
    pub(super) fn label(self, recording: &Recording) -> String {
        let pool = self.pool;
        match self.stream {
            Some(stream) => recording.place_label(Arena { pool, stream }),
            None => recording.pools().label(pool),
        }
    }
}

/// The buffers of one pool on one stream, as a packing problem. They are filled in by the first piece of work.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ArenaProblem {
    /// The pool and stream.
    pub key: ArenaKey,
    /// The allocation of each buffer of the problem, ascending.
    pub allocations: Vec<AllocationId>,
    /// The buffers. Times are moments and sizes are block sizes. A buffer ends when its free is completed. Buffers
    /// older than the recording begin with it, and buffers that are never freed end after the last moment.
    pub problem: Arc<Problem>,
    /// Peak of its live requested bytes.
    pub requested_bytes: u64,
    /// The same with each request aligned: a lower bound of any packing.
    pub aligned_bytes: u64,
    /// Peak of its segments' bytes.
    pub reserved_bytes: u64,
}

/// The least memory that all pools and streams need together.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Needs {
    pub(super) requested_bytes: u64,
    pub(super) requested_moment: u32,
    /// Buffers live at that moment.
    pub(super) live_at_peak: u64,
    pub(super) aligned_bytes: u64,
    /// Freed memory that waits for other streams.
    pub(super) waiting: Waiting,
    /// Bytes of segments that were wholly free when the recording began.
    pub(super) empty_at_start_bytes: u64,
}

impl Needs {
    /// What is known immediately: the peak of requested bytes.
    pub(super) fn at_peak(device: Device<'_>) -> Self {
        let history = device.history;
        let (requested_bytes, moment) = (history.peak_bytes(), history.peak_moment);
        Self {
            requested_bytes,
            requested_moment: moment,
            live_at_peak: Selection::LiveAt(moment).allocations(history).count() as u64,
            waiting: Waiting {
                peak_without_bytes: requested_bytes,
                ..Waiting::default()
            },
            ..Self::default()
        }
    }
}

/// Memory that the program had freed but that other streams could still be using.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Waiting {
    /// Peak of the waiting bytes, as requested.
    pub most_bytes: u64,
    /// Waiting bytes at the peak of requested bytes.
    pub at_peak_bytes: u64,
    /// The peak that requested bytes would have if nothing had to wait.
    pub peak_without_bytes: u64,
}

/// A device's pools and streams, largest first, and the needs of each and of all together. Their buffers are gathered when
/// they are packed, because they take several times the memory.
pub(super) struct Gathered {
    /// The problems, whose buffers are still missing.
    pub(super) problems: Vec<ArenaProblem>,
    /// Number of buffers of each problem.
    pub(super) buffers: Vec<u64>,
    /// The needs of all together.
    pub(super) needs: Needs,
    /// The buffers still to be filled in.
    pub(super) missing: Missing,
}

/// The buffers still missing in problems.
pub(super) struct Missing {
    /// The problem of each allocation.
    problem_of: Vec<u32>,
}

/// Finds a device's packing problems, and the least memory that they need.
pub(super) fn gather(device: Device<'_>) -> Gathered {
    let kind = AllocatorKind::of(device.snapshot());
    let mut rows = Rows::default();
    let mut problem_of = arena_of_allocations(device, kind, &mut rows);
    let sweep = Sweep::new(device, &problem_of, rows.keys.len());
    let (peaks, needs) = sweep.finish();
    let reserved = reserved_peaks(device, kind, &mut rows);
    // A pool and stream whose only request failed may be served under other settings.
    let snapshot = device.snapshot();
    for &moment in device.failed_requests() {
        let event = device.history.first_event + moment - 1;
        let context = snapshot
            .contexts
            .get(snapshot.events.context[event as usize]);
        rows.number(ArenaKey::of(kind, context.pool, Some(context.stream)));
    }
    let problem = |(row, &key): (usize, &ArenaKey)| {
        let peak = peaks.get(row).copied().unwrap_or_default();
        let problem = ArenaProblem {
            key,
            allocations: Vec::new(),
            problem: Arc::default(),
            requested_bytes: peak.requested.most(),
            aligned_bytes: peak.aligned.most(),
            reserved_bytes: reserved.get(row).copied().unwrap_or(0),
        };
        (row, problem)
    };
    let mut problems: Vec<_> = rows.keys.iter().enumerate().map(problem).collect();
    problems.sort_few_by_key(|(_, of)| {
        (
            std::cmp::Reverse((of.aligned_bytes, of.reserved_bytes)),
            of.key,
        )
    });
    let mut number_of = vec![0; problems.len()];
    for (number, &(row, _)) in (0..).zip(&problems) {
        number_of[row] = number;
    }
    let mut buffers = vec![0; problems.len()];
    for problem in &mut problem_of {
        *problem = number_of[*problem as usize];
        buffers[*problem as usize] += 1;
    }
    Gathered {
        problems: problems.into_iter().map(|(_, problem)| problem).collect(),
        buffers,
        needs: Needs {
            empty_at_start_bytes: gap(&device.state_at(0), None).empty_bytes,
            ..needs
        },
        missing: Missing { problem_of },
    }
}

impl Missing {
    /// Adds the buffers to the problems, into lists of exactly the right size: with a million events, growing lists would
    /// take 9 MB more.
    pub(super) fn fill(
        self,
        problems: &mut [ArenaProblem],
        buffers: impl Iterator<Item = u64>,
        device: Device<'_>,
    ) {
        let table = &device.history.allocations;
        let sizes = device.block_sizes();
        let end = u64::from(device.history.event_count) + 1;
        let room = buffers.map(|buffers| {
            let rows = buffers as usize;
            let problem = Problem {
                lower: Vec::with_capacity(rows),
                upper: Vec::with_capacity(rows),
                size: Vec::with_capacity(rows),
                alignment: Vec::new(),
            };
            (problem, Vec::with_capacity(rows))
        });
        let mut filled: Vec<_> = room.collect();
        for (row, number) in self.problem_of.into_iter().enumerate() {
            let (problem, allocations) = &mut filled[number as usize];
            allocations.push(AllocationId::from_index(row));
            problem.lower.push(u64::from(table.born[row]));
            problem.upper.push(match table.died[row] {
                NEVER => end,
                died => u64::from(died),
            });
            problem.size.push(sizes.aligned(table.bytes[row]));
        }
        for (to, (problem, allocations)) in problems.iter_mut().zip(filled) {
            (to.problem, to.allocations) = (Arc::new(problem), allocations);
        }
    }
}

/// Numbers pools and streams in order of appearance.
#[derive(Default)]
struct Rows {
    keys: Vec<ArenaKey>,
    numbers: HashMap<ArenaKey, u32>,
}

impl Rows {
    fn number(&mut self, key: ArenaKey) -> u32 {
        *self.numbers.entry(key).or_insert_with(|| {
            self.keys.push(key);
            self.keys.len() as u32 - 1
        })
    }
}

fn arena_of_allocations(device: Device<'_>, kind: AllocatorKind, rows: &mut Rows) -> Vec<u32> {
    let places = device.pool_of().iter().zip(device.stream_of());
    // Neighbours are nearly always in the same one.
    let mut last = None;
    let number = |(&pool, &stream)| match last {
        Some((known, number)) if known == (pool, stream) => number,
        _ => {
            let number = rows.number(ArenaKey::of(kind, pool, stream));
            last = Some(((pool, stream), number));
            number
        }
    };
    places.map(number).collect()
}

#[derive(Clone, Copy, Default)]
struct Running {
    now: u128,
    most: u128,
}

impl Running {
    /// Adds bytes, and returns whether the sum is a new maximum.
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
    aligned: Running,
}

/// The sums of a pass over births, free requests and deaths, as far as it has come.
#[derive(Default)]
struct Sums {
    /// Allocations by death, and those with pending frees by free request; the last first.
    deaths: Vec<u32>,
    releases: Vec<u32>,
    by_arena: Vec<Peaks>,
    device: Peaks,
    in_use: Running,
    waiting: Running,
    live: u64,
    needs: Needs,
}

/// One pass over births, free requests and deaths that finds the peaks of each pool and stream and of the device.
struct Sweep<'a> {
    table: &'a AllocationTable,
    sizes: &'a BlockSizes,
    arena_of: &'a [u32],
    sums: Sums,
}

impl<'a> Sweep<'a> {
    /// Before the pass.
    fn new(device: Device<'a>, arena_of: &'a [u32], arenas: usize) -> Self {
        let table = &device.history.allocations;
        let last_first = |ends: &[u32]| {
            let mut rows = rows_by_end(ends);
            rows.reverse();
            rows
        };
        let lives = table.free_requested.iter().zip(&table.died);
        let waits = lives.map(|(&freed, &died)| if freed < died { freed } else { NEVER });
        Self {
            table,
            sizes: device.block_sizes(),
            arena_of,
            sums: Sums {
                deaths: last_first(&table.died),
                releases: last_first(&waits.collect::<Vec<u32>>()),
                by_arena: vec![Peaks::default(); arenas],
                ..Sums::default()
            },
        }
    }

    /// The peaks of each pool and stream, and what all need together.
    fn finish(mut self) -> (Vec<Peaks>, Needs) {
        // Allocations are numbered by birth.
        for (row, &moment) in self.table.born.iter().enumerate() {
            self.end_until(moment, row);
            self.be_born(row, moment);
        }
        self.end_until(NEVER, self.table.len());
        let sums = self.sums;
        let mut needs = sums.needs;
        needs.requested_bytes = sums.device.requested.most();
        needs.aligned_bytes = sums.device.aligned.most();
        needs.waiting.most_bytes = sums.waiting.most();
        needs.waiting.peak_without_bytes = sums.in_use.most();
        (sums.by_arena, needs)
    }

    /// Handles everything freed before a moment, at which the allocation `next` is born.
    fn end_until(&mut self, moment: u32, next: usize) {
        let table = self.table;
        loop {
            let death = self.sums.deaths.last().map(|&row| row as usize);
            let release = self.sums.releases.last().map(|&row| row as usize);
            let died = death.map_or(NEVER, |row| table.died[row]);
            match release {
                Some(row) if table.free_requested[row] <= moment.min(died) => {
                    self.release(row, next);
                    self.sums.releases.pop();
                }
                _ => {
                    let Some(row) = death.filter(|_| died <= moment) else {
                        return;
                    };
                    self.die(row);
                    self.sums.deaths.pop();
                }
            }
        }
    }

    /// The moment until which an allocation was in use. From then on its free was pending.
    fn used_until(&self, row: usize) -> u32 {
        self.table.free_requested[row].min(self.table.died[row])
    }

    fn release(&mut self, row: usize, next: usize) {
        let bytes = self.table.bytes[row];
        // An allocation freed before the recording is never in use.
        if row < next {
            self.sums.in_use.sub(bytes);
        }
        self.sums.waiting.add(bytes);
    }

    fn die(&mut self, row: usize) {
        let bytes = self.table.bytes[row];
        if self.used_until(row) < self.table.died[row] {
            self.sums.waiting.sub(bytes);
        } else {
            self.sums.in_use.sub(bytes);
        }
        self.sums.live -= 1;
        let aligned = self.sizes.aligned(bytes);
        let Sums {
            device, by_arena, ..
        } = &mut self.sums;
        for peaks in [device, &mut by_arena[self.arena_of[row] as usize]] {
            peaks.requested.sub(bytes);
            peaks.aligned.sub(aligned);
        }
    }

    fn be_born(&mut self, row: usize, moment: u32) {
        let bytes = self.table.bytes[row];
        self.sums.live += 1;
        if self.used_until(row) > moment {
            self.sums.in_use.add(bytes);
        }
        let aligned = self.sizes.aligned(bytes);
        let arena = &mut self.sums.by_arena[self.arena_of[row] as usize];
        arena.requested.add(bytes);
        arena.aligned.add(aligned);
        self.sums.device.aligned.add(aligned);
        if self.sums.device.requested.add(bytes) {
            self.sums.needs.requested_moment = moment;
            self.sums.needs.live_at_peak = self.sums.live;
            self.sums.needs.waiting.at_peak_bytes =
                u64::try_from(self.sums.waiting.now).unwrap_or(u64::MAX);
        }
    }
}

/// Peak of the segments' bytes of each pool and stream. Those without any buffer are added to `rows`.
fn reserved_peaks(device: Device<'_>, kind: AllocatorKind, rows: &mut Rows) -> Vec<u64> {
    let pieces = device.segments();
    let mut changes: Vec<(u32, u32, bool, u64)> = Vec::with_capacity(pieces.len() * 2);
    for piece in 0..pieces.len() {
        let segment = pieces.segment_of(piece);
        let arena = rows.number(ArenaKey::of(kind, segment.pool, Some(segment.stream)));
        let bytes = pieces.bytes[piece];
        changes.push((arena, pieces.born[piece], true, bytes));
        if pieces.died[piece] != NEVER {
            changes.push((arena, pieces.died[piece], false, bytes));
        }
    }
    // Sorted by row and moment. At equal moments, unmapping comes before mapping.
    changes.sort_unstable();
    let mut sums = vec![Running::default(); rows.keys.len()];
    for (arena, _, is_mapped, bytes) in changes {
        let sum = &mut sums[arena as usize];
        if is_mapped {
            sum.add(bytes);
        } else {
            sum.sub(bytes);
        }
    }
    sums.iter().map(Running::most).collect()
}
