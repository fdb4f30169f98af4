//! Runs whose size or shape is hard to draw, for benches: real programs do these things, but not all at once.

use crate::allocator::{Arena, HeapOptions, SegmentEvent, SegmentEventKind, round_size};
use crate::recorder::{Recorder, Request};
use crate::rng::Rng;
use crate::snapshot::{Action, Annotation, Snapshot, TraceEntry};
use crate::stacks::{CALL, Depth, Line, StackBook};

use super::{Scenario, of_one, torture};

/// The large runs.
pub const LARGE: [Scenario; 4] = [
    ("many-live", many_live),
    ("tiny", |seed| tiny(200_000, seed)),
    ("segment-each", |seed| segment_each(100_000, seed)),
    ("annotations", |seed| annotations(180, seed)),
];

/// A hundred thousand blocks live at once, replaced and freed in random order.
fn many_live(seed: u64) -> Snapshot {
    torture(100_000, seed)
}

/// A cache of `live` tiny blocks grows among the activations of a model and is freed in random order: the tiny blocks
/// are most of the allocations and a hundredth of the memory.
fn tiny(live: usize, seed: u64) -> Snapshot {
    let mut book = StackBook::new();
    let weight = stack(&mut book, ("load", "serve.py", 20));
    let rows = stacks(&mut book, 12, ("row", "cache.py", 30));
    let activations = stacks(&mut book, 40, ("forward", "model.py", 100));
    let mut rng = Rng::new(seed);
    let mut recorder = recorder();
    for _ in 0..400 {
        let _kept = recorder.alloc(Request::new(rng.between(1 << 20, 64 << 20), weight));
    }
    let mut cache = Vec::new();
    let mut saved = Vec::new();
    while cache.len() < live {
        recorder.clock_us += 400;
        for &site in &activations {
            saved.extend(recorder.alloc(Request::new(rng.between(1 << 16, 40 << 20), site)));
            for _ in 0..rng.below(50) {
                let bytes = 512 * rng.between(1, 8);
                cache.extend(recorder.alloc(Request::new(bytes, *rng.pick(&rows))));
            }
        }
        while let Some(activation) = saved.pop() {
            recorder.free(activation);
        }
    }
    rng.shuffle(&mut cache);
    for block in cache.drain(live / 8..) {
        recorder.free(block);
    }
    of_one(recorder, book)
}

/// Every allocation is a segment of its own, as in a captured program that calls `cudaMalloc` for each: `count` of them
/// one after the other, a fifth of them at once.
fn segment_each(count: usize, seed: u64) -> Snapshot {
    let (book, sites) = sites(50, ("buffer", "solver.py", 10));
    let mut rng = Rng::new(seed);
    let mut recorder = recorder();
    let mut live = Vec::new();
    // Addresses that were freed, by the power of their size.
    let mut free: [Vec<(u64, u64)>; 24] = std::array::from_fn(|_| Vec::new());
    let mut next = HeapOptions::default().base;
    for _ in 0..count {
        recorder.clock_us += rng.between(1, 40) as i64;
        if live.len() > count / 5 {
            let gone: (u64, u64, usize) = live.swap_remove(rng.below(live.len() as u64) as usize);
            free[gone.2].push((gone.0, gone.1));
            end_segment(&mut recorder, gone.0, gone.1);
        }
        let power = rng.between(9, 23) as usize;
        let again = free[power].pop();
        let (addr, bytes) =
            again.unwrap_or_else(|| (next, round_size(rng.between(1 << power, 2 << power))));
        next = next.max(addr + bytes);
        let site = *rng.pick(&sites);
        begin_segment(&mut recorder, addr, bytes, site);
        live.push((addr, bytes, power));
    }
    of_one(recorder, book)
}

fn begin_segment(recorder: &mut Recorder<Vec<TraceEntry>>, addr: u64, bytes: u64, site: u32) {
    let arena = Arena::of(bytes, 0, (0, 0));
    let frames = Some(recorder.new_list(site));
    recorder.heap.add_segment(addr, bytes, arena, frames);
    recorder.heap.malloc_at(addr, bytes, frames);
    let kind = SegmentEventKind::Alloc;
    recorder.segment(
        SegmentEvent {
            kind,
            addr,
            size: bytes,
            arena,
            frames,
        },
        frames,
    );
    recorder.record(Action::Alloc, addr, bytes, (0, (0, 0)), frames);
}

fn end_segment(recorder: &mut Recorder<Vec<TraceEntry>>, addr: u64, bytes: u64) {
    let arena = Arena::of(bytes, 0, (0, 0));
    recorder.heap.complete_free(addr);
    recorder.heap.remove_segment(addr);
    for action in [Action::FreeRequested, Action::FreeCompleted] {
        recorder.record(action, addr, bytes, (0, (0, 0)), None);
    }
    let kind = SegmentEventKind::Free;
    recorder.segment(
        SegmentEvent {
            kind,
            addr,
            size: bytes,
            arena,
            frames: None,
        },
        None,
    );
}

/// A loop of `seconds` with 2,000 ranges of `record_function` a second, four deep, and an allocation in each innermost.
fn annotations(seconds: u64, seed: u64) -> Snapshot {
    const RANGES_A_STEP: u64 = 100;
    const STEP_US: i64 = 50_000;
    let (book, sites) = sites(30, ("forward", "layers.py", 40));
    let mut rng = Rng::new(seed);
    let mut recorder = recorder();
    let mut ranges = Ranges::default();
    for step in 0..seconds * 2_000 / RANGES_A_STEP {
        let began = recorder.clock_us;
        ranges.begin(&recorder, format!("ProfilerStep#{step}"));
        for layer in 0..11 {
            ranges.begin(&recorder, format!("layer {layer}"));
            for name in ["attention", "mlp"] {
                ranges.begin(&recorder, name.to_owned());
                for kernel in ["norm", "project", "act"] {
                    ranges.begin(&recorder, kernel.to_owned());
                    recorder.clock_us += rng.between(200, 900) as i64;
                    let bytes = rng.between(1 << 12, 8 << 20);
                    let buffer = recorder.alloc(Request::new(bytes, *rng.pick(&sites)));
                    buffer.into_iter().for_each(|buffer| recorder.free(buffer));
                    ranges.end(&recorder);
                }
                ranges.end(&recorder);
            }
            ranges.end(&recorder);
        }
        recorder.clock_us = recorder.clock_us.max(began + STEP_US);
        ranges.end(&recorder);
    }
    Snapshot {
        external_annotations: ranges.made,
        ..of_one(recorder, book)
    }
}

/// Nested ranges, as `record_function` writes them.
#[derive(Default)]
struct Ranges {
    made: Vec<Annotation>,
    open: Vec<String>,
}

impl Ranges {
    fn begin(&mut self, recorder: &Recorder<Vec<TraceEntry>>, name: String) {
        self.mark(recorder, true, name.clone());
        self.open.push(name);
    }

    fn end(&mut self, recorder: &Recorder<Vec<TraceEntry>>) {
        if let Some(name) = self.open.pop() {
            self.mark(recorder, false, name);
        }
    }

    fn mark(&mut self, recorder: &Recorder<Vec<TraceEntry>>, is_start: bool, name: String) {
        self.made.push(Annotation {
            is_start,
            name: name.into(),
            device: 0,
            time_us: recorder.clock_us,
        });
    }
}

/// A recorder of an empty heap.
fn recorder() -> Recorder<Vec<TraceEntry>> {
    Recorder::new(HeapOptions::default(), Vec::new(), 0)
}

/// A book of so many stacks, each from a line of its own.
fn sites(count: u32, first: Line) -> (StackBook, Vec<u32>) {
    let mut book = StackBook::new();
    let sites = stacks(&mut book, count, first);
    (book, sites)
}

/// Stacks from neighbouring lines of one function.
fn stacks(book: &mut StackBook, count: u32, (function, file, first): Line) -> Vec<u32> {
    let lines = first..first + count;
    lines
        .map(|line| stack(book, (function, file, line)))
        .collect()
}

fn stack(book: &mut StackBook, line: Line) -> u32 {
    let path = [line, CALL[0], CALL[1], ("<module>", "main.py", 9)];
    book.forward(Depth::Python, "empty", &path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::{BlockState, Producer, WriteOptions};

    #[test]
    fn small_ones_of_their_kind_are_consistent() {
        for (name, snapshot) in [
            ("tiny", tiny(2_000, 1)),
            ("segment-each", segment_each(500, 1)),
            ("annotations", annotations(1, 1)),
        ] {
            let bytes = snapshot.to_pickle(&WriteOptions::new(Producer::Python(2, 15)));
            crate::check::assert_consistent(&bytes, name);
        }
    }

    #[test]
    fn each_is_what_it_says() {
        let is_live = |state: BlockState| state.is_active();
        let blocks = |snapshot: &Snapshot| {
            let blocks = snapshot.segments.iter().flat_map(|s| &s.blocks);
            blocks.filter(|block| is_live(block.state)).count()
        };
        assert_eq!(blocks(&tiny(2_000, 1)), 400 + 250);
        let each = segment_each(500, 1);
        assert_eq!(each.segments.len(), 101);
        assert_eq!(blocks(&each), 101);
        let ranges = annotations(1, 1).external_annotations.len() / 2;
        assert!((1_950..2_050).contains(&ranges), "{ranges} in a second");
    }
}
