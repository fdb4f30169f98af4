//! What the start page offers: snapshots, written by vramscope-synth when the page is built, and a graph.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use anyhow::{Context, Result};
use flate2::{Compression, write::GzEncoder};

use crate::fingerprint::files_under;
use crate::process::{cargo, root, run_quiet};

/// A graph that torch.compile made, as inductor exports it, beside the project's root.
pub(crate) const GRAPH: &str =
    "tests/fixtures/planning/graphs/random_dag_40__0_model__0_inference_0_fused.orm.json.zst";

/// Writes every sample of vramscope-synth as `<name>.pickle.gz` into `folder`, and the graph.
///
/// # Errors
///
/// When vramscope-synth does not build or a file cannot be written.
pub(crate) fn write(folder: &Path) -> Result<()> {
    println!("writing the start page's samples");
    let mut synth = cargo();
    synth.args([
        "run",
        "--quiet",
        "--package",
        "vramscope-synth",
        "--",
        "samples",
    ]);
    // It lists what it has written; here that is no news.
    run_quiet(synth.arg(folder).stdout(std::process::Stdio::null()))?;
    for file in files_under(folder)? {
        compress(&file).with_context(|| format!("cannot compress {}", file.display()))?;
    }
    let graph = root().join(GRAPH);
    fs::copy(&graph, folder.join("graph.json.zst"))
        .with_context(|| format!("cannot copy {}", graph.display()))?;
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
