//! Expandable segments: ranges mapped, unmapped in the middle, and joined again.

use crate::allocator::HeapOptions;
use crate::recorder::{Recorder, Request};
use crate::rng::Rng;
use crate::snapshot::{Settings, Snapshot};
use crate::stacks::{Depth, Line, StackBook};

use super::of_one;

/// Batches of growing size on one expandable segment; the cache is emptied between them.
#[must_use]
pub fn expandable(seed: u64) -> Snapshot {
    let mut book = StackBook::new();
    let mut rng = Rng::new(seed);
    let stacks: Vec<u32> = [31, 35, 38, 47]
        .map(|line| {
            let path: [Line; 3] = [
                ("generate", "serve.py", line),
                ("handle", "serve.py", 80),
                ("<module>", "serve.py", 95),
            ];
            book.forward(Depth::Python, "empty", &path)
        })
        .into();
    let options = HeapOptions {
        expandable: true,
        capacity_bytes: 4 << 30,
        ..Default::default()
    };
    let mut recorder = Recorder::new(options, Vec::new(), 0);
    let mut live = Vec::new();
    for round in 0..12 {
        for _ in 0..40 {
            recorder.clock_us += rng.between(20, 900) as i64;
            let power = rng.between(8, 25);
            let bytes = rng.between(1 << power, 2 << power);
            let stream = if rng.chance(15) { 0x5600_1000 } else { 0 };
            let request = Request {
                stream,
                ..Request::new(bytes, *rng.pick(&stacks))
            };
            live.extend(recorder.alloc(request));
        }
        rng.shuffle(&mut live);
        let keep = if round % 3 == 2 { 12 } else { 30 };
        for allocation in live.drain(keep..) {
            recorder.free(allocation);
        }
        if round % 3 == 2 {
            recorder.empty_cache();
        }
    }
    let settings = Settings {
        alloc_conf: "expandable_segments:True".into(),
        expandable_segments: true,
        ..Settings::default()
    };
    Snapshot {
        settings,
        ..of_one(recorder, book)
    }
}
