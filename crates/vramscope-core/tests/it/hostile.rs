//! Damaged and hostile bytes: always an error with a place, or the snapshot; never a panic.

use std::time::{Duration, Instant};

use vramscope_core::encode::difference;
use vramscope_core::{Error, ErrorKind, Limits, Snapshot, decode};
use vramscope_synth::files::{File, fixtures_in};
use vramscope_synth::pickle::op;
use vramscope_synth::pickle::raw::Raw;
use vramscope_synth::pickle::{Dialect, hostile};

use crate::support::decoded;

fn error_of(bytes: &[u8]) -> Error {
    match decode(bytes) {
        Ok(_) => panic!("accepted"),
        Err(error) => error,
    }
}

/// Small genuine files, one per encoding with code of its own.
fn small_files() -> Vec<File> {
    let names = [
        "torch-2.15.0/no_stacks.pickle",
        "torch-2.15.0/empty_cpp.pickle",
        "torch-2.15.0/memory_snapshot_list.pickle",
        "legacy/torch_2_0.pickle",
        "legacy/tolerant.pickle",
        "containers/snapshot.pickle.gz",
        "containers/snapshot.pickle.zst",
        "containers/deflated.zip",
        "containers/json.zip",
        "containers/page.html.gz",
    ];
    let mut files = Vec::new();
    for folder in ["torch-2.15.0", "legacy", "containers"] {
        files.extend(
            fixtures_in(folder)
                .into_iter()
                .filter(|file| names.contains(&&*file.name)),
        );
    }
    assert_eq!(files.len(), names.len());
    files
}

#[test]
fn every_hostile_stream_is_refused_quickly() {
    for stream in hostile::all() {
        let start = Instant::now();
        let result = decode(&stream.bytes[..]);
        assert!(
            start.elapsed() < Duration::from_secs(5),
            "{}: {:?}",
            stream.name,
            start.elapsed()
        );
        match result {
            Ok(_) => assert!(stream.harmless, "{} was accepted", stream.name),
            Err(error) => {
                assert!(!stream.harmless, "{}: {error}", stream.name);
                assert!(
                    error.offset <= stream.bytes.len() as u64,
                    "{}: {error}",
                    stream.name
                );
            }
        }
    }
}

#[test]
fn forbidden_opcodes_are_named_with_their_offset() {
    let forbidden: &[(u8, &str)] = &[
        (b'c', "GLOBAL"),
        (0x93, "STACK_GLOBAL"),
        (b'i', "INST"),
        (b'o', "OBJ"),
        (0x81, "NEWOBJ"),
        (0x92, "NEWOBJ_EX"),
        (b'R', "REDUCE"),
        (b'b', "BUILD"),
        (0x82, "EXT1"),
        (0x83, "EXT2"),
        (0x84, "EXT4"),
        (b'P', "PERSID"),
        (b'Q', "BINPERSID"),
        (0x97, "NEXT_BUFFER"),
        (0x98, "READONLY_BUFFER"),
        (0x8f, "EMPTY_SET"),
        (0x90, "ADDITEMS"),
        (0x91, "FROZENSET"),
    ];
    for &(code, name) in forbidden {
        // After enough genuine data that nothing takes it for another kind of file.
        let before = Raw::proto(4)
            .op(op::EMPTY_DICT)
            .op(op::MARK)
            .text("segments")
            .op(op::EMPTY_LIST)
            .text("device_traces");
        let offset = before.clone().cut().len() as u64;
        let bytes = before.op(op::EMPTY_LIST).cut();
        let offset = offset + 1;
        let error = error_of(&[&bytes[..], &[code], b"os\nsystem\n."].concat());
        assert_eq!(
            error.kind,
            ErrorKind::ForbiddenOpcode { name, code },
            "{name}"
        );
        assert_eq!(error.offset, offset, "{name}");
        assert!(error.to_string().contains(name));
    }
}

#[test]
fn bytes_that_are_no_opcode_are_told_so() {
    for code in [0x00, 0x01, b'A', b'z', 0x7f, 0x99, 0xff] {
        let bytes = Raw::proto(4)
            .op(op::EMPTY_DICT)
            .op(op::MARK)
            .text("segments")
            .cut();
        let error = error_of(&[&bytes[..], &[code]].concat());
        assert_eq!(error.kind, ErrorKind::UnknownOpcode(code));
        assert_eq!(error.offset, bytes.len() as u64);
    }
}

/// A snapshot with two devices, as Python writes it, whose trace entry 12 of device 0 has `key` = `value`.
fn with_entry_12(key: &str, value: &str) -> Vec<u8> {
    let entry = |key: &str, value: &str| {
        format!(r#"{{"action": "alloc", "addr": 1, "size": 1, "stream": 0, "{key}": {value}}}"#)
    };
    let good = entry("time_us", "5");
    let entries = [
        vec![good.clone(); 12],
        vec![entry(key, value)],
        vec![good; 3],
    ]
    .concat()
    .join(",");
    format!(r#"{{"segments": [], "device_traces": [[{entries}], []]}}"#).into_bytes()
}

/// The same as a pickle, by CPython's rules, so that batches and marks are as in real files.
fn pickled(json: &[u8], protocol: u8) -> Vec<u8> {
    let json: serde_json::Value = serde_json::from_slice(json).unwrap();
    value(&json).pickle(Dialect::Python(protocol))
}

fn value(json: &serde_json::Value) -> vramscope_synth::pickle::value::Value {
    use serde_json::Value as Json;
    use vramscope_synth::pickle::value::Value;
    match json {
        Json::Null => Value::None,
        Json::Bool(truth) => Value::Bool(*truth),
        Json::Number(number) => number.as_i64().map_or_else(
            || Value::Float(number.as_f64().unwrap()),
            |number| Value::Int(number.into()),
        ),
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => Value::List(items.iter().map(value).collect()),
        Json::Object(entries) => Value::Dict(
            entries
                .iter()
                .map(|(key, item)| (Value::from(key.as_str()), value(item)))
                .collect(),
        ),
    }
}

#[test]
fn wrong_types_are_told_with_their_path() {
    let cases = [
        ("frames", "7", "device_traces[0][12].frames"),
        ("frames", r#""text""#, "device_traces[0][12].frames"),
        ("action", "3", "device_traces[0][12].action"),
        ("addr", r#""0x7f""#, "device_traces[0][12].addr"),
        ("size", "[]", "device_traces[0][12].size"),
        ("stream", "{}", "device_traces[0][12].stream"),
    ];
    for (key, value, path) in cases {
        let json = with_entry_12(key, value);
        for bytes in [
            pickled(&json, 0),
            pickled(&json, 2),
            pickled(&json, 4),
            json.clone(),
        ] {
            let error = error_of(&bytes);
            assert_eq!(error.path, path, "{key} = {value}: {error}");
            assert!(error.offset > 0, "{key} = {value}: {error}");
        }
    }
}

/// With one device Python writes no mark around the list of traces.
#[test]
fn paths_are_right_with_one_device() {
    let json = String::from_utf8(with_entry_12("addr", r#""x""#))
        .unwrap()
        .replace("], []]", "]]");
    for bytes in [
        pickled(json.as_bytes(), 4),
        pickled(json.as_bytes(), 2),
        json.into_bytes(),
    ] {
        assert_eq!(error_of(&bytes).path, "device_traces[0][12].addr");
    }
}

#[test]
fn a_cut_file_is_an_error_wherever_it_is_cut() {
    for file in small_files() {
        let whole = decoded(&file);
        for length in 0..file.bytes.len() {
            match decode(&file.bytes[..length]) {
                Ok(snapshot) => {
                    // Only the bytes after the data may be missing.
                    assert_eq!(
                        difference(&snapshot, &whole),
                        None,
                        "{} cut to {length}",
                        file.name
                    );
                    assert!(
                        !file.is_plain_pickle(),
                        "{} cut to {length} was accepted",
                        file.name
                    );
                }
                Err(error) => assert!(
                    is_about_a_cut(&error, length),
                    "{} cut to {length}: {error}",
                    file.name
                ),
            }
        }
    }
}

fn is_about_a_cut(error: &Error, length: usize) -> bool {
    match &error.kind {
        ErrorKind::Empty => length == 0,
        // Too little is left to be recognised.
        ErrorKind::UnknownFormat | ErrorKind::WrongShape(_) | ErrorKind::NotASnapshot(_) => true,
        ErrorKind::Truncated(_) | ErrorKind::Malformed(_) => true,
        _ => false,
    }
}

#[test]
fn flipped_bits_never_panic() {
    let limits = Limits::default();
    let mut accepted = 0_usize;
    let mut total = 0_usize;
    for file in small_files().iter().filter(|file| file.bytes.len() < 3000) {
        for at in 0..file.bytes.len() {
            let bits: &[u8] = if file.is_plain_pickle() {
                &[0, 1, 3, 5, 7]
            } else {
                &[0, 6]
            };
            for bit in bits {
                let mut bytes = file.bytes.clone();
                bytes[at] ^= 1 << bit;
                total += 1;
                accepted += usize::from(decode_within(&bytes, limits).is_ok());
            }
        }
    }
    println!("{accepted} of {total} files with one flipped bit can still be read");
    assert!(accepted < total);
}

fn decode_within(bytes: &[u8], limits: Limits) -> Result<Snapshot, Error> {
    let options = vramscope_core::open::Options {
        limits,
        file_bytes: Some(bytes.len() as u64),
        on_progress: &mut |_| std::ops::ControlFlow::Continue(()),
    };
    vramscope_core::open::decode_with(bytes, options)
}

/// The size given by a caller is a hint, and may be wrong.
#[test]
fn a_lying_file_size_costs_nothing() {
    let file = &small_files()[0];
    for file_bytes in [0, 1, u64::MAX, 1 << 62] {
        let options = vramscope_core::open::Options {
            limits: Limits::default(),
            file_bytes: Some(file_bytes),
            on_progress: &mut |_| std::ops::ControlFlow::Continue(()),
        };
        let snapshot = vramscope_core::open::decode_with(&file.bytes[..], options).unwrap();
        assert_eq!(difference(&snapshot, &decoded(file)), None);
    }
}

#[test]
fn limits_are_kept() {
    let deep = Raw::proto(2)
        .repeat(op::EMPTY_LIST, 100)
        .repeat(op::APPEND, 99)
        .stop();
    let text = Raw::proto(2)
        .op_u32(op::BINUNICODE, 5000)
        .bytes(&[b'x'; 5000])
        .stop();
    for bytes in [deep, text] {
        let limits = Limits {
            string_bytes: 1000,
            ..Limits::default()
        };
        let error = decode_within(&bytes, limits).err().map(|error| error.kind);
        let is_refused = matches!(
            error,
            Some(ErrorKind::Limit { .. } | ErrorKind::WrongShape(_))
        );
        assert!(is_refused, "{error:?}");
    }
}
