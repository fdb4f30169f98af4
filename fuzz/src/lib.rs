//! Rules that hold for every input, as functions. Fuzz targets call them with inputs from libFuzzer, tests with
//! every input that once broke a rule.
//!
//! Each function panics if the input breaks its rule.

mod buffers;
mod fleet;
mod inductor;
mod profiler;
mod raw_log;
mod rules;
mod text;

pub use buffers::buffers;
pub use fleet::fleet;
pub use inductor::inductor;
pub use profiler::profiler;
pub use raw_log::raw_log;
pub use rules::{decode, decode_chunked, pipeline, vram_format};
pub use text::text;

/// Runs a rule on the files named on the command line, to examine a crash without a fuzzer.
///
/// # Errors
/// If a file cannot be read.
pub fn run_files(rule: fn(&[u8])) -> std::io::Result<()> {
    for path in std::env::args_os().skip(1) {
        rule(&std::fs::read(&path)?);
    }
    Ok(())
}
