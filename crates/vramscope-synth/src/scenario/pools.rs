//! CUDA graphs in private pools, a user's MemPool, and blocks that are freed while other streams
//! still use them.

use crate::allocator::HeapOptions;
use crate::recorder::{Allocation, Recorder, Request};
use crate::rng::Rng;
use crate::snapshot::{Snapshot, TraceEntry};
use crate::stacks::{Depth, Line, StackBook};

use super::of_one;

const COPY_STREAM: i64 = 0x5594_3a10_7c00;
const CAPTURE_STREAM: i64 = 0x5594_3a20_1080;

/// Three graphs are captured, then steps run with copies on a second stream.
#[must_use]
pub fn pools(seed: u64) -> Snapshot {
    let mut book = StackBook::new();
    let mut site = |name: &'static str, line: u32| {
        let path: [Line; 3] = [
            (name, "graphs.py", line),
            ("main", "graphs.py", 88),
            ("<module>", "graphs.py", 94),
        ];
        book.forward(Depth::Python, "empty", &path)
    };
    let (capture, user_pool) = (site("capture", 31), site("communication_buffer", 52));
    let (step, copy) = (site("step", 60), site("prefetch", 71));
    let mut rng = Rng::new(seed);
    let mut recorder = Recorder::new(HeapOptions::default(), Vec::new(), 0);
    for graph in 1..=3 {
        record_capture(&mut recorder, &mut rng, graph, capture);
    }
    for _ in 0..3 {
        let bytes = rng.between(8 << 20, 32 << 20);
        let _kept = recorder.alloc(Request {
            bytes,
            stream: 0,
            pool: (0, 1),
            stack: Some(user_pool),
        });
    }
    let mut pending: Vec<Allocation> = Vec::new();
    for _ in 0..40 {
        recorder.clock_us += rng.between(100, 900) as i64;
        let work = recorder.alloc(Request::new(rng.between(1 << 20, 9 << 20), step));
        poll(&mut recorder, &mut pending, 5);
        let bytes = rng.between(2 << 20, 6 << 20);
        let batch = recorder.alloc(Request {
            bytes,
            stream: COPY_STREAM,
            pool: (0, 0),
            stack: Some(copy),
        });
        if let Ok(work) = work {
            recorder.free(work);
        }
        if let Ok(batch) = batch {
            recorder.request_free(batch);
            pending.push(batch);
        }
    }
    // Five frees are still pending when the snapshot is taken.
    poll(&mut recorder, &mut pending, 5);
    of_one(recorder, book)
}

/// Captures one CUDA graph. It frees most of its allocations again, and the pool keeps their memory.
fn record_capture(recorder: &mut Recorder<Vec<TraceEntry>>, rng: &mut Rng, graph: u64, stack: u32) {
    let mut inside = Vec::new();
    for _ in 0..14 {
        recorder.clock_us += rng.between(10, 60) as i64;
        inside.extend(recorder.alloc(Request {
            bytes: rng.between(64 << 10, 12 << 20),
            stream: CAPTURE_STREAM,
            pool: (graph, 0),
            stack: Some(stack),
        }));
    }
    for allocation in inside.drain(4..) {
        recorder.free(allocation);
    }
}

/// Completes the oldest pending frees until `most` are left, with the stack that polled.
fn poll(recorder: &mut Recorder<Vec<TraceEntry>>, pending: &mut Vec<Allocation>, most: usize) {
    while pending.len() > most {
        let polled_from = recorder.sink.last().and_then(|entry| entry.frames);
        recorder.complete_free(pending.remove(0), polled_from);
    }
}
