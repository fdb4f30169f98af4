//! Attacks the command line with damaged and extreme files, each run under limits of memory and time.
//!
//! ```text
//! seed, number ─> damage | extreme | contradictory | hostile ─> containers ─> commands ─> child ─> verdict ─> a file kept per fault
//!                                                                             interruptions ─┘
//! shapes n, 4n ─> commands ─> child ─> growth
//! ```
//!
//! A case depends only on the seed and its number, so the command printed with a fault reproduces it anywhere.
#![expect(clippy::print_stdout, reason = "a command line tool")]

mod cases;
mod child;
mod commands;
mod containers;
mod contradictory;
mod damage;
mod extreme;
mod growth;
mod interruptions;
mod shapes;
mod verdict;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Parser;

use cases::Cases;

/// Attacks `vramscope` with damaged and extreme files.
#[derive(Parser)]
struct Arguments {
    /// The program to attack
    #[arg(long)]
    program: PathBuf,
    /// The folders with the files to damage
    #[arg(long, required = true)]
    seeds: Vec<PathBuf>,
    /// Where to save the files of faults
    #[arg(long)]
    faults: PathBuf,
    /// How long to go on
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// The seed for making cases
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only the case with this number
    #[arg(long)]
    case: Option<u64>,
    /// Also compare the time and memory for files of different sizes, in up to half of the time
    #[arg(long)]
    growth: bool,
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    let cases = Cases::new(&arguments.seeds, arguments.seed)?;
    let start = Instant::now();
    let time = Duration::from_secs(arguments.seconds);
    let deadline = start + time;
    let numbers = match arguments.case {
        Some(only) => only..only.saturating_add(1),
        None => 0..u64::MAX,
    };
    let mut faults = Vec::new();
    if arguments.growth {
        faults.extend(growth::measure(&arguments.program, start + time / 2)?);
    }
    let attacked = cases::attack(
        &cases,
        &arguments.program,
        &arguments.faults,
        numbers,
        deadline,
    )?;
    faults.extend(attacked.faults);
    for fault in &faults {
        println!("{fault}\n");
    }
    println!(
        "{} runs of the program with {} files, {} faults",
        attacked.runs,
        attacked.files,
        faults.len()
    );
    Ok(if faults.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
