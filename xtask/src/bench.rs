//! `cargo xtask bench`: builds what is measured, then prints one table from one run.

use anyhow::Result;

/// Runs the benchmark with `arguments`.
///
/// # Errors
///
/// When a build or a measurement fails.
pub(crate) fn run(_arguments: &[String]) -> Result<()> {
    anyhow::bail!("no benchmark yet")
}
