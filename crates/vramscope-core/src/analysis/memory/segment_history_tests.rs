//! Small recordings with known pieces.

use super::*;
use crate::analysis::time::byte_steps::bytes_at;
use crate::decode;

type Row = (u64, u64, u32, u32);

fn of(segments: &str, events: &[(&str, u64, u64)]) -> SegmentHistory {
    let events: Vec<String> = events
        .iter()
        .map(|(action, addr, size)| {
            format!(r#"{{"action": "{action}", "addr": {addr}, "size": {size}, "stream": 0}}"#)
        })
        .collect();
    let file = format!(
        r#"{{"segments": [{segments}], "device_traces": [[{}]]}}"#,
        events.join(",")
    );
    let snapshot = decode(file.as_bytes()).unwrap();
    let history = History::of(&snapshot, 0);
    let segments = SegmentHistory::of(&snapshot, &history);
    if segments.mismatched == 0 {
        let moments = 0..=history.event_count;
        let expected: Vec<u64> = moments
            .map(|moment| history.reserved_bytes(moment))
            .collect();
        let steps = segments.reserved_steps();
        let found = (0..=history.event_count).map(|moment| bytes_at(&steps, moment));
        assert_eq!(found.collect::<Vec<_>>(), expected);
    }
    segments
}

fn segment(address: u64, bytes: u64, is_expandable: bool) -> String {
    format!(
        r#"{{"device": 0, "address": {address}, "total_size": {bytes}, "stream": 0,
            "is_expandable": {is_expandable}, "segment_type": "large", "blocks": []}}"#
    )
}

fn rows(history: &SegmentHistory) -> Vec<Row> {
    (0..history.len())
        .map(|row| {
            let (address, bytes) = (history.address[row], history.bytes[row]);
            (address, bytes, history.born[row], history.died[row])
        })
        .collect()
}

#[test]
fn a_plain_segment_is_one_piece() {
    let events = [
        ("segment_alloc", 100, 20),
        ("segment_free", 100, 20),
        ("segment_alloc", 100, 30),
    ];
    let listed = [segment(100, 30, false), segment(500, 7, false)].join(",");
    let history = of(&listed, &events);
    let expected = [(500, 7, 0, NEVER), (100, 20, 1, 2), (100, 30, 3, NEVER)];
    assert_eq!(rows(&history), expected);
    assert_eq!(history.segments.len(), 3);
    assert_eq!(history.segments[1].kind, Some(SegmentKind::Small));
    assert_eq!(history.segments[2].kind, Some(SegmentKind::Large));
    assert_eq!(history.segments[2].final_segment, Some(SegmentId(0)));
    assert_eq!(history.piece_at(119, 1), Some(1));
    assert_eq!(history.piece_at(120, 1), None);
    assert_eq!(history.piece_at(100, 2), None);
}

#[test]
fn an_expandable_segment_grows_is_cut_and_filled_again() {
    let events = [
        ("segment_map", 100, 20),
        ("segment_map", 120, 20),
        // Overlaps both pieces, and leaves their outer halves mapped.
        ("segment_unmap", 110, 20),
        ("segment_map", 110, 20),
    ];
    let history = of(&segment(100, 40, true), &events);
    let expected = [
        (100, 10, 1, NEVER),
        (110, 10, 1, 3),
        (110, 20, 4, NEVER),
        (120, 10, 2, 3),
        (130, 10, 2, NEVER),
    ];
    assert_eq!(rows(&history), expected);
    let [life] = history.segments[..] else {
        panic!("{:?}", history.segments);
    };
    assert_eq!((life.address, life.extent_bytes), (100, 40));
    assert_eq!((life.born, life.died, life.rows()), (1, NEVER, 0..5));
}

#[test]
fn what_the_recording_unmapped_was_there_before() {
    let events = [("segment_unmap", 120, 20)];
    let listed = [segment(100, 20, true), segment(140, 20, true)].join(",");
    let history = of(&listed, &events);
    let expected = [(100, 20, 0, NEVER), (120, 20, 0, 1), (140, 20, 0, NEVER)];
    assert_eq!(rows(&history), expected);
    assert_eq!(history.segments.len(), 1);
}

#[test]
fn what_does_not_fit_is_counted_and_left_out() {
    let history = of("", &[("segment_alloc", 100, 20)]);
    assert!(history.is_empty());
    assert_eq!(history.mismatched, 1);
    let history = of(
        &segment(u64::MAX - 99, 100, true),
        &[("segment_unmap", 0, 1)],
    );
    assert_eq!(history.segments[1].end(), u64::MAX);
}
