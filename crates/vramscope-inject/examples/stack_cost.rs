//! Measures the cost of a stack in nanoseconds per call, by depth, and of recording it the first time. Run with `cargo
//! run --release --example stack_cost -p vramscope-inject`.
#![cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
#![expect(unsafe_code, reason = "what is measured is unsafe")]
#![expect(clippy::print_stdout, reason = "a report")]

mod log {
    //! A log that stores nothing.
    pub(crate) fn put(_kind: vramscope_record::layout::Kind, parts: &[&[u8]]) -> bool {
        std::hint::black_box(parts);
        true
    }

    pub(crate) fn lost(loss: vramscope_record::layout::Loss) {
        panic!("{loss:?}");
    }
}
#[path = "../src/stack/mod.rs"]
mod stack;

use std::hint::black_box;
use std::time::Instant;

/// Few enough to fit in one time slice.
const CALLS: u32 = 1000;

fn own_code() -> u64 {
    0
}

/// Calls `run` below this many frames of different functions.
#[inline(never)]
fn below(frames: u32, run: &mut dyn FnMut()) {
    match frames {
        0 => run(),
        odd if odd % 2 == 1 => below(frames - 1, run),
        _ => black_box(below as fn(u32, &mut dyn FnMut()))(frames - 1, run),
    }
    black_box(frames);
}

/// Calls `stack::record` below this many frames, with a choice of two call sites at each level.
#[inline(never)]
fn one_of_many(path: u32, frames: u32) {
    if frames == 0 {
        black_box(stack::record(128));
    } else if path & 1 == 0 {
        one_of_many(black_box(path >> 1), frames - 1);
    } else {
        one_of_many(black_box(path) >> 1, frames - 1);
        black_box(path);
    }
}

fn main() {
    let started = Instant::now();
    stack::record(128);
    println!(
        "first of the process  {:>9} ns",
        started.elapsed().as_nanos()
    );
    for frames in [0, 28, 58, 100] {
        below(frames, &mut || {
            let mut best = f64::MAX;
            for _ in 0..500 {
                let started = Instant::now();
                for _ in 0..CALLS {
                    black_box(stack::record(128));
                }
                best = best.min(started.elapsed().as_nanos() as f64 / f64::from(CALLS));
            }
            println!("{frames:>3} frames and a dozen {best:>9.0} ns");
        });
    }
    for stacks in [8, 64, 1024] {
        let mut best = f64::MAX;
        for _ in 0..100 {
            let started = Instant::now();
            for call in 0..CALLS {
                one_of_many(call % stacks, 10);
            }
            best = best.min(started.elapsed().as_nanos() as f64 / f64::from(CALLS));
        }
        println!("one of {stacks:>4}, 20 frames {best:>8.0} ns");
    }
}
