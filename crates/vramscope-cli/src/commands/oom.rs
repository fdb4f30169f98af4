//! `vramscope oom`.

use clap::Args;

use crate::failure::Failure;

/// oom
#[derive(Args)]
pub(crate) struct Options {}

/// Runs the command.
///
/// # Errors
/// When it fails.
pub(crate) fn run(_options: &Options) -> Result<(), Failure> {
    Err(Failure::Usage("oom is not built yet".to_owned()))
}
