//! Named ranges of a program become `external_annotations`.

use vramscope_core::analysis::memory::capture::Capture;
use vramscope_core::model::Stage;
use vramscope_record::layout::{
    Annotation, AnnotationOp, Attributes, Call, Device, Event, Kind, Name, Named, ON_STREAM,
};
use vramscope_record::writer::LogWriter;

use crate::support::{BASE, MIB, alloc, assert_story, converted, event, story};

fn mark(log: &mut LogWriter, op: AnnotationOp, name: u32) {
    log.annotation(Annotation {
        time_ns: log.offset() * 1000,
        op: op as u8,
        name,
        domain: 2,
        thread: 7,
        ..Annotation::default()
    });
}

#[test]
fn ranges_have_names_domains_threads_and_numbers() {
    let mut log = LogWriter::default();
    log.thread(7, "main");
    log.text(1, "step");
    log.text(2, "model");
    mark(&mut log, AnnotationOp::Pop, 0);
    mark(&mut log, AnnotationOp::Push, 1);
    mark(&mut log, AnnotationOp::Push, 1);
    mark(&mut log, AnnotationOp::Pop, 0);
    let (snapshot, report) = converted(&log);
    let reported: Vec<_> = snapshot
        .annotations
        .rows
        .iter()
        .map(|row| {
            let text = |id| snapshot.strings.get(id);
            assert_eq!(row.domain.map(text), Some("model"));
            assert_eq!(row.thread, Some(7));
            (row.stage, text(row.name), row.range)
        })
        .collect();
    assert_eq!(
        reported,
        [
            (Stage::Start, "step", Some(1)),
            (Stage::Start, "step", Some(2)),
            (Stage::End, "step", Some(2)),
        ]
    );
    assert_eq!(snapshot.extras["capture"]["threads"]["7"], "main");
    assert_eq!(
        report.notes,
        ["1 record ended a named range that was not seen beginning."]
    );
}

/// A log in which a program names a device, streams and a category.
fn named() -> LogWriter {
    let mut log = LogWriter::default();
    log.text(1, "copy");
    log.text(2, "model");
    log.device(Device::default(), "H100");
    for (named, handle, name) in [
        (Named::Stream, 0x7f, "first"),
        (Named::Stream, 0x7f, "copies"),
        (Named::Stream, 0x80, "gone"),
        (Named::Stream, 0x80, ""),
        (Named::Device, 0, "trainer"),
        (Named::Category, 7, "io"),
    ] {
        let of = Name {
            handle,
            domain: 0,
            named: named as u32,
        };
        log.name(of, name);
    }
    log
}

fn attributes(category: u32, payload_type: u32, payload: u64) -> Attributes {
    Attributes {
        colour: 0xff76_b900,
        category,
        payload,
        payload_type,
        reserved: 0,
    }
}

#[test]
fn attributes_and_streams() {
    let mut log = named();
    let start = Annotation {
        time_ns: 5_000,
        op: AnnotationOp::Start as u8,
        name: 1,
        range: 1,
        stream: 0x7f,
        flags: ON_STREAM,
        ..Annotation::default()
    };
    log.annotation_with(start, attributes(7, 6, 1.5_f32.to_bits().into()));
    log.annotation(Annotation {
        time_ns: 9_000,
        op: AnnotationOp::End as u8,
        name: 0,
        ..start
    });
    let mark = Annotation {
        op: AnnotationOp::Mark as u8,
        name: 1,
        domain: 2,
        time_ns: 10_000,
        ..Annotation::default()
    };
    log.annotation_with(mark, attributes(7, 2, u64::MAX));
    // Payloads of unknown types are left out, and a record too short for attributes has none.
    log.annotation_with(mark, attributes(8, 99, 1));
    log.put(Kind::Annotation, &[&mark.to_bytes(), &[1; 9]]);
    let (snapshot, _) = converted(&log);
    let text = |id: Option<_>| id.map(|id| snapshot.strings.get(id));
    let rows = snapshot.annotations.rows.iter();
    let rows = rows.filter(|row| row.stage == Stage::Start);
    let reported: Vec<_> = rows
        .map(|row| {
            (
                row.stream,
                row.colour,
                text(row.category),
                text(row.payload),
            )
        })
        .collect();
    let colour = Some(0xff76_b900);
    let expected = [
        (Some(0x7f), colour, Some("io"), Some("1.5")),
        (None, colour, Some("7"), Some("-1")),
        (None, colour, Some("8"), None),
        (None, None, None, None),
    ];
    assert_eq!(reported, expected);
}

#[test]
fn names_of_the_program() {
    let mut log = named();
    let event = Event {
        address: BASE,
        size_bytes: 512,
        stream: 0x7f,
        ..event(&log, Call::cuMemAllocAsync)
    };
    log.event(event);
    let (snapshot, report) = converted(&log);
    assert_eq!(report.notes, [""; 0]);
    assert_eq!(snapshot.streams().label(0x7f), "copies (stream 1, 0x7f)");
    let streams = snapshot.extras["capture"]["streams"].as_object();
    assert_eq!(streams.map(|streams| streams.len()), Some(1));
    let capture = Capture::of(&snapshot).unwrap();
    assert_eq!(capture.device(0).unwrap().name, "trainer (H100)");
}

#[test]
fn all_parts_of_a_heap_end_at_once() {
    let mut log = LogWriter::default();
    let call = |log: &mut LogWriter, call, address, size_bytes| {
        let event = Event {
            address,
            size_bytes,
            ..event(log, call)
        };
        log.event(event);
    };
    alloc(&mut log, Call::cuMemAlloc, BASE, 4 * MIB);
    alloc(&mut log, Call::cuMemAlloc, BASE + 8 * MIB, 2 * MIB);
    for part in 0..3 {
        call(&mut log, Call::suballoc, BASE + part * MIB, 1000);
    }
    call(&mut log, Call::subfree, BASE, 2 * MIB);
    // No part begins there, and memory that is not a part stays.
    call(&mut log, Call::subfree, BASE + 8 * MIB, 2 * MIB);
    let (snapshot, report) = converted(&log);
    assert_eq!(report.notes, [""; 0]);
    let story = story(&snapshot, 0);
    let state: String = story.lines().filter(|line| line.starts_with('[')).collect();
    assert_story(&state, "[0 4M: -2M 1000/1000 -1M+1047576][8M 2M: 2M/2M]");
}
