//! Traces and timelines that say too little, too much, or something impossible.

use vramscope_core::analysis::recording::Recording;
use vramscope_core::model::{Action, Profile, WarningKind};
use vramscope_core::{ErrorKind, decode};

use super::{read, survives_writing};
use crate::laws::check_all;

/// A memory event with these arguments.
fn memory(args: &str) -> String {
    format!(r#"{{"ph": "i", "name": "[memory]", "pid": 1, "tid": 1, "ts": 5, "args": {{{args}}}}}"#)
}

fn of_events(events: &str) -> String {
    format!(r#"{{"schemaVersion": 1, "traceEvents": [{events}]}}"#)
}

const WHOLE: &str =
    r#""Device Type": 1, "Device Id": 0, "Addr": 4096, "Bytes": 512, "Total Allocated": 1536"#;

#[test]
fn what_was_in_use_before_is_told_as_a_sum() {
    let freed = memory(
        r#""Device Type": 1, "Device Id": 0, "Addr": 8192, "Bytes": -1024, "Total Allocated": 512"#,
    );
    let snapshot = decode(of_events(&format!("{}, {freed}", memory(WHOLE))).as_bytes()).unwrap();
    let recording = Recording::of(snapshot);
    let device = recording.devices().next().unwrap();
    assert_eq!(device.history.active_bytes, [1024, 1536, 1536, 512]);
    assert_eq!(
        Profile::of(&recording.snapshot).unwrap().devices[0].before_bytes,
        0
    );
    // The rest of a total existed before, and remains.
    let more = memory(&WHOLE.replace("1536", "9728"));
    let recording = Recording::of(decode(of_events(&more).as_bytes()).unwrap());
    let device = recording.devices().next().unwrap();
    assert_eq!(device.history.active_bytes, [9216, 9728]);
    assert_eq!(device.history.before_recording, 1);
    // The same holds in a part of the file.
    let piece = vramscope_core::cut::Piece {
        device,
        moments: (0, 1),
    };
    let cut = Recording::of(vramscope_core::cut::cut(&recording, &[piece]));
    assert_eq!(
        cut.devices().next().unwrap().history.active_bytes,
        [9216, 9728]
    );
}

#[test]
fn totals_that_differ_are_counted_once() {
    let event = |ts: usize, total: usize| {
        memory(&format!(r#""Device Type": 1, "Device Id": 0, "Addr": {}, "Bytes": 512, "Total Allocated": {total}"#, ts * 512))
            .replace("\"ts\": 5", &format!("\"ts\": {ts}"))
    };
    let trace = |total: &dyn Fn(usize) -> usize| {
        let events: Vec<_> = (1..60).map(|ts| event(ts, total(ts))).collect();
        decode(of_events(&events.join(",")).as_bytes()).unwrap()
    };
    assert!(trace(&|ts| ts * 512).warnings.is_empty());
    let lost = trace(&|ts| ts * 512 + if ts > 20 { 4096 } else { 0 });
    assert_eq!(lost.warnings.list()[0].kind, WarningKind::TotalsDiffer);
    assert_eq!(lost.warnings.list()[0].count, 1);
    // Two threads whose totals were noted in the wrong order do not contradict each other.
    let crossed = trace(&|ts| match ts {
        20 => 21 * 512,
        21 => 20 * 512,
        ts => ts * 512,
    });
    assert!(crossed.warnings.is_empty(), "{:?}", crossed.warnings);
}

#[test]
fn devices_are_called_what_they_are() {
    let event = |kind: &str| {
        memory(&WHOLE.replace(r#""Device Type": 1"#, &format!(r#""Device Type": {kind}"#)))
    };
    for (kind, name) in [
        ("0", "CPU"),
        ("1", "GPU 0"),
        ("12", "XPU 0"),
        ("20", "device 0"),
        ("null", "device 0"),
    ] {
        let snapshot = decode(of_events(&event(kind)).as_bytes()).unwrap();
        assert_eq!(snapshot.device_name(0), name);
    }
    let both = of_events(&format!(
        "{}, {}",
        event("0").replace("\"Device Id\": 0", "\"Device Id\": -1"),
        event("1")
    ));
    let snapshot = decode(both.as_bytes()).unwrap();
    assert_eq!(
        [0, 1].map(|device| snapshot.device_name(device)),
        ["GPU 0", "CPU"]
    );
}

#[test]
fn odd_events_are_left_out() {
    let odd = [
        "null".to_owned(),
        "3".to_owned(),
        "[[[]]]".to_owned(),
        "\"text\"".to_owned(),
        "{}".to_owned(),
        r#"{"ph": 3, "name": [], "cat": {}, "args": [1, {"a": [NaN]}]}"#.to_owned(),
        r#"{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": "Spans", "tid": "7", "ts": 1e300, "dur": -4}"#.to_owned(),
        r#"{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 1e12, "args": {"Input Dims": [[[[3]], "x", null, {"a": 1}], 4], "Input type": "float"}}"#.to_owned(),
        r#"{"ph": "X", "cat": "user_annotation", "name": "step", "pid": 1, "tid": -1, "ts": 9, "dur": NaN}"#.to_owned(),
        memory(r#""Bytes": NaN, "Addr": 1"#),
        memory(r#""Bytes": 1e300, "Addr": 1"#),
        memory(r#""Bytes": "512", "Addr": -1, "Device Type": "x", "Device Id": null"#),
        memory(r#""Bytes": 0, "Addr": 1, "Device Type": 1"#),
        memory(r#""Bytes": -9223372036854775808, "Addr": 18446744073709551615, "Device Type": 1, "Device Id": -5, "Total Allocated": -1"#),
        memory(WHOLE).replace("\"ts\": 5", "\"ts\": Infinity"),
    ];
    let events = [odd.join(","), memory(WHOLE)].join(",");
    let snapshot = decode(of_events(&events).as_bytes()).unwrap();
    let left_out = snapshot
        .warnings
        .list()
        .iter()
        .find(|warning| warning.kind == WarningKind::ValuesLeftOut);
    assert_eq!(left_out.unwrap().count, 3);
    check_all("odd", &snapshot);
    survives_writing("odd", &snapshot);
    let many = memory(&WHOLE.replace(r#""Device Id": 0"#, r#""Device Id": 300"#));
    assert!(matches!(
        decode(of_events(&many).as_bytes())
            .map(|_| ())
            .unwrap_err()
            .kind,
        ErrorKind::Limit { .. }
    ));
    let deep = of_events(&format!("{}, {}", memory(WHOLE), "[".repeat(1 << 20)));
    assert!(decode(deep.as_bytes()).is_err());
    let shapes = format!(r#"{{"args": {{"Input Dims": {}"#, "[".repeat(1 << 12));
    assert!(decode(of_events(&shapes).as_bytes()).is_err());
}

#[test]
fn every_cut_is_an_error() {
    let trace = of_events(&memory(WHOLE));
    let timeline = "[[-1, 1, 512, 0], [5000, 2, 512, 3], [6000, 4, -512, 3]]";
    for whole in [
        trace.as_str(),
        timeline,
        "[[1, 2], [[0, 1, 0, 0, 0, 0, 0, 0, 3], [0, 0, 0, 0, 0, 0, 0, 0, 9]]]",
    ] {
        assert!(decode(whole.as_bytes()).is_ok(), "{whole}");
        for cut in 1..whole.len() {
            let kind = decode(&whole.as_bytes()[..cut])
                .map(|_| ())
                .unwrap_err()
                .kind;
            assert!(
                matches!(kind, ErrorKind::Truncated(_)),
                "{cut} of {whole}: {kind}"
            );
        }
    }
}

#[test]
fn timelines_have_categories_and_keep_the_place_of_what_changes() {
    let text = "[[-1, 1, 512, 7], [5000, 2, 1024, 3], [6000, 3, -512, 7], [6000, 3, 512, 0], [7000, 4, -1024, 3]]";
    let snapshot = decode(text.as_bytes()).unwrap();
    let rows = read(&snapshot, 0);
    let category = |row: usize| {
        let context = snapshot.contexts.get(snapshot.events.context[row]);
        snapshot.strings.get(context.category.unwrap())
    };
    let brief: Vec<_> = (0..)
        .zip(&rows)
        .map(|(row, event)| (event.action, event.size, event.time_us, category(row)))
        .collect();
    use Action::{Alloc, FreeCompleted, FreeRequested};
    let expected = [
        (Alloc, 512, 5, "unknown"),
        (Alloc, 1024, 5, "temporary"),
        (FreeRequested, 512, 6, "unknown"),
        (FreeCompleted, 512, 6, "unknown"),
        (Alloc, 512, 6, "parameter"),
        (FreeRequested, 1024, 7, "temporary"),
        (FreeCompleted, 1024, 7, "temporary"),
    ];
    assert_eq!(brief, expected);
    assert_eq!(rows[0].addr, rows[4].addr);
    assert_eq!(snapshot.device_name(0), "device 0");
    for wrong in [
        "[[1, 2, 3], [4]]",
        "[[1], [[0], [0]]]",
        "[[1], [[[[1]]]]]",
        "[[]]",
        "[[1, {}]]",
    ] {
        assert!(decode(wrong.as_bytes()).is_err(), "{wrong}");
    }
}
