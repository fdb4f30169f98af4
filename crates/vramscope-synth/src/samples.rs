//! The snapshots that the start page offers: a training run, a fragmented server, an out-of-memory.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::scenario;
use crate::snapshot::{Producer, Snapshot, WriteOptions};
use crate::stacks::Depth;
use crate::training::{self, Options, Scale};

/// The samples' file names.
pub const NAMES: [&str; 3] = [
    "training.pickle",
    "fragmented.pickle",
    "out-of-memory.pickle",
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
        _ => return None,
    })
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
