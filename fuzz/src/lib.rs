//! What no input may do, as functions: the fuzz targets call them on what libFuzzer thinks up, the
//! tests on every input that once broke one.
//!
//! Each panics if the input breaks the rule.

mod buffers;
mod inductor;
mod raw_log;
mod rules;

pub use buffers::buffers;
pub use inductor::inductor;
pub use raw_log::raw_log;
pub use rules::{decode, decode_chunked, pipeline, vram_format};

/// Runs a rule on the files named on the command line: how a crash is looked at without a fuzzer.
///
/// # Errors
/// When a file can't be read.
pub fn run_files(rule: fn(&[u8])) -> std::io::Result<()> {
    for path in std::env::args_os().skip(1) {
        rule(&std::fs::read(&path)?);
    }
    Ok(())
}
