//! A device's buffers as one packing problem per pool and stream, and the least memory that each and all together need.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::packing::Problem;
use vramscope_core::analysis::memory::capture::AllocatorKind;
use vramscope_core::analysis::memory::gap::{Arena, gap};
use vramscope_core::analysis::recording::{Device, Recording};
use vramscope_core::analysis::time::history::{AllocationTable, NEVER};
use vramscope_core::ids::AllocationId;
use vramscope_core::model::PoolId;
use vramscope_core::sorting::SortFew;

/// The pool and stream whose requests share memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct ArenaKey {
    /// The pool; the default pool if the file does not tell.
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

/// The buffers of one pool on one stream, as a packing problem.
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
    /// Peak of live requested bytes.
    pub(super) requested_bytes: u64,
    /// The first moment of that peak.
    pub(super) requested_moment: u32,
    /// Buffers live at that moment.
    pub(super) live_at_peak: u64,
    /// Peak of live aligned bytes.
    pub(super) aligned_bytes: u64,
    /// Freed memory that waits for other streams.
    pub(super) waiting: Waiting,
    /// Bytes of segments that were wholly free when the recording began.
    pub(super) empty_at_start_bytes: u64,
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

/// A device's packing problems, the largest first, and the least memory that they need together.
pub(super) fn problems_of(device: Device<'_>) -> (Vec<ArenaProblem>, Needs) {
    let kind = AllocatorKind::of(device.snapshot());
    let mut rows = Rows::default();
    let arena_of = arena_of_allocations(device, kind, &mut rows);
    let table = &device.history.allocations;
    let sizes = device.block_sizes();
    let blocks: Vec<u64> = table
        .bytes
        .iter()
        .map(|&bytes| sizes.aligned(bytes))
        .collect();
    let (peaks, needs) = sweep(table, &blocks, &arena_of, rows.keys.len());

    let end = u64::from(device.history.event_count) + 1;
    let mut problems = empty_problems(&arena_of, rows.keys.len());
    for (row, &arena) in arena_of.iter().enumerate() {
        let (problem, allocations) = &mut problems[arena as usize];
        allocations.push(AllocationId::from_index(row));
        problem.lower.push(u64::from(table.born[row]));
        problem.upper.push(match table.died[row] {
            NEVER => end,
            died => u64::from(died),
        });
        problem.size.push(blocks[row]);
    }
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
    problems.resize_with(rows.keys.len(), Default::default);
    let mut arenas: Vec<ArenaProblem> = problems
        .into_iter()
        .enumerate()
        .map(|(row, (problem, allocations))| {
            let peak = peaks.get(row).copied().unwrap_or_default();
            ArenaProblem {
                key: rows.keys[row],
                allocations,
                problem: Arc::new(problem),
                requested_bytes: peak.requested.most(),
                aligned_bytes: peak.aligned.most(),
                reserved_bytes: reserved.get(row).copied().unwrap_or(0),
            }
        })
        .collect();
    arenas.sort_few_by_key(|arena| {
        (
            std::cmp::Reverse((arena.aligned_bytes, arena.reserved_bytes)),
            arena.key,
        )
    });
    let needs = Needs {
        empty_at_start_bytes: gap(&device.state_at(0), None).empty_bytes,
        ..needs
    };
    (arenas, needs)
}

/// For each of `count` pools and streams, no buffers and no allocations yet, but room for exactly those that it has: with a
/// million events, growing lists would take 9 MB more.
fn empty_problems(arena_of: &[u32], count: usize) -> Vec<(Problem, Vec<AllocationId>)> {
    let mut buffers = vec![0; count];
    for &arena in arena_of {
        buffers[arena as usize] += 1;
    }
    let empty = |&buffers: &usize| {
        let problem = Problem {
            lower: Vec::with_capacity(buffers),
            upper: Vec::with_capacity(buffers),
            size: Vec::with_capacity(buffers),
            alignment: Vec::new(),
        };
        (problem, Vec::with_capacity(buffers))
    };
    buffers.iter().map(empty).collect()
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
    // Neighbours are nearly always in the same.
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

/// A running sum and its maximum.
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

/// One pass over births, free requests and deaths that finds the peaks of each pool and stream and of the device.
struct Sweep<'a> {
    table: &'a AllocationTable,
    blocks: &'a [u64],
    arena_of: &'a [u32],
    /// By allocation: the moment until which it was in use. From then on it waited.
    used_until: Vec<u32>,
    /// The next allocation to be born. Allocations are numbered by birth.
    next: usize,
    by_arena: Vec<Peaks>,
    device: Peaks,
    in_use: Running,
    waiting: Running,
    live: u64,
    needs: Needs,
}

fn sweep(
    table: &AllocationTable,
    blocks: &[u64],
    arena_of: &[u32],
    arenas: usize,
) -> (Vec<Peaks>, Needs) {
    let lives = table.free_requested.iter().zip(&table.died);
    let mut sweep = Sweep {
        table,
        blocks,
        arena_of,
        used_until: lives.map(|(&freed, &died)| freed.min(died)).collect(),
        next: 0,
        by_arena: vec![Peaks::default(); arenas],
        device: Peaks::default(),
        in_use: Running::default(),
        waiting: Running::default(),
        live: 0,
        needs: Needs::default(),
    };
    sweep.walk();
    let mut needs = sweep.needs;
    needs.requested_bytes = sweep.device.requested.most();
    needs.aligned_bytes = sweep.device.aligned.most();
    needs.waiting.most_bytes = sweep.waiting.most();
    needs.waiting.peak_without_bytes = sweep.in_use.most();
    (sweep.by_arena, needs)
}

/// The rows that have a moment, sorted by it: counted, as moments are few and comparing takes longer.
fn by_moment(moments: &[u32]) -> Vec<u32> {
    let known = || (0..).zip(moments).filter(|&(_, &moment)| moment != NEVER);
    let last = known().map(|(_, &moment)| moment as usize).max();
    let mut place = vec![0_u32; last.map_or(0, |last| last + 2)];
    known().for_each(|(_, &moment)| place[moment as usize + 1] += 1);
    let mut before = 0;
    for place in &mut place {
        before += *place;
        *place = before;
    }
    let mut order = vec![0; before as usize];
    for (row, &moment) in known() {
        let place = &mut place[moment as usize];
        order[*place as usize] = row;
        *place += 1;
    }
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
        // An allocation freed before the recording is never in use.
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
            &mut self.by_arena[self.arena_of[row] as usize],
        ] {
            peaks.requested.sub(self.table.bytes[row]);
            peaks.aligned.sub(self.blocks[row]);
        }
    }

    fn be_born(&mut self, row: usize) {
        let (bytes, moment) = (self.table.bytes[row], self.table.born[row]);
        self.live += 1;
        if self.used_until[row] > moment {
            self.in_use.add(bytes);
        }
        let arena = &mut self.by_arena[self.arena_of[row] as usize];
        arena.requested.add(bytes);
        arena.aligned.add(self.blocks[row]);
        self.device.aligned.add(self.blocks[row]);
        if self.device.requested.add(bytes) {
            self.needs.requested_moment = moment;
            self.needs.live_at_peak = self.live;
            self.needs.waiting.at_peak_bytes = u64::try_from(self.waiting.now).unwrap_or(u64::MAX);
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn rows_are_sorted_by_moment(
            moments in prop::collection::vec(prop_oneof![0_u32..30, Just(NEVER)], 0..60)
        ) {
            let mut sorted: Vec<u32> = (0..moments.len() as u32).collect();
            sorted.retain(|&row| moments[row as usize] != NEVER);
            sorted.sort_by_key(|&row| moments[row as usize]);
            prop_assert_eq!(by_moment(&moments), sorted);
        }
    }
}
