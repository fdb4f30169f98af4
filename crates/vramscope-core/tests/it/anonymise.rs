//! Anonymous snapshots contain nobody's own words, and every analysis of them gives the same result.

use std::collections::{BTreeMap, BTreeSet};

use vramscope_core::analysis::code::frames::{FrameClass, FrameClasses};
use vramscope_core::analysis::time::history::History;
use vramscope_core::analysis::time::lanes::{Lanes, steps};
use vramscope_core::analysis::time::range_totals::RangeSums;
use vramscope_core::anonymise::{Anonymiser, anonymise};
use vramscope_core::encode::{difference, encode, encode_json};
use vramscope_core::ids::{FrameId, StackId};
use vramscope_core::{Snapshot, decode};
use vramscope_synth::files::{all_files, fixtures_in};

use crate::support::decoded;

fn anonymous(snapshot: &Snapshot) -> Snapshot {
    anonymise(snapshot, &Anonymiser::salted("tests"))
}

/// Runs of letters, in lower case.
fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|character: char| !character.is_alphabetic())
        .filter(|word| word.chars().count() >= 4)
        .map(str::to_lowercase)
}

/// The words chosen by the user: in files and functions of the user's code, and in labels.
fn own_words(snapshot: &Snapshot) -> BTreeSet<String> {
    let text = |id| snapshot.strings.get(id);
    let classes = FrameClasses::of(snapshot);
    let mut own = BTreeSet::new();
    for row in 0..snapshot.frames.len() {
        let id = FrameId::from_index(row);
        if classes.get(id) == FrameClass::User {
            let frame = snapshot.frames.get(id);
            own.extend(words(text(frame.name)).chain(words(text(frame.filename))));
        }
    }
    let marks = snapshot.annotations.rows.iter();
    own.extend(marks.flat_map(|mark| words(text(mark.name))));
    for context in snapshot.contexts.rows() {
        let lines = snapshot.contexts.forward_lines(context.forward_lines);
        let texts = [context.user_metadata, context.compile_context];
        let texts = lines.chain(texts.into_iter().flatten());
        own.extend(texts.flat_map(|id| words(text(id)).collect::<Vec<_>>()));
    }
    own
}

/// Words in general use (the format's `snapshot`, Python's `lambda`, torch's `forward`), although the user's own code
/// contains them as well.
const COMMON: [&str; 42] = [
    "adamw",
    "anonymous",
    "attr",
    "backward",
    "barrier",
    "batch",
    "call",
    "compiled",
    "cuda",
    "data",
    "file",
    "forward",
    "function",
    "gloo",
    "grad",
    "home",
    "init",
    "ipykernel",
    "lambda",
    "layer",
    "line",
    "listcomp",
    "local",
    "locals",
    "loss",
    "main",
    "method",
    "module",
    "none",
    "optimizer",
    "phase",
    "profilerstep",
    "region",
    "root",
    "snapshot",
    "state",
    "step",
    "torch",
    "train",
    "users",
    "workspace",
    "zero",
];

#[test]
fn nobodys_words_survive() {
    let mut left = BTreeMap::new();
    for file in all_files() {
        let snapshot = decoded(&file);
        let mut anonymous = anonymous(&snapshot);
        // The allocator's words are nobody's own.
        anonymous.settings.clear();
        let mut bytes = Vec::new();
        encode_json(&anonymous, &mut bytes).unwrap();
        let json: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        let own = own_words(&snapshot);
        let public = public_words(&snapshot);
        visit(&json, &mut |text| {
            for word in words(text) {
                if own.contains(&word)
                    && !public.contains(&word)
                    && !COMMON.contains(&word.as_str())
                {
                    left.insert(word, (file.name.clone(), text.to_owned()));
                }
            }
        });
    }
    assert!(left.is_empty(), "{left:#?}");
}

/// The words of code that is published.
fn public_words(snapshot: &Snapshot) -> BTreeSet<String> {
    let text = |id| snapshot.strings.get(id);
    let classes = FrameClasses::of(snapshot);
    let rows = (0..snapshot.frames.len()).map(FrameId::from_index);
    rows.filter(|&id| classes.get(id) != FrameClass::User)
        .map(|id| snapshot.frames.get(id))
        .flat_map(|frame| [text(frame.name), text(frame.filename)])
        // The part before the public part identifies the machine.
        .map(|text| {
            text.split_once("site-packages")
                .map_or(text, |(_, public)| public)
        })
        .flat_map(|text| words(text).collect::<Vec<_>>())
        .collect()
}

fn visit(value: &serde_json::Value, see: &mut impl FnMut(&str)) {
    use serde_json::Value;
    match value {
        Value::String(text) => see(text),
        Value::Array(items) => items.iter().for_each(|item| visit(item, see)),
        Value::Object(entries) => entries.values().for_each(|item| visit(item, see)),
        _ => {}
    }
}

/// A snapshot in which every text is a unique word.
#[test]
fn texts_of_every_kind_are_hashed() {
    let json = r#"{"segments": [{"device": 0, "address": 512, "total_size": 512, "stream": 0,
        "segment_type": "secreta", "blocks": [{"address": 512, "size": 512, "requested_size": 500, "state": "secretb",
        "frames": [{"name": "secretc", "filename": "/secretd/secrete.py", "line": 3, "fx_node_op": "secretf",
            "fx_node_name": "secretg", "fx_node_target": "secreth", "fx_original_trace": "secreti\nFile \"secretj.py\", line 1, in secretk"}]}]}],
        "device_traces": [[{"action": "secretl", "addr": 1, "size": 2, "stream": 0, "compile_context": "secretm",
            "user_metadata": "secretn", "internal_metadata": "secreto", "category": "secretp",
            "forward_frames": ["  File \"secretq.py\", line 3, in secretr\n    secrets"], "frames": []}]],
        "external_annotations": [{"stage": "secrett", "name": "secretu", "device": 0, "time_us": 5}],
        "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "secretv:secretw", "secretx": 1,
            "backend": ["secret"], "roundup_power2_divisions": {"secret": "secret"}},
        "secrety": {"secret": "secretz"}}"#;
    let snapshot = decode(json.as_bytes()).unwrap();
    let again = anonymous(&snapshot);
    for encoded in [
        |snapshot: &Snapshot, out: &mut Vec<u8>| encode(snapshot, out),
        |snapshot: &Snapshot, out: &mut Vec<u8>| encode_json(snapshot, out),
    ] {
        let mut bytes = Vec::new();
        encoded(&again, &mut bytes).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("secret"), "{text}");
    }
    let warnings = format!("{:?}", again.warnings);
    assert!(!warnings.contains("secret"), "{warnings}");
    let row = snapshot.frames.get(FrameId(0));
    assert_eq!(row.line, 3);
}

#[test]
fn everything_else_is_the_same() {
    for file in all_files() {
        let snapshot = decoded(&file);
        let again = anonymous(&snapshot);
        same(&file.name, &snapshot, &again);
        let mut bytes = Vec::new();
        encode(&again, &mut bytes).unwrap();
        let decoded = decode(bytes.as_slice()).unwrap();
        assert_eq!(difference(&again, &decoded), None, "{}", file.name);
    }
}

fn same(name: &str, one: &Snapshot, other: &Snapshot) {
    assert_eq!(one.devices(), other.devices(), "{name}");
    for device in one.devices() {
        let (left, right) = (History::of(one, device), History::of(other, device));
        assert_eq!(left.active_bytes, right.active_bytes, "{name}");
        assert_eq!(left.peak_moment, right.peak_moment, "{name}");
        assert_eq!(left.allocations.bytes, right.allocations.bytes, "{name}");
        let step_count = |snapshot: &Snapshot, history: &History| {
            let lanes = Lanes::of(snapshot, history);
            let found = steps(snapshot, history, &lanes, &RangeSums::of(history));
            found.map(|steps| (steps.by, steps.steps.len()))
        };
        assert_eq!(step_count(one, &left), step_count(other, &right), "{name}");
    }
    // Each stack is still one stack with the same lines and classes, and no two have been merged.
    let shape = |snapshot: &Snapshot| -> Vec<Vec<(u32, FrameClass)>> {
        let classes = FrameClasses::of(snapshot);
        let stacks = snapshot.events.stack.iter();
        let stacks = stacks.map(|&stack| frames(snapshot, &classes, stack));
        let blocks = snapshot.blocks.rows.iter();
        let blocks = blocks.map(|block| frames(snapshot, &classes, block.stack));
        stacks.chain(blocks).collect()
    };
    assert_eq!(shape(one), shape(other), "{name}");
    assert!(other.stacks.len() <= one.stacks.len(), "{name}");
    let used = |snapshot: &Snapshot| {
        let stacks: BTreeSet<_> = snapshot.events.stack.iter().copied().collect();
        stacks.len()
    };
    assert_eq!(used(one), used(other), "{name}");
}

fn frames(snapshot: &Snapshot, classes: &FrameClasses, stack: StackId) -> Vec<(u32, FrameClass)> {
    let frames = snapshot.stacks.frames(stack);
    frames
        .map(|id| (snapshot.frames.get(id).line, classes.get(id)))
        .collect()
}

#[test]
fn the_same_name_has_the_same_hash_in_other_files() {
    let texts = |snapshot: &Snapshot| -> BTreeSet<String> {
        let rows = (0..snapshot.frames.len()).map(FrameId::from_index);
        rows.map(|id| {
            snapshot
                .strings
                .get(snapshot.frames.get(id).filename)
                .to_owned()
        })
        .collect()
    };
    let files = fixtures_in("torch-2.15.0");
    let find = |name: &str| {
        let file = files.iter().find(|file| file.name.ends_with(name)).unwrap();
        decoded(file)
    };
    let [one, other] = [find("training.pickle"), find("oom_after.pickle")];
    let before = texts(&one).intersection(&texts(&other)).count();
    let [one, other] = [anonymous(&one), anonymous(&other)];
    assert_eq!(texts(&one).intersection(&texts(&other)).count(), before);
    assert!(before > 0);
}
