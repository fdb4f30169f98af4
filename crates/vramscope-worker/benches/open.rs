//! Times what a file needs until its first picture can be drawn: `cargo bench -p vramscope-worker --bench open -- FILE…`.
//!
//! Prints one line of JSON per file, which `cargo xtask bench` reads. Each file is read several times and the median
//! printed, because other programs run on the machine, too.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark that cannot go on has failed; its result is what it prints"
)]

use std::fs::{self, File};
use std::ops::ControlFlow;
use std::time::Instant;

use serde_json::{Value, json};
use vramscope_core::open::{Options, decode_with};
use vramscope_core::{Limits, Snapshot};
use vramscope_worker::Native;

/// Times each file is read; fewer for large ones.
const ROUNDS: usize = 5;
const LARGE_BYTES: u64 = 500 << 20;

fn main() {
    for path in std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with("--"))
    {
        measure(&path);
    }
}

fn measure(path: &str) {
    let file_bytes = fs::metadata(path).unwrap().len();
    let rounds = if file_bytes > LARGE_BYTES { 1 } else { ROUNDS };
    let (mut decode_s, mut pair_s, mut facts_s) = (Vec::new(), Vec::new(), Vec::new());
    let mut shape = Value::Null;
    let mut most_bytes = None;
    for _ in 0..rounds {
        let start = Instant::now();
        let snapshot = read(path, file_bytes);
        decode_s.push(start.elapsed().as_secs_f64());
        let start = Instant::now();
        let opened = Native::new(snapshot);
        pair_s.push(start.elapsed().as_secs_f64());
        most_bytes = most_bytes.or_else(peak_bytes);
        let start = Instant::now();
        let facts = opened.opened("");
        facts_s.push(start.elapsed().as_secs_f64());
        let recording = opened.recording();
        shape = json!({
            "events": facts.file.events,
            "allocations": recording.histories.iter().map(|of| of.allocations.len()).sum::<usize>(),
            "stacks": facts.file.stacks,
            "frames": recording.snapshot.frames.len(),
            "text_bytes": recording.snapshot.strings.heap_bytes(),
        });
    }
    println!(
        "{}",
        json!({
            "file": path,
            "file_bytes": file_bytes,
            "shape": shape,
            "decode_s": median(decode_s),
            "pair_s": median(pair_s),
            "facts_s": median(facts_s),
            "peak_bytes": most_bytes,
        })
    );
}

fn read(path: &str, file_bytes: u64) -> Snapshot {
    let options = Options {
        limits: Limits::default(),
        file_bytes: Some(file_bytes),
        on_progress: &mut |_| ControlFlow::Continue(()),
    };
    decode_with(File::open(path).unwrap(), options).unwrap()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The most memory this process has held so far, in bytes; only Linux reports it.
fn peak_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace()
        .next()?
        .parse::<u64>()
        .ok()
        .map(|kib| kib * 1024)
}
