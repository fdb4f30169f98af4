//! Facts about small files.

use super::*;
use crate::decode;

/// The kinds of the facts about a snapshot written as JSON.
fn kinds(json: &str) -> Vec<FactKind> {
    let recording = Recording::of(decode(json.as_bytes()).unwrap());
    let facts = facts(&recording).into_iter();
    facts.map(|fact| fact.kind).collect()
}

const SEGMENT: &str = r#"{"device": 0, "address": 4096, "total_size": 1024, "blocks": [
    {"address": 4096, "size": 512, "requested_size": 500, "state": "active_allocated", "frames": []},
    {"address": 4608, "size": 512, "requested_size": 0, "state": "inactive", "frames": []}]}"#;

#[test]
fn a_file_without_anything() {
    assert_eq!(
        kinds(r#"{"segments": [], "device_traces": []}"#),
        [FactKind::Nothing]
    );
}

#[test]
fn a_dry_run_says_so_and_its_key_is_known() {
    let json = format!(
        r#"{{"segments": [{SEGMENT}], "device_traces": [[]], "dry_run": {{"note": "dry run: nothing was computed"}}}}"#
    );
    assert_eq!(kinds(&json).first(), Some(&FactKind::DryRun));
    let snapshot = decode(json.as_bytes()).unwrap();
    assert!(
        snapshot.warnings.is_empty(),
        "{:?}",
        snapshot.warnings.list()
    );
    let hashed =
        crate::anonymise::anonymise(&snapshot, &crate::anonymise::Anonymiser::new([0; 32]));
    assert!(hashed.dry_run().is_some_and(serde_json::Map::is_empty));
}

#[test]
fn a_dry_run_is_not_advised_to_record_what_it_cannot() {
    let event = r#"{"action": "alloc", "addr": 4096, "size": 512, "stream": 0}"#;
    let advice = |more: &str| {
        let json = format!(r#"{{"segments": [], "device_traces": [[{event}]]{more}}}"#);
        let recording = Recording::of(decode(json.as_bytes()).unwrap());
        let facts = facts(&recording).into_iter();
        let without = facts.filter(|fact| matches!(fact.kind, FactKind::NoStacks { .. }));
        without.map(|fact| fact.advice).collect::<String>()
    };
    assert!(advice("").contains("Record with context"));
    assert!(advice(r#", "dry_run": {"note": ""}"#).starts_with("A dry run records"));
}

#[test]
fn a_file_without_a_trace() {
    let found = kinds(&format!(
        r#"{{"segments": [{SEGMENT}], "device_traces": [[]]}}"#
    ));
    let no_stacks = FactKind::NoStacks {
        without: 1,
        before_recording: 0,
        of: 1,
    };
    assert_eq!(found, [FactKind::NoTrace, no_stacks]);
}

#[test]
fn a_file_in_state_mode() {
    let event = r#"{"action": "snapshot", "addr": 0, "size": 500, "stream": 0}"#;
    let found = kinds(&format!(
        r#"{{"segments": [{SEGMENT}], "device_traces": [[{event}]]}}"#
    ));
    assert_eq!(found.first(), Some(&FactKind::StateOnly));
}

#[test]
fn a_trace_that_leads_to_its_end_is_no_skew() {
    let events = r#"{"action": "segment_alloc", "addr": 4096, "size": 1024, "stream": 0},
        {"action": "alloc", "addr": 4096, "size": 500, "stream": 0}"#;
    let found = kinds(&format!(
        r#"{{"segments": [{SEGMENT}], "device_traces": [[{events}]]}}"#
    ));
    let is_mismatch =
        |kind: &FactKind| matches!(kind, FactKind::Skew { .. } | FactKind::FreesMissing { .. });
    assert!(!found.iter().any(is_mismatch), "{found:?}");
}

/// A file by torch-snapkit: the traces of all ranks, and everything else from rank 0.
#[test]
fn gathered_traces_are_named() {
    let alloc = r#"{"action": "alloc", "addr": 4096, "size": 500, "stream": 0}"#;
    let segment = r#"{"action": "segment_alloc", "addr": 4096, "size": 1024, "stream": 0}"#;
    let free = alloc.replace("alloc", "free_completed");
    let trace = format!("[{segment}, {alloc}]");
    let file = |traces: &[&str]| {
        let traces = traces.join(",");
        kinds(&format!(
            r#"{{"segments": [{SEGMENT}], "device_traces": [{traces}]}}"#
        ))
    };
    let gathered = |without_segments| FactKind::TracesGathered {
        without_segments,
        with_segments: 1,
    };
    let found = file(&[&trace, &trace, &trace]);
    assert!(found.contains(&gathered(2)), "{found:?}");
    let is_skew = |kind: &FactKind| matches!(kind, FactKind::Skew { .. });
    assert!(!found.iter().any(is_skew), "{found:?}");
    // torch itself writes a device that has freed everything, an unused device, and a single device.
    let freed = format!("[{segment}, {alloc}, {free}]");
    let is_gathered = |kind: &FactKind| matches!(kind, FactKind::TracesGathered { .. });
    for traces in [&[&trace, &freed, "[]"][..], &[&trace]] {
        let found = file(traces);
        assert!(!found.iter().any(is_gathered), "{found:?}");
    }
    // Segments of a single pool: other memory has none on any device.
    let other = alloc.replace("4096", "8192");
    let more = format!("[{segment}, {alloc}, {other}]");
    let found = file(&[&more, &trace]);
    assert!(!found.iter().any(is_gathered), "{found:?}");
    assert!(found.iter().any(is_skew), "{found:?}");
}

#[test]
fn a_file_may_have_no_segments_because_all_were_given_back() {
    let alloc = r#"{"action": "alloc", "addr": 4096, "size": 500, "stream": 0}"#;
    let segment = |action: &str| {
        format!(r#"{{"action": "{action}", "addr": 4096, "size": 1024, "stream": 0}}"#)
    };
    let told = |events: &str| {
        let found = kinds(&format!(
            r#"{{"segments": [], "device_traces": [[{events}]]}}"#
        ));
        !found.contains(&FactKind::NoSegments)
    };
    assert!(!told(alloc));
    let [came, went] = ["segment_alloc", "segment_free"].map(segment);
    assert!(told(&format!("{came}, {went}")));
}

#[test]
fn places_where_trace_and_final_state_disagree_are_counted() {
    // One block of another size, one allocation without a block, one free that is not completed while another is, and
    // one segment that was never mapped.
    let events = r#"{"action": "alloc", "addr": 4096, "size": 400, "stream": 0},
        {"action": "alloc", "addr": 4608, "size": 10, "stream": 0},
        {"action": "alloc", "addr": 9000, "size": 10, "stream": 0},
        {"action": "free_requested", "addr": 9000, "size": 10, "stream": 0},
        {"action": "alloc", "addr": 9600, "size": 10, "stream": 0},
        {"action": "free_requested", "addr": 9600, "size": 10, "stream": 0},
        {"action": "free_completed", "addr": 9600, "size": 10, "stream": 0},
        {"action": "segment_alloc", "addr": 8192, "size": 2048, "stream": 0}"#;
    let json = format!(r#"{{"segments": [{SEGMENT}], "device_traces": [[{events}]]}}"#);
    let skew = FactKind::Skew {
        live_without_block: 1,
        size_differs: 1,
        not_completed: 1,
        segment_events: 1,
    };
    assert!(kinds(&json).contains(&skew), "{:?}", kinds(&json));
    assert_eq!(
        words::fact(skew, Some(0), AllocatorKind::Torch).text,
        "Trace and final state disagree in 4 places: 1 live allocation without a block, 1 block of another \
         size, 1 requested free never completed, 1 segment event that does not fit."
    );
}

#[test]
fn an_allocation_where_another_is_live() {
    let alloc = r#"{"action": "alloc", "addr": 4096, "size": 500, "stream": 0}"#;
    let found = kinds(&format!(
        r#"{{"segments": [{SEGMENT}], "device_traces": [[{alloc}, {alloc}]]}}"#
    ));
    assert!(
        found.contains(&FactKind::FreesMissing { allocations: 1 }),
        "{found:?}"
    );
}

#[test]
fn a_free_that_was_requested_before_the_recording_is_nothing_odd() {
    let free = r#"{"action": "free_completed", "addr": 8192, "size": 500, "stream": 0}"#;
    let map = r#"{"action": "segment_alloc", "addr": 4096, "size": 1024, "stream": 0}"#;
    let found = kinds(&format!(
        r#"{{"segments": [{SEGMENT}], "device_traces": [[{free}, {map}]]}}"#
    ));
    assert!(
        !found
            .iter()
            .any(|kind| matches!(kind, FactKind::Skew { .. })),
        "{found:?}"
    );
}

#[test]
fn a_few_missing_stacks_are_no_gap() {
    let level = |without| {
        let kind = FactKind::NoStacks {
            without,
            before_recording: 0,
            of: 542,
        };
        words::fact(kind, Some(0), AllocatorKind::Torch).level
    };
    assert_eq!(level(1), FactLevel::Notice);
    assert_eq!(level(27), FactLevel::Notice);
    assert_eq!(level(28), FactLevel::Gap);
    assert_eq!(level(542), FactLevel::Gap);
}

#[test]
fn an_out_of_memory_event_with_its_figures() {
    let events = r#"{"action": "alloc", "addr": 4096, "size": 500, "stream": 0},
        {"action": "oom", "device_free": 100, "size": 2048, "stream": 0}"#;
    let found = kinds(&format!(
        r#"{{"segments": [{SEGMENT}], "device_traces": [[{events}]]}}"#
    ));
    let oom = FactKind::OutOfMemory {
        events: 1,
        requested_bytes: 2048,
        device_free_bytes: Some(100),
        event: 2,
    };
    assert!(found.contains(&oom), "{found:?}");
    assert!(found.contains(&FactKind::NoTimes), "{found:?}");
}
