//! Plans of small files, byte by byte.

use super::*;
use vramscope_core::analysis::recording::Recording;
use vramscope_core::decode;

fn plan_of(json: &str) -> DevicePlan {
    let recording = Recording::of(decode(json.as_bytes()).unwrap());
    let device = recording.device(0).unwrap();
    let mut planner = Planner::new(device);
    let first = bars(planner.plan());
    assert!(!planner.plan().is_done);
    while !planner.run(device, &mut || true) {}
    let plan = planner.plan().clone();
    assert_eq!(first, bars(&plan)[..1], "there from the start");
    plan
}

fn bars(plan: &DevicePlan) -> Vec<(StepKind, u64, i64)> {
    plan.steps
        .iter()
        .map(|step| (step.kind, step.bytes, step.change_bytes))
        .collect()
}

const TWO_STREAMS: &str = r#"{"segments": [
    {"device": 0, "address": 2097152, "total_size": 2097152, "stream": 0, "segment_type": "small", "blocks": [
        {"address": 2097152, "size": 2097152, "requested_size": 0, "state": "inactive"}]},
    {"device": 0, "address": 8388608, "total_size": 2097152, "stream": 7, "segment_type": "small", "blocks": [
        {"address": 8388608, "size": 2097152, "requested_size": 0, "state": "inactive"}]}],
    "device_traces": [[
    {"action": "segment_alloc", "addr": 2097152, "size": 2097152, "stream": 0},
    {"action": "alloc", "addr": 2097152, "size": 1000, "stream": 0},
    {"action": "free_requested", "addr": 2097152, "size": 1000, "stream": 0},
    {"action": "free_completed", "addr": 2097152, "size": 1000, "stream": 0},
    {"action": "segment_alloc", "addr": 8388608, "size": 2097152, "stream": 7},
    {"action": "alloc", "addr": 8388608, "size": 1500, "stream": 7},
    {"action": "free_requested", "addr": 8388608, "size": 1500, "stream": 7},
    {"action": "alloc", "addr": 8390656, "size": 100, "stream": 7},
    {"action": "free_completed", "addr": 8388608, "size": 1500, "stream": 7},
    {"action": "free_completed", "addr": 8390656, "size": 100, "stream": 7}]], "allocator_settings": {}}"#;

#[test]
fn each_step_adds_what_it_says() {
    let plan = plan_of(TWO_STREAMS);
    let first: Vec<_> = bars(&plan).into_iter().take(4).collect();
    assert_eq!(
        first,
        [
            (StepKind::Requested, 1600, 1600),
            (StepKind::Alignment, 2048, 448),
            (StepKind::Separation, 3072, 1024),
            (StepKind::Placement, 3072, 0),
        ]
    );
    // The model places two of three allocations correctly, too few to show its bars.
    let rest: Vec<_> = bars(&plan).into_iter().skip(4).collect();
    assert_eq!(rest, [(StepKind::Kept, 4 << 20, (4 << 20) - 3072)]);
    assert_eq!(plan.largest_step(), Some(4));
    assert_eq!(plan.above_lowest_bytes(), Some(0));
    assert_eq!(plan.pools_bytes(), Some(3072));
    assert_eq!(plan.share_of_real(1 << 20), Some(0.25));
    let waiting = Waiting {
        most_bytes: 1500,
        at_peak_bytes: 1500,
        peak_without_bytes: 1500,
    };
    assert_eq!(plan.waiting, waiting);
    let arenas: Vec<_> = plan
        .arenas
        .iter()
        .map(|arena| {
            (
                arena.label.as_str(),
                arena.buffers,
                arena.requested_bytes,
                arena.aligned_bytes,
                arena.reserved_bytes,
            )
        })
        .collect();
    assert_eq!(
        arenas,
        [
            ("default pool, stream 1", 2, 1600, 2048, Some(2 << 20)),
            ("default pool, default stream", 1, 1000, 1024, Some(2 << 20)),
        ]
    );
}

#[test]
fn a_state_alone_says_what_it_can() {
    let plan = plan_of(
        r#"{"segments": [{"device": 0, "address": 2097152, "total_size": 2097152, "stream": 0, "blocks": [
        {"address": 2097152, "size": 1024, "requested_size": 700, "state": "active_allocated"},
        {"address": 2098176, "size": 2096128, "requested_size": 0, "state": "inactive"}]}], "device_traces": [], "allocator_settings": {}}"#,
    );
    assert_eq!(
        bars(&plan),
        [
            (StepKind::Requested, 700, 700),
            (StepKind::Alignment, 1024, 324),
            (StepKind::Separation, 1024, 0),
            (StepKind::Placement, 1024, 0),
            (StepKind::Kept, 2 << 20, (2 << 20) - 1024),
        ]
    );
    assert!(plan.no_model.as_deref().unwrap().contains("no trace"));
}

#[test]
fn nothing_is_a_plan_too() {
    let plan = plan_of(r#"{"segments": [], "device_traces": [[]]}"#);
    assert!(plan.arenas.is_empty());
    assert_eq!(plan.steps.iter().map(|step| step.bytes).sum::<u64>(), 0);
}
