//! Packing and reading gives the same snapshot, row by row; and damage is an error, never a panic.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use vramscope_core::encode::difference;
use vramscope_core::ids::{FrameId, StackId, StringId};
use vramscope_core::model::ContainerKind;
use vramscope_core::vram_format;
use vramscope_core::{Error, ErrorKind, Snapshot, decode};
use vramscope_synth::files::{File, all_files, fixtures_in};
use vramscope_synth::random::{config, nonsense};
use vramscope_synth::snapshot::{Producer, WriteOptions};

use crate::encode::any_snapshot;
use crate::support::decoded;

fn packed(snapshot: &Snapshot) -> Vec<u8> {
    let mut bytes = Vec::new();
    vram_format::write(snapshot, &mut bytes).unwrap();
    bytes
}

/// Packs and reads back; returns the first difference.
fn changed(snapshot: &Snapshot) -> Option<String> {
    let bytes = packed(snapshot);
    let again = decode(bytes.as_slice()).unwrap();
    // Packed once more, it is packed only once.
    let mut containers = snapshot.source.containers.clone();
    containers.retain(|kind| *kind != ContainerKind::Packed);
    containers.insert(0, ContainerKind::Packed);
    let is_same = [
        ("strings", strings(snapshot) == strings(&again)),
        ("frames", frames(snapshot) == frames(&again)),
        ("stacks", stacks(snapshot) == stacks(&again)),
        (
            "contexts",
            snapshot.contexts.rows() == again.contexts.rows(),
        ),
        ("action", snapshot.events.action == again.events.action),
        ("time_us", snapshot.events.time_us == again.events.time_us),
        (
            "event context",
            snapshot.events.context == again.events.context,
        ),
        ("event stack", snapshot.events.stack == again.events.stack),
        ("traces", snapshot.traces == again.traces),
        ("host_trace", snapshot.host_trace == again.host_trace),
        ("segments", snapshot.segments == again.segments),
        ("blocks", snapshot.blocks == again.blocks),
        ("annotations", snapshot.annotations == again.annotations),
        ("keys", snapshot.keys == again.keys),
        ("producer", snapshot.producer == again.producer),
        ("warnings", snapshot.warnings == again.warnings),
        ("containers", containers == again.source.containers),
    ];
    let first = is_same.iter().find(|(_, is_same)| !is_same);
    difference(snapshot, &again).or(first.map(|&(what, _)| what.to_owned()))
}

fn strings(snapshot: &Snapshot) -> Vec<&str> {
    let rows = 0..snapshot.strings.len();
    rows.map(|row| snapshot.strings.get(StringId::from_index(row)))
        .collect()
}

fn frames(snapshot: &Snapshot) -> Vec<vramscope_core::model::Frame> {
    let rows = 0..snapshot.frames.len();
    rows.map(|row| *snapshot.frames.get(FrameId::from_index(row)))
        .collect()
}

fn stacks(snapshot: &Snapshot) -> Vec<Vec<FrameId>> {
    let rows = 0..snapshot.stacks.len();
    rows.map(|row| snapshot.stacks.frames(StackId::from_index(row)).collect())
        .collect()
}

#[test]
fn every_file_survives() {
    for file in all_files() {
        assert_eq!(changed(&decoded(&file)), None, "{}", file.name);
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_snapshot_survives(snapshot in any_snapshot(), producer in 0..Producer::ALL.len()) {
        let bytes = snapshot.to_pickle(&WriteOptions::new(Producer::ALL[producer]));
        prop_assert_eq!(changed(&decode(bytes.as_slice()).unwrap()), None);
    }

    #[test]
    fn nonsense_survives(snapshot in nonsense()) {
        let bytes = snapshot.to_pickle(&WriteOptions::new(Producer::Python(2, 15)));
        prop_assert_eq!(changed(&decode(bytes.as_slice()).unwrap()), None);
    }
}

/// A file with at least one row in every table.
fn small() -> Snapshot {
    let files = fixtures_in("torch-2.15.0");
    let file = files
        .iter()
        .find(|file| file.name.ends_with("/pinned.pickle"));
    decoded(file.unwrap())
}

fn error_of(bytes: &[u8]) -> Error {
    match decode(bytes) {
        Ok(_) => panic!("accepted"),
        Err(error) => error,
    }
}

#[test]
fn a_file_cut_short_says_so() {
    let bytes = packed(&small());
    for length in (9..bytes.len()).step_by(7) {
        let error = error_of(&bytes[..length]);
        assert!(
            matches!(error.kind, ErrorKind::Truncated(_)),
            "{length}: {error}"
        );
        assert_eq!(error.containers, [ContainerKind::Packed]);
    }
}

#[test]
fn errors_say_where_and_what_to_do() {
    let mut bytes = packed(&small());
    bytes[8] = 7;
    let error = error_of(&bytes);
    assert_eq!(error.kind, ErrorKind::NewerPacked(7));
    assert_eq!(error.advice(), "Open it with a newer vramscope.");
    // 10 × 7 bits.
    let mut bytes = packed(&Snapshot::default());
    let length = bytes.len();
    bytes[length - 5..].fill(0xff);
    bytes.extend([0xff; 9]);
    let error = error_of(&bytes);
    assert_eq!(
        error.to_string(),
        format!(
            "the packed snapshot is damaged: a number has more than 64 bits (at byte {}) in history",
            length - 5
        ),
    );
}

#[test]
fn a_count_costs_nothing_until_rows_come() {
    let mut bytes = packed(&Snapshot::default());
    // Only segments, host segments and annotations follow the blocks.
    bytes.truncate(bytes.len() - 4);
    bytes.extend([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]);
    let error = error_of(&bytes);
    assert!(matches!(error.kind, ErrorKind::Truncated(_)), "{error}");
    assert_eq!(error.path, "blocks");
}

#[test]
fn compressed_it_is_smaller_than_any_pickle() {
    // Below that the list of known keys dominates.
    let is_large = |file: &&File| file.is_plain_pickle() && file.bytes.len() > 2_000;
    for file in all_files().iter().filter(is_large) {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
        gzip.write_all(&packed(&decoded(file))).unwrap();
        let gzip = gzip.finish().unwrap();
        println!("{:>9} {:>9}  {}", gzip.len(), file.bytes.len(), file.name);
        // As base64, as in an HTML page.
        assert!(gzip.len() * 4 / 3 < file.bytes.len(), "{}", file.name);
        assert_eq!(
            decode(gzip.as_slice()).unwrap().source.containers[..2],
            [ContainerKind::Gzip, ContainerKind::Packed]
        );
    }
}
