//! `cargo xtask bench planning`: packing, inductor's pools and graphs, measured by an example of vramscope-core.

use anyhow::Result;

use crate::process::{cargo, root, run};

/// Builds, measures, prints.
///
/// # Errors
///
/// When the build or the measurement fails.
pub(crate) fn measure() -> Result<()> {
    let mut bench = cargo();
    bench
        .args(["run", "--release", "--quiet", "--package", "vramscope-core"])
        .args(["--example", "planning", "--"])
        .arg(root().join("tests/fixtures/planning"));
    run(&mut bench)
}
