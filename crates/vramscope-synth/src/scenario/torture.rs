//! Thousands of live blocks, freed in random order: the worst case for a viewer that moves every
//! band above a freed one.

use crate::allocator::HeapOptions;
use crate::recorder::{Recorder, Request};
use crate::rng::Rng;
use crate::snapshot::Snapshot;
use crate::stacks::{CALL, Depth, Line, StackBook};

/// Allocates `live` blocks, frees and replaces random ones, then frees all but a tenth in
/// random order. `live = 3000` gives about 3.7 MB in protocol 4.
#[must_use]
pub fn torture(live: usize, seed: u64) -> Snapshot {
    let mut book = StackBook::new();
    let stacks: Vec<u32> = (0..60).map(|site| stack(&mut book, site)).collect();
    let mut rng = Rng::new(seed);
    let options = HeapOptions {
        // As much as they need on average, twice.
        capacity_bytes: HeapOptions::default()
            .capacity_bytes
            .max((live as u64) << 21),
        ..HeapOptions::default()
    };
    let mut recorder = Recorder::new(options, Vec::new(), 0);
    let mut blocks = Vec::new();
    let alloc = |recorder: &mut Recorder<_>, rng: &mut Rng| {
        recorder.clock_us += rng.between(2, 40) as i64;
        let power = rng.between(10, 22);
        let bytes = rng.between(1 << power, 2 << power);
        recorder.alloc(Request::new(bytes, *rng.pick(&stacks))).ok()
    };
    for _ in 0..live {
        blocks.extend(alloc(&mut recorder, &mut rng));
    }
    for _ in 0..7 * live / 2 {
        let index = rng.below(blocks.len() as u64) as usize;
        recorder.free(blocks.swap_remove(index));
        blocks.extend(alloc(&mut recorder, &mut rng));
    }
    rng.shuffle(&mut blocks);
    for block in blocks.drain(live / 10..) {
        recorder.clock_us += rng.between(1, 20) as i64;
        recorder.free(block);
    }
    Snapshot {
        segments: recorder.heap.segments(0),
        device_traces: vec![recorder.sink],
        stacks: book.table,
        ..Snapshot::default()
    }
}

fn stack(book: &mut StackBook, site: u32) -> u32 {
    let path: [Line; 7] = [
        ("fill", "torture.py", 20 + site),
        ("forward", "torture.py", 90 + site / 6),
        CALL[0],
        CALL[1],
        ("run", "torture.py", 131),
        ("main", "torture.py", 144),
        ("<module>", "torture.py", 150),
    ];
    book.forward(Depth::All, "empty_memory_format", &path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_stays_live() {
        let snapshot = torture(100, 1);
        let live = snapshot
            .segments
            .iter()
            .flat_map(|s| &s.blocks)
            .filter(|b| b.state.is_active());
        assert_eq!(live.count(), 10);
    }
}
