//! A server with a fragmented cache: much reserved, little used, no large free block.

use crate::allocator::HeapOptions;
use crate::recorder::{Recorder, Request};
use crate::rng::Rng;
use crate::snapshot::Snapshot;
use crate::stacks::{CALL, Depth, Line, StackBook};

use super::of_one;

const BOTTOM: [Line; 4] = [
    ("decode_batch", "engine.py", 118),
    ("serve", "engine.py", 174),
    ("main", "server.py", 52),
    ("<module>", "server.py", 60),
];

/// Before the first request.
const LOADING: [Line; 4] = [
    ("load_weights", "weights.py", 33),
    ("__init__", "engine.py", 61),
    ("main", "server.py", 47),
    ("<module>", "server.py", 60),
];

/// A key-value cache grows by requests of many lengths while short-lived buffers come and go.
#[must_use]
pub fn fragmented(seed: u64) -> Snapshot {
    let mut book = StackBook::new();
    let mut rng = Rng::new(seed);
    let Sites {
        weights,
        cache,
        scratch,
    } = Sites::new(&mut book);
    let capacity_bytes = 24 << 30;
    let options = HeapOptions {
        capacity_bytes,
        ..HeapOptions::default()
    };
    let mut recorder = Recorder::new(options, Vec::new(), 0);
    for layer in 0..16 {
        let bytes = if layer % 4 == 3 { 24 << 20 } else { 96 << 20 };
        let _kept = recorder.alloc(Request::new(bytes, weights));
    }
    let mut requests: Vec<Vec<_>> = Vec::new();
    for _ in 0..220 {
        recorder.clock_us += rng.between(500, 4000) as i64;
        // A request keeps its cache until it is answered.
        let length = rng.between(1, 18);
        let kind = *rng.pick(&cache);
        let mut held = Vec::new();
        for layer in 0..6 {
            let passing = *rng.pick(&scratch);
            let buffer = recorder.alloc(Request::new(rng.between(1 << 20, 30 << 20), passing));
            for stack in kind {
                let bytes = length * (512 << 10) + layer * 1000;
                held.extend(recorder.alloc(Request::new(bytes, stack)));
            }
            buffer.into_iter().for_each(|buffer| recorder.free(buffer));
        }
        requests.push(held);
        if requests.len() > 70 {
            let done = requests.swap_remove(rng.below(70) as usize);
            done.into_iter()
                .for_each(|allocation| recorder.free(allocation));
        }
    }
    // Prompts everywhere in the cache are cut short; the rest of each keeps its segment from being
    // returned to the driver.
    for allocation in requests.into_iter().flatten() {
        recorder.clock_us += rng.between(5, 60) as i64;
        if !rng.chance(12) {
            recorder.free(allocation);
        }
    }
    recorder.empty_cache();
    of_one(recorder, book)
}

struct Sites {
    weights: u32,
    cache: [[u32; 2]; 3],
    scratch: [u32; 10],
}

impl Sites {
    fn new(book: &mut StackBook) -> Self {
        let weights = book.forward(Depth::All, "empty", &LOADING);
        let mut site = |line: Line| {
            let mut path = vec![line, CALL[0], CALL[1]];
            path.extend(BOTTOM);
            book.forward(Depth::All, "empty", &path)
        };
        let cache = [
            [
                site(("extend_keys", "kv_cache.py", 71)),
                site(("extend_values", "kv_cache.py", 78)),
            ],
            [
                site(("prefill_keys", "kv_cache.py", 42)),
                site(("prefill_values", "kv_cache.py", 49)),
            ],
            [
                site(("fork_beam", "kv_cache.py", 97)),
                site(("fork_beam", "kv_cache.py", 98)),
            ],
        ];
        let scratch = [
            site(("gather_prompt", "engine.py", 96)),
            site(("sample_logits", "sampler.py", 24)),
            site(("top_p", "sampler.py", 41)),
            site(("rotary_tables", "model/rotary.py", 19)),
            site(("apply_rotary", "model/rotary.py", 31)),
            site(("attend", "model/attention.py", 57)),
            site(("causal_mask", "model/attention.py", 44)),
            site(("feed_forward", "model/block.py", 83)),
            site(("gate", "model/block.py", 79)),
            site(("lm_head", "model/decoder.py", 138)),
        ];
        Self {
            weights,
            cache,
            scratch,
        }
    }
}
