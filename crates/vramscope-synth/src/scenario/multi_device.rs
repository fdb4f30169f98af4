//! Four devices with different peaks, of which the first is not the highest. One device stays idle.

use crate::allocator::HeapOptions;
use crate::recorder::{Recorder, Request};
use crate::rng::Rng;
use crate::snapshot::Snapshot;
use crate::stacks::{CALL, Depth, Line, StackBook};

/// A pipeline of three stages. Device 3 is initialised and then unused.
#[must_use]
pub fn multi_device(seed: u64) -> Snapshot {
    let mut book = StackBook::new();
    let mut rng = Rng::new(seed);
    let mut snapshot = Snapshot::default();
    let mut first_list = 0;
    for (device, megabytes) in [(0_u32, 40_u64), (1, 12), (2, 90)] {
        let path: [Line; 5] = [
            ("forward", "stage.py", 20 + device),
            CALL[0],
            CALL[1],
            ("run_stage", "pipeline.py", 66),
            ("<module>", "pipeline.py", 90),
        ];
        let stack = book.forward(Depth::Python, "linear", &path);
        let base = 0x7f00_0000_0000 - u64::from(device) * 0x0400_0000_0000;
        let options = HeapOptions {
            base,
            ..HeapOptions::default()
        };
        let mut recorder = Recorder::new(options, Vec::new(), first_list);
        recorder.clock_us += i64::from(device) * 1500;
        for _ in 0..20 {
            let mut held = Vec::new();
            for _ in 0..8 {
                recorder.clock_us += rng.between(40, 200) as i64;
                let bytes = rng.between(megabytes << 16, megabytes << 20);
                held.extend(recorder.alloc(Request::new(bytes, stack)));
            }
            let _kept = held
                .pop()
                .filter(|_| rng.chance(80))
                .map(|a| recorder.free(a));
            held.into_iter()
                .rev()
                .for_each(|allocation| recorder.free(allocation));
        }
        first_list = recorder.next_list;
        snapshot
            .segments
            .extend(recorder.heap.segments(device as i32));
        snapshot.device_traces.push(recorder.sink);
    }
    snapshot.device_traces.push(Vec::new());
    snapshot.stacks = book.table;
    snapshot
}
