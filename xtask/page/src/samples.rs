//! The samples of the start page: snapshots from vramscope-synth, written when the page is built, recordings, and a
//! graph.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use anyhow::{Context, Result};
use flate2::{Compression, write::GzEncoder};

use crate::fingerprint::files_under;
use crate::process::{cargo, root, run_quiet};

/// A graph by torch.compile, as inductor exports it; relative to the repository's root.
pub const GRAPH: &str = "tests/fixtures/planning/graphs/dag_of_mib.orm.json.zst";

/// Real recordings of small programs; relative to the repository's root.
pub const RECORDINGS: &str = "tests/fixtures/roles/rules";

/// The recordings that are samples.
const RECORDED: [&str; 5] = [
    "gpt_adamw.pickle.zst",
    "gpt_checkpoint.pickle.zst",
    "lora_adamw.pickle.zst",
    "llama_generate_late.pickle.zst",
    "fsdp2_nccl.pickle.zst",
];

/// Writes all samples of vramscope-synth as `<name>.pickle.gz`, the recordings and the graph, into `folder`.
pub fn write(folder: &Path) -> Result<()> {
    println!("writing the start page's samples");
    let mut synth = cargo();
    synth.args(["run", "--quiet", "--package", "vramscope-synth"]);
    synth.args(["--", "samples"]);
    // Discards its list of written files.
    run_quiet(synth.arg(folder).stdout(std::process::Stdio::null()))?;
    for file in files_under(folder)? {
        compress(&file).with_context(|| format!("cannot compress {}", file.display()))?;
    }
    copy(GRAPH, &folder.join("graph.json.zst"))?;
    for name in RECORDED {
        copy(&format!("{RECORDINGS}/{name}"), &folder.join(name))?;
    }
    Ok(())
}

fn copy(from: &str, to: &Path) -> Result<()> {
    let from = root().join(from);
    fs::copy(&from, to).with_context(|| format!("cannot copy {}", from.display()))?;
    Ok(())
}

/// Replaces a file by its gzip, without a timestamp: the same input gives the same bytes.
fn compress(plain: &Path) -> io::Result<()> {
    let gzip = File::create(plain.with_extension("pickle.gz"))?;
    let mut encoder = GzEncoder::new(gzip, Compression::best());
    io::copy(&mut File::open(plain)?, &mut encoder)?;
    encoder.finish()?;
    fs::remove_file(plain)
}
