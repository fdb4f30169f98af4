//! The snapshots that the start page offers, written by vramscope-synth when the page is built.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use anyhow::{Context, Result};
use flate2::{Compression, write::GzEncoder};

use crate::process::{cargo, run_quiet};

/// Each sample's name on the page, and what vramscope-synth is asked for.
const SAMPLES: [(&str, &[&str]); 2] = [
    ("training", &["training", "--events", "20000"]),
    ("fragmented", &["torture"]),
];

/// Writes every sample as `<name>.pickle.gz` into `folder`.
///
/// # Errors
///
/// When vramscope-synth does not build or a file cannot be written.
pub(crate) fn write(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    for (name, arguments) in SAMPLES {
        let plain = folder.join(format!("{name}.pickle"));
        let mut synth = cargo();
        synth.args(["run", "--quiet", "--package", "vramscope-synth", "--"]);
        run_quiet(synth.args(arguments).arg("--output").arg(&plain))?;
        compress(&plain).with_context(|| format!("cannot compress {}", plain.display()))?;
    }
    Ok(())
}

/// Replaces a file by its gzip; without a time in it, the same input gives the same bytes.
fn compress(plain: &Path) -> io::Result<()> {
    let gzip = File::create(plain.with_extension("pickle.gz"))?;
    let mut encoder = GzEncoder::new(gzip, Compression::best());
    io::copy(&mut File::open(plain)?, &mut encoder)?;
    encoder.finish()?;
    fs::remove_file(plain)
}
