//! Decoding what the encoders wrote gives the same snapshot.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use vramscope_core::encode::{difference, encode, encode_json};
use vramscope_core::{Snapshot, decode};
use vramscope_synth::files as support;
use vramscope_synth::snapshot as synth;
use vramscope_synth::snapshot::{Producer, StackRef, Text, WriteOptions};

use crate::support::decoded;

fn encoded(snapshot: &Snapshot) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode(snapshot, &mut bytes).unwrap();
    bytes
}

fn encoded_json(snapshot: &Snapshot) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_json(snapshot, &mut bytes).unwrap();
    bytes
}

/// Decodes, encodes and decodes again; the difference, if any.
fn round_trip(bytes: &[u8], encoded: fn(&Snapshot) -> Vec<u8>) -> Option<String> {
    let snapshot = decode(bytes).unwrap();
    let written = encoded(&snapshot);
    let again = decode(written.as_slice()).unwrap();
    let mut keys = snapshot.keys;
    // Damage needs a top-level dict, which a list of segments lacks.
    if keys.top == 0 && snapshot.warnings.damage().next().is_some() {
        keys.top = again.keys.top;
    }
    let keys = (keys != again.keys).then(|| "keys".to_owned());
    // Written once more, it is the same to the byte: nothing depends on the numbering of rows.
    let bytes = (encoded(&again) != written).then(|| "bytes".to_owned());
    difference(&snapshot, &again).or(keys).or(bytes)
}

#[test]
fn every_file_survives() {
    for file in support::all_files() {
        let snapshot = decoded(&file);
        let again = decode(encoded(&snapshot).as_slice()).unwrap();
        assert_eq!(difference(&snapshot, &again), None, "{}", file.name);
        let counts = |snapshot: &Snapshot| {
            (
                snapshot.strings.len(),
                snapshot.frames.len(),
                snapshot.stacks.len(),
            )
        };
        // A file packed by an older version has only the words known to that version.
        let is_packed = file.name.ends_with(".vram");
        // Damage is written under a key of its own.
        let is_damaged = snapshot.warnings.damage().next().is_some();
        assert!(
            is_packed || is_damaged || counts(&again) <= counts(&snapshot),
            "{}",
            file.name
        );
        let json = decode(encoded_json(&snapshot).as_slice()).unwrap();
        assert_eq!(difference(&snapshot, &json), None, "{} as JSON", file.name);
    }
}

/// An independent reader gets the same from the JSON as from the pickle.
#[test]
fn json_holds_the_value_of_the_pickle() {
    for file in support::fixtures()
        .iter()
        .filter(|file| file.name.ends_with("no_stacks.pickle"))
    {
        let snapshot = decoded(file);
        let json: serde_json::Value = serde_json::from_slice(&encoded_json(&snapshot)).unwrap();
        let options = serde_pickle::DeOptions::new();
        let pickle: serde_json::Value =
            serde_pickle::from_slice(&encoded(&snapshot), options).unwrap();
        assert_eq!(json, pickle, "{}", file.name);
    }
}

/// serde-pickle cannot read frames shared by shared stacks. Without stacks it can, and must get the same as from torch's
/// own file.
#[test]
fn serde_pickle_reads_the_same_value() {
    let options = || serde_pickle::DeOptions::new();
    for file in support::fixtures()
        .iter()
        .filter(|file| file.name.ends_with("no_stacks.pickle"))
    {
        let ours: serde_json::Value =
            serde_pickle::from_slice(&encoded(&decoded(file)), options()).unwrap();
        let theirs: serde_json::Value = serde_pickle::from_slice(&file.bytes, options()).unwrap();
        assert_eq!(ours, theirs, "{}", file.name);
    }
}

#[test]
fn a_failing_writer_is_told() {
    let bytes = synth::Snapshot::default().to_pickle(&WriteOptions::new(Producer::Python(2, 15)));
    let snapshot = decode(bytes.as_slice()).unwrap();
    assert!(encode(&snapshot, &mut [0_u8; 3][..]).is_err());
    assert!(encode_json(&snapshot, &mut [0_u8; 3][..]).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_snapshot_survives(snapshot in any_snapshot(), producer in 0..Producer::ALL.len()) {
        let bytes = snapshot.to_pickle(&WriteOptions::new(Producer::ALL[producer]));
        prop_assert_eq!(round_trip(&bytes, encoded), None);
        prop_assert_eq!(round_trip(&bytes, encoded_json), None);
    }
}

const STACKS: u32 = 6;

pub(crate) fn any_snapshot() -> impl Strategy<Value = synth::Snapshot> {
    let host = (vec(any_segment(), 0..3), vec(any_entry(), 0..5));
    let settings = (any_text(), any::<i64>(), any::<bool>());
    (
        vec(any_segment(), 0..5),
        any_traces(),
        vec(any_annotation(), 0..5),
        host,
        settings,
        any_stacks(),
    )
        .prop_map(
            |(
                segments,
                device_traces,
                external_annotations,
                (host_segments, host_traces),
                settings,
                stacks,
            )| {
                let (alloc_conf, max_split_size, expandable_segments) = settings;
                synth::Snapshot {
                    segments,
                    device_traces,
                    external_annotations,
                    host_segments,
                    host_traces,
                    settings: synth::Settings {
                        alloc_conf,
                        max_split_size: max_split_size.into(),
                        garbage_collection_threshold: 0.25,
                        expandable_segments,
                    },
                    stacks,
                }
            },
        )
}

/// Sometimes longer than a batch of the pickle.
fn any_traces() -> impl Strategy<Value = Vec<Vec<synth::TraceEntry>>> {
    let long = (any_entry(), 990..2010_usize).prop_map(|(entry, count)| vec![entry; count]);
    vec(prop_oneof![20 => vec(any_entry(), 0..12), 1 => long], 0..4)
}

fn any_text() -> impl Strategy<Value = Text> {
    // Keys and actions as data, lengths around the one-byte form, and text beyond ASCII.
    prop_oneof![
        Just(Text::Borrowed("")),
        Just(Text::Borrowed("segments")),
        Just(Text::Borrowed("alloc")),
        (254..258_usize).prop_map(|length| Text::Owned("x".repeat(length))),
        "\\PC{0,12}".prop_map(Text::Owned),
    ]
}

/// Small, at the edges of the pickle's integer forms, or anything.
fn any_number() -> impl Strategy<Value = u64> {
    prop_oneof![
        0..1024_u64,
        (0..64_u32, -1..2_i64).prop_map(|(bit, offset)| (1_u64 << bit).wrapping_add_signed(offset)),
        any::<u64>(),
    ]
}

fn any_stack() -> impl Strategy<Value = Option<StackRef>> {
    option::of((0..8_u32, 0..STACKS).prop_map(|(list, stack)| StackRef {
        list: list * STACKS + stack,
        stack,
    }))
}

fn any_stacks() -> impl Strategy<Value = synth::StackTable> {
    const FRAMES: u32 = 5;
    let stacks = vec(vec(0..FRAMES, 0..4), STACKS as usize);
    (vec(any_frame(), FRAMES as usize), stacks)
        .prop_map(|(frames, stacks)| synth::StackTable { frames, stacks })
}

fn any_frame() -> impl Strategy<Value = synth::Frame> {
    let fx =
        (any_text(), any_text(), any_text(), any_text()).prop_map(|(op, name, target, trace)| {
            synth::FxFrame {
                node_op: op,
                node_name: name,
                node_target: target,
                original_trace: trace,
            }
        });
    (
        any_text(),
        any_text(),
        any::<u32>(),
        option::weighted(0.2, fx),
    )
        .prop_map(|(name, filename, line, fx)| synth::Frame {
            name,
            filename,
            line,
            fx,
        })
}

fn any_pool() -> impl Strategy<Value = (u64, u64)> {
    (0..3_u64, 0..3_u64)
}

fn any_segment() -> impl Strategy<Value = synth::Segment> {
    let numbers = (0..4_i32, any_number(), any_number(), any::<i64>());
    (
        numbers,
        any::<bool>(),
        any_pool(),
        any::<bool>(),
        any_stack(),
        vec(any_block(), 0..5),
    )
        .prop_map(
            |(
                (device, address, total_size, stream),
                is_small,
                pool,
                is_expandable,
                frames,
                blocks,
            )| {
                synth::Segment {
                    device,
                    address,
                    total_size,
                    stream,
                    is_small,
                    pool,
                    is_expandable,
                    frames,
                    blocks,
                }
            },
        )
}

fn any_block() -> impl Strategy<Value = synth::Block> {
    let state = prop_oneof![
        Just(synth::BlockState::ActiveAllocated),
        Just(synth::BlockState::ActivePendingFree),
        Just(synth::BlockState::Inactive),
    ];
    let tenant = (any_number(), any_number(), any_stack()).prop_map(|(addr, real_size, frames)| {
        synth::History {
            addr,
            real_size,
            frames,
        }
    });
    // Sizes that the segment's sums can add up.
    let sizes = (any_number(), 0..1_u64 << 40, 0..1_u64 << 40);
    (sizes, state, any_stack(), vec(tenant, 0..3)).prop_map(
        |((address, size, requested_size), state, frames, history)| synth::Block {
            address,
            size,
            requested_size,
            state,
            frames,
            history,
        },
    )
}

fn any_action() -> impl Strategy<Value = synth::Action> {
    use synth::Action as A;
    prop_oneof![
        8 => proptest::sample::select(vec![
            A::Alloc,
            A::FreeRequested,
            A::FreeCompleted,
            A::SegmentAlloc,
            A::SegmentFree,
            A::SegmentMap,
            A::SegmentUnmap,
            A::Snapshot,
            A::Oom,
            A::Annotate,
        ]),
        1 => "[a-z_]{1,10}".prop_map(|name| A::Other(Text::Owned(name))),
    ]
}

fn any_entry() -> impl Strategy<Value = synth::TraceEntry> {
    let numbers = (
        any_number(),
        any_number(),
        any::<i64>(),
        option::of(0..i64::MAX),
    );
    let texts = (
        any_text(),
        any_text(),
        any_text(),
        vec(any_text(), 0..3),
        option::of(any_text()),
    );
    (any_action(), numbers, any_pool(), any_stack(), texts).prop_map(
        |(action, (addr, size, stream, time_us), pool, frames, texts)| {
            let (compile_context, user_metadata, internal_metadata, forward_frames, category) =
                texts;
            synth::TraceEntry {
                action,
                addr,
                size,
                stream,
                time_us,
                pool,
                frames,
                compile_context,
                user_metadata,
                internal_metadata,
                forward_frames,
                category,
            }
        },
    )
}

fn any_annotation() -> impl Strategy<Value = synth::Annotation> {
    (any::<bool>(), any_text(), -1..4_i32, 0..i64::MAX).prop_map(
        |(is_start, name, device, time_us)| synth::Annotation {
            is_start,
            name,
            device,
            time_us,
        },
    )
}
