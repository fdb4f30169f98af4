//! `vramscope at`.

use clap::Args;

use crate::failure::Failure;

/// at
#[derive(Args)]
pub(crate) struct Options {}

/// Runs the command.
///
/// # Errors
/// When it fails.
pub(crate) fn run(_options: &Options) -> Result<(), Failure> {
    Err(Failure::Usage("at is not built yet".to_owned()))
}
