//! Runs over the stand-in: without torch wherever there is a Python, and with torch if `VRAMSCOPE_TORCH_PYTHON` names a
//! Python that has torch's build for CUDA.
#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![expect(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod programs;
mod torch;

use std::ffi::OsString;
use std::path::Path;

use vramscope_core::cards::Card;
use vramscope_dryrun::device::Device;
use vramscope_dryrun::run::{Options, Output, Run, Values, run};

/// Options for a card.
fn on(card: &str) -> Options {
    Options {
        device: Device::of(Card::called(card).unwrap()).unwrap(),
        devices: 1,
        rank: None,
        values: Values::Zeros,
        output: Output::Stderr,
    }
}

/// Runs a program in Python.
fn run_python(python: &str, program: &str, options: &Options, folder: &Path) -> Run {
    let command = [python, "-c", program].map(OsString::from);
    run(&command, options, folder).unwrap()
}
