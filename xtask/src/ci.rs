//! `cargo xtask ci`: everything a change must pass.

use anyhow::Result;

use crate::process::{cargo, run as run_command};
use crate::tidy;

/// Runs every check; stops at the first that fails.
///
/// # Errors
///
/// When a check fails.
pub(crate) fn run() -> Result<()> {
    run_command(cargo().args(["fmt", "--all", "--check"]))?;
    tidy::run()
}
