//! Measures how fast texts are read, in MB a second: a log without reports, one with memory in every tenth line, and one
//! that consists of errors.
//!
//! `cargo run --release --package vramscope-text --example reading_speed`
#![expect(
    clippy::print_stdout,
    reason = "the result of a benchmark is what it prints"
)]

use std::time::Instant;

use vramscope_text::Reader;

const LINE: &str = "2026-01-12 08:52:38,374 [INFO] [rank3] step 1234/9000 loss 2.3071 grad_norm 0.81 lr 1.2e-05 tokens/s 41234.7 mfu 41.2 %\n";
const TOLD: &str = "[2022-02-21 23:35:27,338] [INFO] [utils.py:827:see_memory_usage] MA 4.96 GB         Max_MA 5.09 GB         CA 6.39 GB         Max_CA 6 GB\n";
const ERROR: &str = "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 MiB. GPU 1 has a total capacity of 23.65 GiB of \
                     which 5.00 MiB is free. Of the allocated memory 22.00 GiB is allocated by PyTorch, and 9.00 MiB is reserved by PyTorch \
                     but unallocated.\n";

fn main() {
    let ordinary = LINE.repeat(9000);
    let telling = format!("{}{TOLD}", LINE.repeat(9)).repeat(900);
    let errors = ERROR.repeat(2000);
    for (name, text, times) in [
        ("without anything to tell", ordinary, 400),
        ("every tenth line tells", telling, 40),
        ("errors alone", errors, 10),
    ] {
        let since = Instant::now();
        let mut reader = Reader::default();
        for _ in 0..times {
            reader.feed(text.as_bytes());
        }
        let reading = reader.finish();
        let seconds = since.elapsed().as_secs_f64();
        println!(
            "{name}: {:.0} MB/s ({} MB, {} records, {} quantities)",
            reading.bytes as f64 / 1e6 / seconds,
            reading.bytes / 1_000_000,
            reading.records.len(),
            reading.usage.len()
        );
    }
}
