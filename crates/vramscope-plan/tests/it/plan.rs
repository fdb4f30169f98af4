//! Plans of all files and of random ones: bars that ascend and add up, packings that hold, and the peaks of an obvious
//! reference.

use std::collections::BTreeMap;

use proptest::prelude::*;
use vramscope_core::analysis::memory::allocator_state::{AllocatorIndex, Recording};
use vramscope_core::analysis::memory::capture::AllocatorKind;
use vramscope_core::analysis::report::overview::SegmentsKnown;
use vramscope_core::analysis::time::byte_steps::most_bytes;
use vramscope_core::analysis::time::history::{History, NEVER};
use vramscope_core::ids::AllocationId;
use vramscope_core::{Snapshot, decode};
use vramscope_plan::packing::{lower_bound, verify};
use vramscope_plan::what_if::{Baseline, Verdict, WhatIf, baseline};
use vramscope_plan::{DevicePlan, Planner, StepKind};
use vramscope_synth::files::all_files;
use vramscope_synth::pickle::Dialect;
use vramscope_synth::random::{config, nonsense, run, steps};
use vramscope_synth::snapshot::{Producer, WriteOptions};

use crate::support::{Device, decoded};

/// Slices of work after which searching ends.
const SLICES: usize = 50;

/// Plans each device in slices and looks at every stage.
fn check(name: &str, snapshot: &Snapshot) {
    for device in snapshot.devices() {
        let history = History::of(snapshot, device);
        let device = Device::of(snapshot, &history);
        let recording = device.recording();
        let index = AllocatorIndex::of(recording);
        let mut planner = Planner::new(recording, &index);
        check_problems(name, recording, &index, &planner);
        let mut slices = 0;
        while !planner.plan().has_all_bars || !planner.plan().is_done && slices < SLICES {
            let mut asked = 0;
            let before = planner.plan().clone();
            planner.run(recording, &mut || {
                asked += 1;
                asked > 100
            });
            check_steps(name, &planner, &history);
            let packed = |plan: &DevicePlan| plan.bytes(StepKind::Placement);
            if let (Some(before), Some(after)) = (packed(&before), packed(planner.plan())) {
                assert!(after <= before, "{name}: a packing gets higher");
            }
            slices += 1;
            assert!(slices < 1_000_000, "{name}: it never ends");
        }
        check_modelled(name, &planner);
        for (problem, found) in planner.problems().iter().enumerate() {
            let packed = planner.packed(problem).unwrap();
            // What is larger than all addresses together has no problem.
            if packed.packing.height == u64::MAX {
                continue;
            }
            assert_eq!(verify(&found.problem, &packed.packing), Ok(()), "{name}");
            assert!(packed.packing.height >= found.rounded_bytes, "{name}");
        }
        let json = serde_json::to_string(planner.plan()).unwrap();
        assert_eq!(
            &serde_json::from_str::<DevicePlan>(&json).unwrap(),
            planner.plan()
        );
    }
}

fn check_steps(name: &str, planner: &Planner, history: &History) {
    let plan = planner.plan();
    let mut before = 0;
    for step in &plan.steps {
        assert_eq!(
            step.bytes.cast_signed(),
            before + step.change_bytes,
            "{name}: {:?} adds up",
            step.kind
        );
        assert!(
            step.change_bytes >= 0 || step.kind.may_shrink(),
            "{name}: {:?} shrinks",
            step.kind
        );
        assert!(!step.why.is_empty(), "{name}: {:?} says why", step.kind);
        before = step.bytes.cast_signed();
    }
    assert!(
        plan.steps
            .windows(2)
            .all(|pair| pair[0].kind < pair[1].kind),
        "{name}: each once, in order"
    );
    let most = |bytes: u64| bytes.min(i64::MAX.unsigned_abs());
    // Sums of a hostile file's bytes wrap there.
    if history.active_bytes.iter().all(|&bytes| bytes < 1 << 62) && plan.steps[0].bytes < 1 << 62 {
        let peak = history.active_bytes_at(history.peak_moment);
        assert_eq!(plan.steps[0].bytes, peak, "{name}: what the history says");
    }
    let reserved = history.most_reserved_bytes();
    let last = plan.steps.last().unwrap();
    if plan.segments == SegmentsKnown::Real {
        assert_eq!(last.bytes, most(reserved), "{name}: what was reserved");
        assert!(matches!(last.kind, StepKind::Model | StepKind::Kept));
    } else {
        assert!(
            last.kind <= StepKind::Placement,
            "{name}: what is not known is not shown"
        );
        assert!(plan.no_model.is_some());
    }
    assert!(plan.waiting.at_peak_bytes <= plan.waiting.most_bytes);
    assert!(most(plan.waiting.peak_without_bytes) <= plan.steps[0].bytes);
}

/// The model's peaks of places, beside the device's.
fn check_modelled(name: &str, planner: &Planner) {
    let modelled: Option<Vec<u64>> = (planner.plan().arenas.iter())
        .map(|arena| arena.modelled_bytes)
        .collect();
    let (Some(baseline), Some(modelled)) = (planner.baseline(), modelled) else {
        assert!(planner.plan().no_model.is_some(), "{name}");
        return;
    };
    let own = &baseline.own;
    let of_arenas = own.arenas.iter().map(|arena| arena.peak_reserved_bytes);
    assert_eq!(
        sum(of_arenas),
        sum(modelled.into_iter()),
        "{name}: each of the model's places is one of the plan's"
    );
    assert_arenas(name, own);
}

/// A device needs no less than each place, and no more than all places.
fn assert_arenas(name: &str, row: &WhatIf) {
    let peaks = row.arenas.iter().map(|arena| arena.peak_reserved_bytes);
    let device = row.peak_reserved_bytes;
    assert!(
        peaks.clone().all(|bytes| bytes <= device),
        "{name}: {row:?}"
    );
    assert!(u128::from(device) <= sum(peaks), "{name}: {row:?}");
}

fn sum(bytes: impl Iterator<Item = u64>) -> u128 {
    bytes.map(u128::from).sum()
}

/// The places against an obvious reference: each allocation looked at, at each birth.
fn check_problems(name: &str, recording: Recording<'_>, index: &AllocatorIndex, planner: &Planner) {
    let table = &recording.history.allocations;
    let problems = planner.problems();
    let mut seen: Vec<AllocationId> = problems
        .iter()
        .flat_map(|arena| arena.allocations.clone())
        .collect();
    seen.sort_unstable();
    let all: Vec<_> = (0..table.len()).map(AllocationId::from_index).collect();
    assert_eq!(seen, all, "{name}: every allocation is in one place");
    assert!(
        problems
            .windows(2)
            .all(|pair| pair[0].rounded_bytes >= pair[1].rounded_bytes)
    );
    let mut keys = BTreeMap::new();
    for problem in problems {
        assert_eq!(
            keys.insert(problem.key, ()),
            None,
            "{name}: each place once"
        );
        assert_eq!(
            lower_bound(&problem.problem),
            problem.rounded_bytes,
            "{name}"
        );
        assert!(problem.requested_bytes <= problem.rounded_bytes, "{name}");
        if AllocatorKind::of(recording.snapshot) == AllocatorKind::Driver {
            assert_eq!(problem.key.stream, None);
        }
        for (buffer, id) in problem.allocations.iter().enumerate() {
            let row = id.index();
            assert_eq!(problem.problem.lower[buffer], u64::from(table.born[row]));
            let is_last = table.died[row] == NEVER;
            let end = if is_last {
                recording.history.event_count + 1
            } else {
                table.died[row]
            };
            assert_eq!(problem.problem.upper[buffer], u64::from(end));
            assert_eq!(
                problem.problem.size[buffer],
                index.sizes.rounded(table.bytes[row])
            );
        }
        if problem.allocations.len() <= 200 {
            assert_eq!(
                problem.requested_bytes,
                naive_peak(recording, &problem.allocations),
                "{name}"
            );
        }
    }
}

fn naive_peak(recording: Recording<'_>, allocations: &[AllocationId]) -> u64 {
    let table = &recording.history.allocations;
    let live = |moment: u32| {
        let live = allocations
            .iter()
            .filter(|&&id| recording.history.is_live(id, moment));
        live.map(|id| u128::from(table.bytes[id.index()]))
            .sum::<u128>()
    };
    let peak = allocations
        .iter()
        .map(|id| live(table.born[id.index()]))
        .max();
    u64::try_from(peak.unwrap_or(0)).unwrap_or(u64::MAX)
}

#[test]
fn plans_of_all_files() {
    for file in all_files() {
        check(&file.name, &decoded(&file));
    }
}

#[test]
fn the_drivers_pools_serve_all_streams() {
    let file = |capture: &str| {
        let text = format!(
            r#"{{"segments": [{{"device": 0, "address": 0, "total_size": 2097152, "stream": 0, "blocks": []}}],
            "device_traces": [[
            {{"action": "alloc", "addr": 4096, "size": 512, "stream": 0}},
            {{"action": "free_completed", "addr": 4096, "size": 512, "stream": 0}},
            {{"action": "alloc", "addr": 4096, "size": 512, "stream": 7}}]],
            "allocator_settings": {{}}{capture}}}"#
        );
        decode(text.as_bytes()).unwrap()
    };
    let of = |snapshot: &Snapshot| {
        check("two streams", snapshot);
        let history = History::of(snapshot, 0);
        let device = Device::of(snapshot, &history);
        let recording = device.recording();
        let plan = Planner::new(recording, &AllocatorIndex::of(recording))
            .plan()
            .clone();
        let texts = plan
            .steps
            .iter()
            .map(|step| format!("{} {}", step.why, step.advice));
        (plan.bytes(StepKind::Separation), texts.collect::<String>())
    };
    assert_eq!(of(&file("")).0, Some(1024));
    let (separate, texts) = of(&file(r#", "capture": {"tool": "t"}"#));
    assert_eq!(separate, Some(512));
    for word in [
        "PyTorch",
        "torch",
        "expandable",
        "empty_cache",
        "record_stream",
    ] {
        assert!(
            !texts.contains(word),
            "no advice for PyTorch: {word} in {texts}"
        );
    }
}

#[test]
fn what_ifs_of_all_files() {
    for file in all_files() {
        let snapshot = decoded(&file);
        for device in snapshot.devices() {
            let history = History::of(&snapshot, device);
            let device = Device::of(&snapshot, &history);
            let recording = device.recording();
            let known = SegmentsKnown::in_recording(recording, &AllocatorIndex::of(recording));
            let Ok(baseline) = baseline(recording, known) else {
                continue;
            };
            assert_eq!(baseline.own.change_bytes, 0);
            let wrong = baseline.what_if(recording, "expandable_segments:perhaps");
            assert!(
                wrong.unwrap_err().contains("True or False"),
                "{}",
                file.name
            );
            if baseline.refusal.is_some() {
                assert!(
                    baseline
                        .what_if(recording, "expandable_segments:True")
                        .is_err()
                );
                continue;
            }
            check_what_ifs(&file.name, recording, &baseline);
        }
    }
}

fn check_what_ifs(name: &str, recording: Recording<'_>, baseline: &Baseline) {
    let own = baseline.own.peak_reserved_bytes;
    for changes in &baseline.suggestions {
        let row = baseline.what_if(recording, changes).unwrap();
        let change = row.peak_reserved_bytes.cast_signed() - own.cast_signed();
        assert_eq!(row.change_bytes, change, "{name}: {changes}");
        assert_arenas(name, &row);
        assert_eq!(
            most_bytes(&row.reserved_steps),
            row.peak_reserved_bytes,
            "{name}: {changes}"
        );
    }
    // With no more than it is said to need, nothing is refused; with less than is live, something is.
    let limited = |bytes| baseline.what_if(recording, &format!("capacity={bytes}"));
    let enough = limited(own).unwrap();
    assert!(enough.refused <= baseline.own.refused.max(1), "{name}");
    check_close_ones(name, baseline, &limited);
    let history = recording.history;
    let live = history.active_bytes_at(history.peak_moment);
    if live > 1 {
        let little = limited(live / 2).unwrap();
        assert!(
            little.refused > 0 && little.first_refused.is_some(),
            "{name}"
        );
    }
}

/// What fits is sure only by more than the model may be wrong by.
fn check_close_ones(
    name: &str,
    baseline: &Baseline,
    limited: &dyn Fn(u64) -> Result<WhatIf, String>,
) {
    let (own, error) = (&baseline.own, baseline.error.largest_bytes());
    let room = own.peak_reserved_bytes + error;
    let sure = limited(room).unwrap();
    assert!(
        sure.refused > 0 || sure.refused_within_error.is_none(),
        "{name}"
    );
    assert!(
        sure.refused > 0 || sure.verdict != Verdict::TooClose,
        "{name}"
    );
    let is_close = |row: &WhatIf| row.verdict == Verdict::TooClose;
    // Below what is live with as much less to have, nothing can fit.
    if let Some(least) = own.peak_reserved_bytes.checked_sub(own.free_bytes_at_peak)
        && own.refused == 0
        && 0 < error
        && error < least
    {
        let row = limited(least + error - 1).unwrap();
        assert!(
            is_close(&row) || row.verdict == Verdict::OutOfMemory,
            "{name}: {row:?}"
        );
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn plans_of_random_programs(steps in steps(), expandable: bool, forget in 0..40_usize) {
        let model = run(&steps, expandable, forget);
        let bytes = model.to_pickle(&WriteOptions::new(Producer::Python(2, 15)));
        check("random program", &decode(&bytes[..]).unwrap());
    }

    #[test]
    fn plans_of_nonsense(model in nonsense(), protocol in 0..=5_u8) {
        let options = WriteOptions { dialect: Dialect::Python(protocol), ..WriteOptions::new(Producer::Python(2, 15)) };
        if let Ok(snapshot) = decode(&model.to_pickle(&options)[..]) {
            check("nonsense", &snapshot);
        }
    }
}
