//! Annotations by NVTX and by `vramscope-api`.

use std::collections::BTreeMap;

use vramscope_capture_tests::session::{Captured, Session, read};
use vramscope_capture_tests::story::{Step, Story, assert_same, assert_same_by_address};
use vramscope_core::Snapshot;
use vramscope_core::analysis::time::annotations::{NamedRange, named_ranges};
use vramscope_core::analysis::time::history::History;
use vramscope_core::analysis::time::lanes::Lanes;
use vramscope_core::ids::EventId;
use vramscope_core::model::Action;

#[track_caller]
fn captured(client: &str, arguments: &[&str]) -> Captured {
    let captured = Session::new().capture(client, arguments);
    assert!(captured.status.success(), "{}", captured.stderr);
    assert_same(&captured.snapshot(), captured.ledger());
    captured
}

/// Ranges by name; the first if several have the same name.
fn ranges(snapshot: &Snapshot) -> BTreeMap<String, NamedRange> {
    let mut ranges = BTreeMap::new();
    for range in named_ranges(snapshot) {
        let name = snapshot.strings.get(range.name).to_owned();
        ranges.entry(name).or_insert(range);
    }
    ranges
}

fn is_within(inner: &NamedRange, outer: &NamedRange) -> bool {
    inner.start_us >= outer.start_us && inner.end_us <= outer.end_us && inner.end_us.is_some()
}

/// Times of allocations in microseconds.
fn allocations(snapshot: &Snapshot) -> Vec<i64> {
    let events = snapshot
        .trace(0)
        .map(|row| snapshot.events.get(EventId(row)));
    events
        .filter(|event| event.action == Action::Alloc)
        .map(|event| event.time_us)
        .collect()
}

#[test]
fn nvtx_from_c_headers() {
    let captured = captured("scenes", &["dlsym", "nvtx"]);
    assert!(
        captured.stdout.contains("nvtx: done"),
        "{}",
        captured.stdout
    );
    let snapshot = captured.snapshot();
    let ranges = ranges(&snapshot);
    let names: Vec<_> = ranges.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        ["a mark", "by attributes", "outer", "started", "wide ü"]
    );
    assert!(is_within(&ranges["wide ü"], &ranges["outer"]));
    assert!(is_within(&ranges["by attributes"], &ranges["wide ü"]));
    let mark = &ranges["a mark"];
    assert_eq!(mark.start_us, mark.end_us);
    let times = allocations(&snapshot);
    let outer = &ranges["outer"];
    assert!(outer.start_us.is_some_and(|start| start <= times[0]));
    let domains = named_ranges(&snapshot);
    let domains = domains.iter().filter_map(|range| range.domain);
    let domains: Vec<_> = domains.map(|domain| snapshot.strings.get(domain)).collect();
    assert_eq!(domains, ["a library"]);
}

/// Stream, device, and whether it has two ends, of each range with a name.
fn places(snapshot: &Snapshot, name: &str) -> Vec<(Option<i64>, i32, bool)> {
    let mut ranges = named_ranges(snapshot);
    ranges.retain(|range| snapshot.strings.get(range.name) == name);
    let is_whole = |range: &NamedRange| range.start_us.is_some() && range.end_us.is_some();
    ranges
        .iter()
        .map(|range| (range.stream, range.device, is_whole(range)))
        .collect()
}

/// Ranges that begin and end in functions called by a stream belong to that stream.
#[test]
fn device_ranges_are_on_their_streams() {
    let captured = captured("scenes", &["dlsym", "device-ranges"]);
    let stderr = &captured.stderr;
    assert!(
        !stderr.contains("fakecuda:"),
        "the driver is not called there: {stderr}"
    );
    let snapshot = captured.snapshot();
    let handle = captured.stdout.trim().strip_prefix("device-ranges: 0x");
    let handle = i64::from_str_radix(handle.expect("a stream"), 16).expect("a handle");
    assert_eq!(places(&snapshot, "on stream"), [(Some(handle), 0, true)]);
    assert_eq!(places(&snapshot, "on default"), [(Some(0), 0, true); 2]);
    assert_eq!(places(&snapshot, "on thread"), [(None, 0, true)]);
    let lanes = Lanes::of(&snapshot, &History::of(&snapshot, 0));
    let titles: Vec<_> = lanes.lanes.iter().map(|lane| lane.title()).collect();
    assert_eq!(titles[..2], ["stream 1", "default stream"]);
    assert_eq!(titles.len(), 3, "and the thread: {titles:?}");
}

/// A graph may be launched on any stream, and calls the program's own function each time.
#[test]
fn ranges_in_graphs_are_on_no_stream() {
    let captured = captured("scenes", &["dlsym", "graph-ranges"]);
    let places = places(&captured.snapshot(), "replayed");
    assert_eq!(places.len(), 100);
    let is_right = |&(stream, _, is_whole): &(Option<i64>, i32, bool)| stream.is_none() && is_whole;
    assert!(places.iter().all(is_right), "{places:?}");
}

#[test]
fn nvtx_from_cudarc() {
    let captured = captured("loading", &["nvtx"]);
    let ranges = ranges(&captured.snapshot());
    assert!(
        is_within(&ranges["between"], &ranges["forward"]),
        "{ranges:?}"
    );
}

#[test]
fn ranges_by_the_api() {
    // Its threads allocate at the same time.
    let captured = Session::new().capture("scenes", &["dlsym", "annotations"]);
    assert!(captured.status.success(), "{}", captured.stderr);
    assert_same_by_address(&captured.snapshot(), captured.ledger());
    let snapshot = captured.snapshot();
    let all = named_ranges(&snapshot);
    let ranges = ranges(&snapshot);
    let run = &ranges["run 1"];
    for name in ["step 0", "step 1", "step 2", "forward", "between"] {
        assert!(is_within(&ranges[name], run), "{name}");
        assert_eq!(ranges[name].thread, run.thread, "{name}");
    }
    assert!(is_within(&ranges["between"], &ranges["forward"]));
    assert!(ranges["loading"].end_us >= ranges["step 2"].start_us);
    for worker in 0..3 {
        let read = &ranges[&format!("read {worker}")];
        assert_ne!(read.thread, run.thread);
        let inner = all
            .iter()
            .find(|range| range.domain.is_some() && range.thread == read.thread);
        assert!(
            inner.is_some_and(|inner| is_within(inner, read)),
            "{worker}"
        );
    }
}

/// A program's own arena: its parts are blocks, the driver's allocation is the segment.
#[test]
fn parts_of_an_arena() {
    let captured = Session::new().capture("scenes", &["dlsym", "suballoc"]);
    let snapshot = captured.snapshot();
    let (story, truth) = Story::both(&snapshot, captured.ledger(), 0);
    assert_eq!(story.mapped, truth.mapped);
    let (&arena, _) = truth.live.first_key_value().expect("the arena");
    let parts: Vec<_> = story
        .live
        .iter()
        .map(|(at, bytes)| ((at - arena) >> 20, *bytes))
        .collect();
    assert_eq!(
        parts,
        [
            (0, 700_000),
            (1, 100),
            (3, 700_000),
            (4, 700_000),
            (6, 700_000),
            (7, 700_000)
        ]
    );
}

#[test]
fn started_and_stopped_by_the_program() {
    let session = Session::new().with(&["--start-paused"]);
    let captured = session.capture("scenes", &["dlsym", "start-stop"]);
    let story = Story::of_snapshot(&captured.snapshot(), 0);
    let allocs: Vec<_> = story
        .steps
        .iter()
        .filter_map(|step| match step {
            Step::Alloc { requested, .. } => Some(*requested),
            _ => None,
        })
        .collect();
    assert_eq!(allocs, [5 << 20], "{}", captured.stderr);
}

#[test]
fn dumped_by_the_program() {
    let session = Session::new();
    let dump = session.folder().join("own.pickle");
    let session = session.env("DUMP", &dump.display().to_string());
    let captured = session.capture("scenes", &["dlsym", "dump"]);
    assert!(captured.status.success(), "{}", captured.stderr);
    let own = Story::of_snapshot(&read(&dump, &captured.stderr), 0);
    let whole = Story::of_snapshot(&captured.snapshot(), 0);
    assert_eq!(own.live.len(), 1);
    assert_eq!(whole.live.len(), 2);
}
