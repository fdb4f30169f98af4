//! One small snapshot per producer, kept in `tests/fixtures/synth` for ever: however the
//! generators change, the decoder must keep reading these bytes. A test fails when the generators
//! no longer write them: then either the generator is wrong, or the new file joins the old one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::pickle::Dialect;
use crate::scenario;
use crate::snapshot::{Producer, Snapshot, WriteOptions};
use crate::text::{self, TextError};

/// The story in every producer's fixture: all actions, several streams, pools and devices,
/// memory from before the recording, pending frees. Addresses of device 1 have the top bit set,
/// for producers that sign them.
pub const STORY: &str = include_str!("fixtures/story.txt");

#[derive(Clone, Debug)]
pub struct Fixture {
    pub name: String,
    pub bytes: Vec<u8>,
}

/// Every fixture.
///
/// # Errors
/// When the story cannot be parsed.
pub fn all() -> Result<Vec<Fixture>, TextError> {
    let story = text::snapshot(STORY)?;
    let mut list = Vec::new();
    for producer in Producer::ALL {
        list.push(fixture(
            &as_told_by(producer, &story),
            WriteOptions::new(producer),
            "",
        ));
    }
    let newest = WriteOptions::new(Producer::Python(2, 15));
    for protocol in [0, 1, 2, 3, 5] {
        list.push(fixture(&story, newest.protocol(protocol), ""));
    }
    let segment_list = WriteOptions {
        is_segment_list: true,
        ..newest
    };
    list.push(fixture(&story, segment_list, "-segment-list"));
    // The other two scenarios are large, and are samples of the start page.
    let is_small = |(name, _): &scenario::Scenario| !["fragmented", "oom"].contains(name);
    for (name, make) in scenario::ALL.into_iter().filter(is_small) {
        let bytes = make(1).to_pickle(&newest);
        list.push(Fixture {
            name: format!("scenario-{name}.pickle"),
            bytes,
        });
    }
    // torch 2.3 development builds wrote the unlimited split size as an unsigned number.
    let mut unlimited = as_told_by(Producer::Python(2, 3), &story);
    unlimited.settings.max_split_size = u64::MAX.into();
    list.push(fixture(
        &unlimited,
        WriteOptions::new(Producer::Python(2, 3)),
        "-unsigned-split",
    ));
    Ok(list)
}

/// The story without the lines that this producer cannot record.
fn as_told_by(producer: Producer, story: &Snapshot) -> Snapshot {
    if producer == Producer::Profile {
        return story.as_profile();
    }
    let mut told = story.clone();
    for trace in &mut told.device_traces {
        trace.retain(|entry| entry.action.is_known_to(producer));
    }
    told
}

fn fixture(story: &Snapshot, options: WriteOptions, suffix: &str) -> Fixture {
    let writer = match options.producer {
        Producer::Python(major, minor) => format!("torch-{major}.{minor}-py"),
        Producer::Cpp => "torch-2.15-cpp".to_owned(),
        Producer::Xpu => "torch-2.11-xpu".to_owned(),
        Producer::Profile => "torch-2.15-profile".to_owned(),
    };
    let protocol = match options.dialect {
        Dialect::Cpp => 2,
        Dialect::Python(protocol) => protocol,
    };
    let name = format!("{writer}-p{protocol}{suffix}.pickle");
    Fixture {
        name,
        bytes: story.to_pickle(&options),
    }
}

/// Writes every fixture into `dir`, which is created if it is missing, and returns the files' paths.
///
/// # Errors
/// When the directory or a file cannot be written.
pub fn write_all(dir: &Path) -> io::Result<Vec<PathBuf>> {
    fs::create_dir_all(dir)?;
    let mut written = Vec::new();
    for Fixture { name, bytes } in all().map_err(io::Error::other)? {
        let path = dir.join(name);
        fs::write(&path, bytes)?;
        written.push(path);
    }
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_and_all_is_small() {
        let list = all().unwrap();
        let mut names: Vec<_> = list.iter().map(|f| &f.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), list.len());
        assert!(list.iter().map(|f| f.bytes.len()).sum::<usize>() < 2_000_000);
    }

    #[test]
    fn every_fixture_is_consistent() {
        for Fixture { name, bytes } in all().unwrap() {
            crate::check::assert_consistent(&bytes, &name);
        }
    }

    #[test]
    fn the_committed_files_are_these() {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/synth");
        for Fixture { name, bytes } in all().unwrap() {
            let committed = fs::read(dir.join(&name)).unwrap_or_default();
            let remedy = "run `cargo run -p vramscope-synth -- fixtures tests/fixtures/synth`";
            assert!(
                committed == bytes,
                "{name} differs from what is committed: {remedy}"
            );
        }
    }
}
