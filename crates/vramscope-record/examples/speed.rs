//! Measures how fast logs become snapshots: `cargo run --release -p vramscope-record --example speed [CALLS [FILE]]`. Writes
//! the measured log to FILE. Functions are not named.
#![expect(clippy::print_stdout, reason = "what it is for")]

use std::time::Instant;

use vramscope_core::encode::encode;
use vramscope_record::symbols::NoSymbols;
use vramscope_record::writer::sample;
use vramscope_record::{ConvertOptions, convert};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let calls = arguments
        .next()
        .map_or(Ok(1_000_000), |text| text.parse())?;
    let log = sample(calls);
    if let Some(path) = arguments.next() {
        std::fs::write(path, &log)?;
    }
    let start = Instant::now();
    let options = ConvertOptions::default();
    let (snapshot, _) = convert(&log, &options, &mut NoSymbols, &mut |_, _| {})?;
    let converted = start.elapsed().as_secs_f64();
    let mut pickle = Vec::new();
    encode(&snapshot, &mut pickle)?;
    let written = start.elapsed().as_secs_f64() - converted;
    let millions = calls as f64 / 1e6;
    println!(
        "{calls} calls, {:.1} MB of log: {:.2} million/s into a snapshot, {:.2} million/s into a pickle ({:.1} MB)",
        log.len() as f64 / 1e6,
        millions / converted,
        millions / (converted + written),
        pickle.len() as f64 / 1e6,
    );
    Ok(())
}
