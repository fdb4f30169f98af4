//! The samples that the start page offers: generated snapshots, and of the fixtures real recordings of small programs and
//! a graph.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use flate2::{Compression, write::GzEncoder};

use crate::scenario;
use crate::snapshot::{Producer, Snapshot, WriteOptions};
use crate::stacks::Depth;
use crate::text;
use crate::training::{self, Options, Scale};

/// The generated samples' file names.
pub const NAMES: [&str; 9] = [
    "training.pickle",
    "fragmented.pickle",
    "out-of-memory.pickle",
    "leak.pickle",
    "oom-waited.pickle",
    "pools.pickle",
    "expandable.pickle",
    "multi-device.pickle",
    "state-only.pickle",
];

/// Recordings among the fixtures that are samples, too.
const RECORDED: [&str; 5] = [
    "gpt_adamw.pickle.zst",
    "gpt_checkpoint.pickle.zst",
    "lora_adamw.pickle.zst",
    "llama_generate_late.pickle.zst",
    "fsdp2_nccl.pickle.zst",
];

/// A graph by torch.compile, as inductor exports it, among the fixtures.
const GRAPH: &str = "planning/graphs/dag_of_mib.orm.json.zst";

/// Builds the sample of this name; `None` for an unknown name.
#[must_use]
pub fn sample(name: &str) -> Option<Snapshot> {
    Some(match name {
        "training.pickle" => training::snapshot(&Options {
            events: 9_000,
            scale: Scale {
                layers: [3, 6],
                ..Scale::SMALL
            },
            depth: Depth::All,
            own_free_stacks: true,
            ..Options::default()
        }),
        "fragmented.pickle" => scenario::fragmented(1),
        "out-of-memory.pickle" => scenario::oom(1),
        "leak.pickle" => text::snapshot(&leak()).ok()?,
        _ => {
            let name = name.strip_suffix(".pickle")?;
            let known = scenario::ALL.into_iter().find(|(known, _)| *known == name);
            let made = known.map(|(_, make)| make(1));
            return made.or_else(|| scenario::failure(name));
        }
    })
}

/// Eight training steps. Each keeps its outputs in a list, 24 MiB more.
fn leak() -> String {
    const LAYERS: [u64; 4] = [40, 40, 40, 24];
    let mut story = "alloc weights 320MiB train.py:8:build > model.py:12:__init__\n".to_owned();
    for step in 0..8 {
        story += &format!(
            "begin \"ProfilerStep#{step}\"\nalloc batch{step} 32MiB train.py:20:get_batch\nwait 2ms\n"
        );
        for (layer, mib) in LAYERS.iter().enumerate() {
            story += &format!(
                "alloc out{step}_{layer} {mib}MiB train.py:31:step > model.py:{}:forward\nwait 1ms\n",
                20 + layer
            );
        }
        for (layer, mib) in LAYERS.iter().enumerate().rev() {
            story += &format!(
                "alloc grad{step}_{layer} {mib}MiB train.py:33:step > torch/autograd/graph.py:824:_engine_run_backward\nwait 1ms\n"
            );
            // The last layer's outputs are kept: `history.append(outputs)`.
            if layer + 1 < LAYERS.len() {
                story += &format!("free out{step}_{layer}\n");
            }
        }
        for layer in 0..LAYERS.len() {
            story += &format!("free grad{step}_{layer}\n");
        }
        story += &format!("free batch{step}\nend \"ProfilerStep#{step}\"\n");
    }
    story
}

/// Writes every sample into `dir`, which is created if it is missing, and returns the files' paths. The generated ones are
/// packed without a time: the same input gives the same bytes.
///
/// # Errors
/// When the directory or a file cannot be written, or a fixture not be read.
pub fn write_all(dir: &Path) -> io::Result<Vec<PathBuf>> {
    fs::create_dir_all(dir)?;
    let options = WriteOptions::new(Producer::Python(2, 10));
    let mut written = Vec::new();
    for name in NAMES {
        let Some(snapshot) = sample(name) else {
            continue;
        };
        let path = dir.join(name).with_extension("pickle.gz");
        let mut packed = GzEncoder::new(File::create(&path)?, Compression::best());
        packed.write_all(&snapshot.to_pickle(&options))?;
        packed.finish()?;
        written.push(path);
    }
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures");
    let recorded = RECORDED.map(|name| (name, format!("roles/rules/{name}")));
    for (name, fixture) in recorded
        .into_iter()
        .chain([("graph.json.zst", GRAPH.to_owned())])
    {
        let path = dir.join(name);
        fs::copy(fixtures.join(fixture), &path)?;
        written.push(path);
    }
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_consistent_and_small() {
        for name in NAMES {
            let bytes = sample(name)
                .unwrap()
                .to_pickle(&WriteOptions::new(Producer::Python(2, 10)));
            assert!(bytes.len() < 3_000_000, "{name}: {}", bytes.len());
            crate::check::assert_consistent(&bytes, name);
        }
    }
}
