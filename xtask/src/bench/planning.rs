//! `cargo xtask bench planning`: packing, inductor's pools and graphs, the allocator's model and plans, measured by an
//! example of vramscope-core. Real snapshots are measured, too, where `VRAMSCOPE_SHARED` tells of some.

use std::path::Path;

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
        .args(["run", "--release", "--quiet", "--package", "vramscope-plan"])
        .args(["--example", "planning", "--"])
        .arg(root().join("tests/fixtures/planning"));
    if let Some(shared) = std::env::var_os("VRAMSCOPE_SHARED") {
        bench.arg(Path::new(&shared).join("real"));
    }
    run(&mut bench)
}
