//! Checks of the sources that no other tool makes.

use anyhow::Result;

/// Runs all checks and prints every finding.
///
/// # Errors
///
/// When there is a finding.
pub(crate) fn run() -> Result<()> {
    Ok(())
}
