//! Compares lanes and steps with a slow reading, and checks their laws.

use proptest::prelude::*;

use super::*;
use crate::analysis::time::range_totals::RangeSums;
use crate::decode;

/// An event: action, size, microseconds, user metadata, compile context.
type Row<'a> = (&'a str, u64, i64, &'a str, &'a str);

fn snapshot(rows: &[Row<'_>], marks: &[(&str, &str, i64)]) -> Snapshot {
    let mut live: Vec<(u64, u64)> = Vec::new();
    let mut events = Vec::new();
    for (i, &(action, size, time_us, metadata, region)) in rows.iter().enumerate() {
        let addr = 4096 * (i as u64 + 1);
        let (addr, size) = match action {
            "alloc" => {
                live.push((addr, size));
                (addr, size)
            }
            "free_completed" => live.pop().unwrap_or((addr, size)),
            _ => (addr, size),
        };
        events.push(
            serde_json::json!({"action": action, "addr": addr, "size": size, "stream": 0,
            "time_us": time_us, "user_metadata": metadata, "compile_context": region}),
        );
    }
    let marks: Vec<_> = marks
        .iter()
        .map(|&(stage, name, time_us)| {
            serde_json::json!({"stage": stage, "name": name, "device": 0, "time_us": time_us})
        })
        .collect();
    let file = serde_json::json!({"segments": [], "device_traces": [events], "external_annotations": marks});
    decode(file.to_string().as_bytes()).unwrap()
}

/// (name, row, from, to) of a lane.
fn shown(snapshot: &Snapshot, lanes: &Lanes, kind: LaneKind) -> Vec<(String, usize, u32, u32)> {
    let rows = lanes
        .of_kind(kind)
        .next()
        .map_or(&[][..], |lane| &lane.rows);
    let mut all = Vec::new();
    for (row, ranges) in rows.iter().enumerate() {
        for range in ranges {
            let name = range.name.text(&snapshot.strings).to_owned();
            all.push((name, row, range.from, range.to));
        }
    }
    all
}

const ROWS: [Row<'_>; 6] = [
    ("alloc", 100, 10, "", "N/A"),
    ("alloc", 50, 20, "load", "Region 0/0"),
    ("segment_alloc", 4096, 21, "", "N/A"),
    ("alloc", 25, 30, "load", "Region 0/0"),
    ("free_completed", 0, 40, "", "Region 0/0"),
    ("free_completed", 0, 50, "load", "N/A"),
];

#[test]
fn annotations_cover_the_events_between_their_times() {
    let marks = [
        ("START", "step", 15),
        ("START", "TorchDynamo Cache Lookup", 16),
        ("END", "TorchDynamo Cache Lookup", 17),
        ("START", "load", 20),
        ("END", "load", 30),
        ("END", "step", 45),
        ("END", "lost", 12),
        ("START", "open", 46),
        ("START", "late", 60),
        ("END", "late", 61),
    ];
    let snapshot = snapshot(&ROWS, &marks);
    let history = History::of(&snapshot, 0);
    let lanes = Lanes::of(&snapshot, &history);
    let row = |name: &str, row, from, to| (name.to_owned(), row, from, to);
    let expected = [
        row("lost", 0, 0, 1),
        row("step", 0, 1, 5),
        row("open", 0, 5, 6),
        row("load", 1, 1, 4),
    ];
    assert_eq!(shown(&snapshot, &lanes, LaneKind::Annotations), expected);
    let lookup = [row("TorchDynamo Cache Lookup", 0, 1, 1)];
    assert_eq!(shown(&snapshot, &lanes, LaneKind::Internal), lookup);
    assert_eq!((lanes.outside, lanes.unplaced), (1, 0));
    let sums = RangeSums::of(&history);
    let load = lanes.of_kind(LaneKind::Annotations).next().unwrap().rows[1][0];
    let totals = sums.totals(&history, load.moments());
    assert_eq!(
        (totals.net_bytes(), totals.peak_bytes, totals.allocations),
        (75, 175, 2)
    );
}

#[test]
fn equal_texts_in_a_row_are_a_range() {
    let snapshot = snapshot(&ROWS, &[]);
    let lanes = Lanes::of(&snapshot, &History::of(&snapshot, 0));
    let row = |name: &str, from, to| (name.to_owned(), 0, from, to);
    let metadata = [row("load", 1, 4), row("load", 5, 6)];
    assert_eq!(shown(&snapshot, &lanes, LaneKind::UserMetadata), metadata);
    let regions = [row("Region 0/0", 1, 5)];
    assert_eq!(shown(&snapshot, &lanes, LaneKind::CompileContext), regions);
    assert_eq!(lanes.of_kind(LaneKind::Annotations).next(), None);
}

#[test]
fn without_times_annotations_are_counted_only() {
    let marks = serde_json::json!([{"stage": "START", "name": "a", "device": 0, "time_us": 1}]);
    let events = serde_json::json!([[{"action": "alloc", "addr": 1, "size": 1, "stream": 0}]]);
    let file =
        serde_json::json!({"segments": [], "device_traces": events, "external_annotations": marks});
    let snapshot = decode(file.to_string().as_bytes()).unwrap();
    let lanes = Lanes::of(&snapshot, &History::of(&snapshot, 0));
    assert_eq!((lanes.lanes.len(), lanes.unplaced), (0, 1));
}

/// Where the clock went back, no time is certain to be between two events.
#[test]
fn what_the_clock_went_back_over_has_no_place() {
    let alloc = |addr: u64, time_us: i64| serde_json::json!({"action": "alloc", "addr": addr, "size": 1, "stream": 0, "time_us": time_us});
    let mark = |stage: &str, name: &str, time_us: i64| serde_json::json!({"stage": stage, "name": name, "device": 0, "time_us": time_us});
    let file = serde_json::json!({
        "segments": [],
        "device_traces": [[alloc(1, 10), alloc(2, 40), alloc(3, 20), alloc(4, 60)]],
        "external_annotations": [
            mark("START", "step 0", 5), mark("END", "step 0", 15),
            mark("START", "step 1", 16), mark("END", "step 1", 30),
            mark("START", "step 2", 41), mark("END", "step 2", 70),
        ],
    });
    let snapshot = decode(file.to_string().as_bytes()).unwrap();
    let history = History::of(&snapshot, 0);
    let lanes = Lanes::of(&snapshot, &history);
    let row = |name: &str, from, to| (name.to_owned(), 0, from, to);
    let placed = [row("step 0", 0, 1), row("step 2", 3, 4)];
    assert_eq!(shown(&snapshot, &lanes, LaneKind::Annotations), placed);
    assert_eq!(lanes.unplaced, 1);
    let sums = RangeSums::of(&history);
    assert_eq!(
        steps(&snapshot, &history, &lanes, &sums),
        None,
        "one is missing"
    );
}

/// Marks as vramscope-capture writes them: stage, name, range, thread, domain, time.
type Captured<'a> = (&'a str, &'a str, u64, u64, Option<&'a str>, i64);

fn captured(marks: &[Captured<'_>]) -> Snapshot {
    let plain = snapshot(&ROWS, &[]);
    let mut file: serde_json::Value = {
        let mut text = Vec::new();
        crate::encode::encode_json(&plain, &mut text).unwrap();
        serde_json::from_slice(&text).unwrap()
    };
    let marks = marks
        .iter()
        .map(|&(stage, name, range, thread, domain, time_us)| {
            let mut mark = serde_json::json!({"stage": stage, "name": name, "device": 0,
            "time_us": time_us, "range": range, "thread": thread});
            if let Some(domain) = domain {
                mark["domain"] = domain.into();
            }
            mark
        });
    file["external_annotations"] = marks.collect();
    file["capture"] =
        serde_json::json!({"threads": {"7": "main", "8": "", "9": "work", "10": "work"}});
    decode(file.to_string().as_bytes()).unwrap()
}

#[test]
fn threads_and_domains_have_lanes_of_their_own() {
    let snapshot = captured(&[
        ("START", "step", 1, 7, None, 15),
        ("START", "load", 2, 8, None, 16),
        ("START", "all_reduce", 3, 7, Some("NCCL"), 20),
        // Ends on another thread, after the range in which it began.
        ("START", "copy", 4, 7, None, 21),
        ("END", "load", 2, 8, None, 30),
        ("END", "step", 1, 7, None, 31),
        ("END", "all_reduce", 3, 7, Some("NCCL"), 40),
        ("END", "copy", 4, 8, None, 45),
        ("START", "mark", 5, 8, None, 45),
        ("END", "mark", 5, 8, None, 45),
    ]);
    let history = History::of(&snapshot, 0);
    let lanes = Lanes::of(&snapshot, &history);
    let names: Vec<_> = lanes.lanes.iter().map(|lane| lane.title()).collect();
    assert_eq!(&names[..3], ["main", "8", "NCCL · main"]);
    let rows = |lane: usize| -> Vec<Vec<_>> {
        let rows = lanes.lanes[lane].rows.iter();
        let name = |range: &LaneRange| range.name.text(&snapshot.strings);
        rows.map(|row| row.iter().map(name).collect()).collect()
    };
    assert_eq!(rows(0), [["step"], ["copy"]]);
    assert_eq!(rows(1), [["load", "mark"]]);
    assert_eq!(rows(2), [["all_reduce"]]);
    let alike = captured(&[
        ("START", "step", 1, 9, None, 15),
        ("START", "step", 2, 10, None, 16),
    ]);
    let lanes = Lanes::of(&alike, &history);
    let names = lanes
        .of_kind(LaneKind::Annotations)
        .map(|lane| lane.title());
    assert_eq!(names.collect::<Vec<_>>(), ["work 9", "work 10"]);
}

#[test]
fn very_many_threads_share_the_last_lane() {
    let marks: Vec<_> = (0..100_u32)
        .map(|thread| ("START", "work", thread.into(), thread.into(), None, 20))
        .collect();
    let snapshot = captured(&marks);
    let lanes = Lanes::of(&snapshot, &History::of(&snapshot, 0));
    let annotated: Vec<_> = lanes.of_kind(LaneKind::Annotations).collect();
    assert_eq!(annotated.len(), MAX_LANES);
    assert_eq!(annotated[MAX_LANES - 1].title(), OTHER_THREADS);
    assert_eq!(annotated.iter().map(|lane| lane.len()).sum::<usize>(), 100);
}

#[test]
fn steps_are_those_of_one_thread() {
    let snapshot = captured(&[
        ("START", "step 1", 1, 7, None, 10),
        ("START", "step 1", 2, 8, None, 11),
        ("END", "step 1", 1, 7, None, 25),
        ("START", "step 2", 3, 7, None, 26),
        ("END", "step 1", 2, 8, None, 29),
        ("END", "step 2", 3, 7, None, 45),
    ]);
    let history = History::of(&snapshot, 0);
    let lanes = Lanes::of(&snapshot, &history);
    let found = steps(&snapshot, &history, &lanes, &RangeSums::of(&history)).unwrap();
    let numbers: Vec<_> = found
        .steps
        .iter()
        .map(|step| (step.number, step.moments))
        .collect();
    assert_eq!(numbers, [(1, (0, 3)), (2, (3, 5))]);
}

fn steps_of(marks: &[(&str, &str, i64)]) -> Option<Steps> {
    let snapshot = snapshot(&ROWS, marks);
    let history = History::of(&snapshot, 0);
    let lanes = Lanes::of(&snapshot, &history);
    steps(&snapshot, &history, &lanes, &RangeSums::of(&history))
}

#[test]
fn steps_by_their_best_names() {
    let numbered = [
        ("START", "train_step 7", 5),
        ("START", "Optimizer.step#SGD.step", 18),
        ("END", "Optimizer.step#SGD.step", 22),
        ("END", "train_step 7", 25),
        ("START", "train_step 8", 26),
    ];
    let found = steps_of(&numbered).unwrap();
    assert_eq!(
        (found.by, found.pattern.as_str()),
        (StepsBy::Numbered, "train_step #")
    );
    let brief = |steps: &Steps| -> Vec<_> {
        let steps = steps.steps.iter();
        steps
            .map(|step| (step.number, step.moments, step.is_whole))
            .collect()
    };
    assert_eq!(brief(&found), [(7, (0, 3), true), (8, (3, 6), false)]);
    assert_eq!(found.steps[1].totals.net_bytes(), -50);
    let by_optimizer = steps_of(&numbered[1..3]).unwrap();
    assert_eq!(by_optimizer.by, StepsBy::Optimizer);
    assert_eq!(
        brief(&by_optimizer),
        [(0, (0, 3), false), (1, (3, 6), false)]
    );
    assert_eq!(
        steps_of(&[("START", "training_step", 5)]),
        None,
        "once is no repetition"
    );
    assert_eq!(steps_of(&[]), None);
}

#[test]
fn steps_that_touch_at_one_time_are_all_found() {
    let marks = [
        ("START", "step 0", 5),
        ("END", "step 0", 20),
        ("START", "step 1", 20),
        ("END", "step 1", 30),
        ("START", "step 2", 30),
        ("END", "step 2", 45),
    ];
    let found = steps_of(&marks).unwrap().steps;
    let found: Vec<_> = found
        .iter()
        .map(|step| (step.number, step.moments))
        .collect();
    assert_eq!(found, [(0, (0, 2)), (1, (2, 4)), (2, (4, 5))]);
}

fn range(start_us: i64, length: i64) -> LaneRange {
    LaneRange {
        name: RangeName::Step,
        from: 0,
        to: 0,
        start_us,
        end_us: start_us + length,
        is_open_start: false,
        is_open_end: false,
        mark: None,
    }
}

proptest! {
    #[test]
    fn rows_hold_every_range_and_overlap_nowhere(
        spans in prop::collection::vec((0_i64..200, 0_i64..60), 0..60)
    ) {
        let mut ranges: Vec<_> = spans.iter().map(|&(start, length)| range(start, length)).collect();
        ranges.sort_by_key(|range| (range.start_us, std::cmp::Reverse(range.end_us)));
        let rows = rows::packed(&ranges);
        prop_assert_eq!(rows.iter().map(Vec::len).sum::<usize>(), ranges.len());
        prop_assert!(rows.len() <= MAX_ROWS && rows.iter().all(|row| !row.is_empty()));
        for row in rows.iter().take(MAX_ROWS - 1) {
            prop_assert!(row.windows(2).all(|pair| pair[0].end_us <= pair[1].start_us));
        }
        // An enclosing range is above.
        for (depth, row) in rows.iter().enumerate().take(MAX_ROWS - 1) {
            for inner in row {
                let below = rows.iter().skip(depth + 1).flatten();
                let strictly = |outer: &LaneRange| {
                    outer.start_us < inner.start_us && inner.end_us < outer.end_us
                };
                prop_assert!(!below.into_iter().any(strictly));
            }
        }
    }
}
