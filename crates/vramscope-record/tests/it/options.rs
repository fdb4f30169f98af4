//! Options for the content of a snapshot.

use vramscope_core::analysis::memory::capture::LOSSES;
use vramscope_core::model::Action;
use vramscope_record::layout::{Call, Event, Loss, header};
use vramscope_record::model::{Enabled, RecordingOptions};
use vramscope_record::writer::LogWriter;
use vramscope_record::{ConvertOptions, convert};

use crate::support::{
    BASE, MIB, Numbers, alloc, assert_story, converted, converted_with, event, free, state, story,
};

fn some_log() -> LogWriter {
    let mut log = LogWriter::default();
    alloc(&mut log, Call::cuMemAlloc, BASE, MIB);
    alloc(&mut log, Call::cuMemAlloc, BASE + 4 * MIB, MIB);
    free(&mut log, Call::cuMemFree, BASE);
    let elsewhere = Event {
        device: 1,
        address: BASE + 8 * MIB,
        size_bytes: MIB,
        ..event(&log, Call::cuMemAlloc)
    };
    log.event(elsewhere);
    log
}

const STATE: &str = "[4M 2M: 1M/1M -1M]";

#[track_caller]
fn assert_trace(options: RecordingOptions, expected: &str) {
    let options = ConvertOptions {
        recording: options,
        ..ConvertOptions::default()
    };
    let (snapshot, _) = converted_with(&some_log(), &options);
    assert_story(&story(&snapshot, 0), expected);
}

#[test]
fn the_state_alone() {
    let enabled = Enabled::State;
    let options = RecordingOptions {
        enabled,
        ..RecordingOptions::default()
    };
    assert_trace(options, STATE);
}

#[test]
fn the_newest_entries() {
    let options = RecordingOptions {
        max_entries: Some(2),
        ..RecordingOptions::default()
    };
    // The request of the free was the other neighbour's entry, and was dropped.
    assert_trace(options, &format!("free 0 1M\n segment_free 0 2M\n {STATE}"));
    let options = RecordingOptions {
        max_entries: Some(0),
        ..RecordingOptions::default()
    };
    assert_trace(options, STATE);
}

#[test]
fn one_device() {
    let options = ConvertOptions {
        recording: RecordingOptions {
            device: Some(1),
            ..RecordingOptions::default()
        },
        ..ConvertOptions::default()
    };
    let (snapshot, _) = converted_with(&some_log(), &options);
    assert_story(&story(&snapshot, 0), "");
    assert_story(
        &story(&snapshot, 1),
        "segment_alloc 8M 1M\n alloc 8M 1M\n [8M 1M: 1M/1M]",
    );
}

#[test]
fn without_some_actions() {
    let options = RecordingOptions {
        skip_actions: vec![
            Action::SegmentAlloc,
            Action::SegmentFree,
            Action::FreeRequested,
            Action::FreeCompleted,
        ],
        ..RecordingOptions::default()
    };
    let options = ConvertOptions {
        recording: options,
        ..ConvertOptions::default()
    };
    let bytes = some_log().bytes();
    let (snapshot, _) = convert(&bytes, &options, &mut Numbers::default(), &mut |_, _| {}).unwrap();
    assert_story(
        &story(&snapshot, 0),
        &format!("alloc 0 1M\n alloc 4M 1M\n {STATE}"),
    );
}

#[test]
fn a_dump_is_what_stands_before_it_and_an_event_afterwards() {
    let mut log = some_log();
    let dump = log.offset();
    log.dump(dump * 1000, "/tmp/a.pickle");
    free(&mut log, Call::cuMemFree, BASE + 4 * MIB);
    let options = ConvertOptions {
        end_offset: Some(dump),
        ..ConvertOptions::default()
    };
    let (snapshot, _) = converted_with(&log, &options);
    assert_story(&state(&snapshot, 0), STATE);
    assert!(!story(&snapshot, 0).contains("snapshot"));
    let (snapshot, _) = converted(&log);
    assert!(story(&snapshot, 0).contains("snapshot 0x0 1M\n"));
    assert_story(&state(&snapshot, 0), "");
}

#[test]
fn what_the_log_says_of_its_program() {
    let mut log = some_log();
    log.program(&["/bin/a b", "--c"]);
    log.note("stacks are off");
    log.set_u64(header::PROCESS, 99);
    log.set_u64(header::CREATED_NS, 5_000);
    log.set_u64(header::DROPPED_RECORDS, 3);
    log.set_u64(header::LOSSES + 8 * Loss::NoStack as usize, 7);
    log.device(
        vramscope_record::layout::Device {
            total_bytes: 80,
            uuid_low: 0x0706_0504_0302_0100,
            uuid_high: 0x0f0e_0d0c_0b0a_0908,
            ..Default::default()
        },
        "NVIDIA H200",
    );
    let (snapshot, report) = converted(&log);
    assert_eq!(report.dropped_records, 3);
    assert_eq!(report.lost, [(Loss::NoStack, 7)]);
    // Files without names keep the reasons that are in this list.
    let names = Loss::ALL.iter().map(|loss| loss.name());
    assert!(names.eq(LOSSES));
    assert_eq!(
        snapshot.extras["capture"],
        serde_json::json!({
            "tool": concat!("vramscope-capture ", env!("CARGO_PKG_VERSION")),
            "program": ["/bin/a b", "--c"],
            "pid": 99,
            "started_us": 5,
            "ended": "without notice",
            "read_us": null,
            "dropped_records": 3,
            "lost": [{"reason": "NoStack", "times": 7, "text": "a stack could not be unwound, and is missing"}],
            "dropped_entries": 0,
            "notes": ["stacks are off"],
            "threads": {},
            "devices": [{
                "index": 0,
                "name": "NVIDIA H200",
                "uuid": "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f",
                "total_bytes": 80,
            }],
            "memory": [],
        })
    );
}
