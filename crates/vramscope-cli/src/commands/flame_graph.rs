//! `vramscope segments` and `vramscope memory`: flame graphs of the final state.

use clap::Args;

use crate::failure::Failure;

/// segments
#[derive(Args)]
pub(crate) struct SegmentsOptions {}

/// Runs the command.
///
/// # Errors
/// When it fails.
pub(crate) fn run_segments(_options: &SegmentsOptions) -> Result<(), Failure> {
    Err(Failure::Usage("segments is not built yet".to_owned()))
}

/// memory
#[derive(Args)]
pub(crate) struct MemoryOptions {}

/// Runs the command.
///
/// # Errors
/// When it fails.
pub(crate) fn run_memory(_options: &MemoryOptions) -> Result<(), Failure> {
    Err(Failure::Usage("memory is not built yet".to_owned()))
}
