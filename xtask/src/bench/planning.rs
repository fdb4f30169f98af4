//! `cargo xtask bench planning`: measures packing, inductor's pools and graphs, the allocator's model, and
//! plans, by an example of a crate. Also measures real snapshots if `VRAMSCOPE_SHARED` names a folder with
//! some.

use std::path::Path;

use anyhow::Result;

use crate::process::{cargo, root, run};

/// Builds, measures, and prints the figures.
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
