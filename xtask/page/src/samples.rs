//! The samples of the start page, which vramscope-synth writes when the page is built.

use std::path::Path;
use std::process::Stdio;

use anyhow::Result;

use crate::process::{cargo, run_quiet};

/// Writes all samples into `folder`.
pub fn write(folder: &Path) -> Result<()> {
    println!("writing the start page's samples");
    let mut synth = cargo();
    synth.args(["run", "--quiet", "--package", "vramscope-synth"]);
    // Discards its list of written files.
    synth.args(["--", "samples"]).stdout(Stdio::null());
    run_quiet(synth.arg(folder))
}
