//! A run of any shape: as many distinct frames, stacks, devices or annotations as asked for. Real programs differ in
//! these counts a thousandfold, and each count costs a viewer something else.

use std::fmt::Write as _;

use clap::Args;

use crate::allocator::HeapOptions;
use crate::recorder::{Recorder, Request};
use crate::rng::Rng;
use crate::snapshot::{Annotation, PoolId, Snapshot, TraceEntry};
use crate::stacks::StackBook;

/// What a file has of each. The defaults are those of a small training run.
#[derive(Args, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Number of events of all devices together.
    #[arg(long, default_value_t = 100_000)]
    pub events: usize,
    /// Number of distinct frames; fewer if the stacks cannot hold so many.
    #[arg(long, default_value_t = 2_000)]
    pub frames: u32,
    /// Number of stacks, distinct if there are frames enough.
    #[arg(long, default_value_t = 2_000)]
    pub stacks: u32,
    /// Number of frames of each stack.
    #[arg(long, default_value_t = 40)]
    pub depth: u32,
    /// Bytes of a C++ name.
    #[arg(long, default_value_t = 80)]
    pub name_bytes: usize,
    /// Number of blocks live at once on each device.
    #[arg(long, default_value_t = 2_000)]
    pub live: usize,
    /// Number of devices.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub devices: u32,
    /// Number of streams of each device.
    #[arg(long, default_value_t = 1)]
    pub streams: u64,
    /// Number of memory pools of each device.
    #[arg(long, default_value_t = 1)]
    pub pools: u64,
    /// Number of annotated ranges.
    #[arg(long, default_value_t = 0)]
    pub annotations: usize,
}

/// Makes a snapshot of this shape. Blocks are freed in random order once the wanted number is live.
#[must_use]
pub fn shape(shape: &Shape, seed: u64) -> Snapshot {
    let mut rng = Rng::new(seed);
    let mut snapshot = Snapshot {
        stacks: stacks(shape, &mut rng).table,
        ..Snapshot::default()
    };
    let devices = shape.devices.max(1);
    let mut first_list = 0;
    for device in 0..devices {
        let options = HeapOptions {
            base: HeapOptions::default().base - u64::from(device) * 0x0100_0000_0000,
            // As much as they need on average, twice.
            capacity_bytes: (80 << 30) + ((shape.live as u64) << 21),
            ..HeapOptions::default()
        };
        let mut recorder = Recorder::new(options, Vec::new(), first_list);
        record(
            shape,
            shape.events / devices as usize,
            &mut recorder,
            &mut rng,
        );
        first_list = recorder.next_list;
        let segments = recorder.heap.segments(device as i32);
        snapshot.segments.extend(segments);
        snapshot.device_traces.push(recorder.sink);
    }
    snapshot.external_annotations = annotations(shape.annotations, &snapshot.device_traces[0]);
    snapshot
}

/// Records so many events, and a few more.
fn record(shape: &Shape, events: usize, recorder: &mut Recorder<Vec<TraceEntry>>, rng: &mut Rng) {
    let mut live = Vec::new();
    while recorder.entries < events {
        recorder.clock_us += rng.between(2, 40) as i64;
        if live.len() >= shape.live {
            let index = rng.below(live.len() as u64) as usize;
            recorder.free(live.swap_remove(index));
        }
        let power = rng.between(10, 22);
        let pool: PoolId = (0, rng.below(shape.pools));
        let request = Request {
            // PyTorch numbers streams by the addresses of their handles.
            stream: match rng.below(shape.streams) {
                0 => 0,
                other => 0x5581_0000_0000 + 64 * other as i64,
            },
            pool,
            ..Request::new(
                rng.between(1 << power, 2 << power),
                rng.below(u64::from(shape.stacks.max(1))) as u32,
            )
        };
        live.extend(recorder.alloc(request));
    }
}

/// Ranges one after the other over the time of a trace.
fn annotations(count: usize, trace: &[TraceEntry]) -> Vec<Annotation> {
    let mut all = Vec::with_capacity(2 * count);
    for range in 0..count {
        for (is_start, half) in [(true, 0), (false, 1)] {
            let event = (2 * range + half) * trace.len() / (2 * count);
            all.push(Annotation {
                is_start,
                name: format!("step {range}").into(),
                device: 0,
                time_us: trace
                    .get(event)
                    .and_then(|it| it.time_us)
                    .unwrap_or_default(),
            });
        }
    }
    all
}

/// Names of Python functions that say something about a role; most names do not.
const SPEAKING: [(&str, &str); 6] = [
    ("forward", "/home/me/project/model.py"),
    (
        "step",
        "/opt/venv/lib/python3.12/site-packages/torch/optim/adamw.py",
    ),
    (
        "backward",
        "/opt/venv/lib/python3.12/site-packages/torch/_tensor.py",
    ),
    (
        "_call_impl",
        "/opt/venv/lib/python3.12/site-packages/torch/nn/modules/module.py",
    ),
    (
        "__init__",
        "/opt/venv/lib/python3.12/site-packages/torch/nn/modules/linear.py",
    ),
    (
        "checkpoint",
        "/opt/venv/lib/python3.12/site-packages/torch/utils/checkpoint.py",
    ),
];

/// All stacks. The inner half is C++, the outer half Python. The innermost frames of the stacks go through all frames
/// in turn, so that each frame is somewhere; the others are frames that many stacks share.
fn stacks(shape: &Shape, rng: &mut Rng) -> StackBook {
    let mut book = StackBook::new();
    let half = (shape.frames.max(2)).div_ceil(2);
    let native: Vec<u32> = (0..half)
        .map(|number| book.frame(native_name(number, shape.name_bytes), "", 0))
        .collect();
    let python: Vec<u32> = (0..half)
        .map(|number| {
            let (name, file) = match SPEAKING.get(number as usize % 60) {
                Some(&(name, file)) => (name.to_owned(), file.to_owned()),
                None => (
                    format!("function_{}", number % 5_000),
                    python_file(number / 12),
                ),
            };
            book.frame(name, file, 1 + number)
        })
        .collect();
    let (inner, outer) = (shape.depth.div_ceil(2), shape.depth / 2);
    for stack in 0..shape.stacks.max(1) {
        let mut frames = Vec::with_capacity(shape.depth as usize);
        for (of, depth) in [(&native, inner), (&python, outer)] {
            let fresh = half.div_ceil(shape.stacks.max(1)).max(depth / 4).min(depth);
            let walked = (0..fresh).map(|at| (stack.wrapping_mul(fresh) + at) % half);
            frames.extend(walked.map(|number| of[number as usize]));
            // Low numbers more often than high ones.
            let shared = (fresh..depth).map(|_| {
                let most = rng.below(u64::from(half)) + 1;
                rng.below(most)
            });
            frames.extend(shared.map(|number| of[number as usize]));
        }
        book.table.add_stack(frames);
    }
    book
}

/// A file with twelve functions: three of four are installed.
fn python_file(number: u32) -> String {
    match number % 4 {
        0 => format!("/home/me/project/part_{number}.py"),
        _ => format!(
            "/opt/venv/lib/python3.12/site-packages/package_{}/file_{number}.py",
            number % 40
        ),
    }
}

/// A C++ signature of about so many bytes.
fn native_name(number: u32, bytes: usize) -> String {
    let mut name = match number % 3 {
        0 => format!("at::native::(anonymous namespace)::kernel_{number}("),
        1 => format!("torch::autograd::generated::Node{number}Backward0::apply("),
        _ => format!("at::_ops::operator_{number}::call("),
    };
    let mut argument = 0;
    while name.len() + 1 < bytes {
        let separator = if argument == 0 { "" } else { ", " };
        let _ = write!(
            name,
            "{separator}std::vector<at::Tensor, std::allocator<at::Tensor> > const&"
        );
        argument += 1;
    }
    name.push(')');
    name
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::snapshot::{Producer, WriteOptions};

    const SMALL: Shape = Shape {
        events: 3_000,
        frames: 700,
        stacks: 60,
        depth: 30,
        name_bytes: 200,
        live: 50,
        devices: 3,
        streams: 2,
        pools: 2,
        annotations: 10,
    };

    #[test]
    fn it_has_what_is_asked_for() {
        let made = shape(&SMALL, 1);
        let used: HashSet<u32> = made.stacks.stacks.iter().flatten().copied().collect();
        assert_eq!(used.len(), 700);
        let distinct: HashSet<&Vec<u32>> = made.stacks.stacks.iter().collect();
        assert_eq!(distinct.len(), 60);
        assert!(made.stacks.stacks.iter().all(|stack| stack.len() == 30));
        assert_eq!(made.device_traces.len(), 3);
        let events: usize = made.device_traces.iter().map(Vec::len).sum();
        assert!((3_000..3_030).contains(&events), "{events}");
        assert_eq!(made.external_annotations.len(), 20);
    }

    #[test]
    fn it_is_consistent() {
        let bytes = shape(&SMALL, 1).to_pickle(&WriteOptions::new(Producer::Python(2, 15)));
        crate::check::assert_consistent(&bytes, "shape");
    }
}
