//! `vramscope diff`.

use clap::Args;

use crate::failure::Failure;

/// diff
#[derive(Args)]
pub(crate) struct Options {}

/// Runs the command.
///
/// # Errors
/// When it fails.
pub(crate) fn run(_options: &Options) -> Result<(), Failure> {
    Err(Failure::Usage("diff is not built yet".to_owned()))
}
