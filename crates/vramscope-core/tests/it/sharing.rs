//! Pickles that represent a lot of data by sharing: their cost stays in proportion to their size.

use vramscope_core::{ErrorKind, Snapshot, decode};
use vramscope_synth::pickle::raw::Raw;

const EMPTY_DICT: u8 = b'}';
const EMPTY_LIST: u8 = b']';
const MARK: u8 = b'(';
const SETITEMS: u8 = b'u';
const APPENDS: u8 = b'e';

fn read(stream: Raw) -> Result<Snapshot, ErrorKind> {
    decode(&stream.stop()[..]).map_err(|error| error.kind)
}

/// `{"segments": [], <key>: …`; two marks are open.
fn top_level(key: &str) -> Raw {
    let segments = Raw::proto(2)
        .op(EMPTY_DICT)
        .op(MARK)
        .text("segments")
        .op(EMPTY_LIST);
    segments.text(key)
}

#[test]
fn a_list_of_blocks_has_one_segment() {
    let mut stream = Raw::proto(2).op(EMPTY_LIST).binput(0).op(MARK);
    stream = stream
        .op(EMPTY_DICT)
        .op(MARK)
        .text("state")
        .text("inactive")
        .text("size")
        .int1(1);
    stream = stream
        .op(SETITEMS)
        .op(APPENDS)
        .op(b'0')
        .op(EMPTY_LIST)
        .op(MARK);
    for _ in 0..2 {
        stream = stream.op(EMPTY_DICT).op(MARK).text("total_size").int1(1);
        stream = stream.text("blocks").binget(0).op(SETITEMS);
    }
    let error = read(stream.op(APPENDS)).err().unwrap();
    assert_eq!(
        error,
        ErrorKind::Malformed("the same list is used in two places".to_owned())
    );
}

#[test]
fn a_shared_text_is_not_written_out_again_and_again() {
    let text = "x".repeat(1 << 20);
    let mut stream = top_level("mine").op(EMPTY_LIST).op(MARK);
    stream = stream
        .op_u32(b'X', text.len() as u32)
        .bytes(text.as_bytes())
        .binput(0);
    for _ in 0..9_000 {
        stream = stream.binget(0);
    }
    let snapshot = read(stream.op(APPENDS).op(SETITEMS)).unwrap();
    let written: usize = snapshot.extras["mine"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item.as_str().unwrap().len())
        .sum();
    assert!(written < 4 << 20, "{written} bytes");
}

#[test]
fn a_dict_that_is_no_record_is_looked_at_once() {
    let mut stream = top_level("mine").op(EMPTY_DICT).binput(0).op(MARK);
    for _ in 0..50_000 {
        stream = stream.text("k").int1(0);
    }
    stream = stream.op(SETITEMS).op(b'0').op(EMPTY_LIST).op(MARK);
    // If each were examined, this would take ten thousand million steps.
    for _ in 0..200_000 {
        stream = stream.binget(0);
    }
    assert!(read(stream.op(APPENDS).op(SETITEMS)).is_ok());
}

#[test]
fn what_a_user_puts_under_a_key_is_no_record() {
    for key in [
        "stage",
        "state",
        "real_size",
        "filename",
        "total_size",
        "action",
    ] {
        let stream = top_level("mine")
            .op(EMPTY_DICT)
            .op(MARK)
            .text(key)
            .int1(3)
            .op(SETITEMS);
        let snapshot = read(stream.op(SETITEMS)).unwrap();
        assert_eq!(snapshot.extras["mine"][key], 3, "{key}");
    }
}

#[test]
fn metadata_that_looks_like_a_record_is_kept_as_text() {
    let json = br#"{"segments": [], "device_traces": [[{"action": "alloc", "addr": 1, "size": 2,
        "user_metadata": {"stage": "train", "step": 3}}]]}"#;
    let snapshot = decode(&json[..]).unwrap();
    let metadata = snapshot.contexts.rows()[0].user_metadata.unwrap();
    assert_eq!(
        snapshot.strings.get(metadata),
        r#"{"stage":"train","step":3}"#
    );
}

#[test]
fn devices_are_counted() {
    let mut stream = Raw::proto(2).op(EMPTY_LIST).op(MARK);
    for device in 0..300_u16 {
        stream = stream
            .op(EMPTY_DICT)
            .op(MARK)
            .text("total_size")
            .int1(1)
            .text("device");
        stream = stream.op(b'M').bytes(&device.to_le_bytes()).op(SETITEMS);
    }
    let error = read(stream.op(APPENDS)).err().unwrap();
    assert!(
        matches!(
            error,
            ErrorKind::Limit {
                what: "the number of devices",
                ..
            }
        ),
        "{error}"
    );
}
