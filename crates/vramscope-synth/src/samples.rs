//! The generated snapshots that the start page offers. It also offers real recordings of small programs, which lie
//! among the fixtures.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::scenario;
use crate::snapshot::{Producer, Snapshot, WriteOptions};
use crate::stacks::Depth;
use crate::text;
use crate::training::{self, Options, Scale};

/// The samples' file names.
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

/// Writes every sample into `dir`, which is created if it is missing, and returns the files' paths.
///
/// # Errors
/// When the directory or a file cannot be written.
pub fn write_all(dir: &Path) -> io::Result<Vec<PathBuf>> {
    fs::create_dir_all(dir)?;
    let options = WriteOptions::new(Producer::Python(2, 10));
    let mut written = Vec::new();
    for name in NAMES {
        let Some(snapshot) = sample(name) else {
            continue;
        };
        let path = dir.join(name);
        fs::write(&path, snapshot.to_pickle(&options))?;
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
