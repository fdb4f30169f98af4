//! Plans of all files and of random ones: bars that ascend and add up, valid packings, and the peaks of an obvious
//! reference.

use std::collections::BTreeMap;

use proptest::prelude::*;
use vramscope_core::analysis::memory::capture::AllocatorKind;
use vramscope_core::analysis::recording::{Device, Recording};
use vramscope_core::analysis::report::overview::SegmentsKnown;
use vramscope_core::analysis::time::byte_steps::most_bytes;
use vramscope_core::analysis::time::history::{History, NEVER};
use vramscope_core::decode;
use vramscope_core::ids::AllocationId;
use vramscope_plan::packing::{lower_bound, verify};
use vramscope_plan::what_if::{Baseline, Verdict, WhatIf, baseline};
use vramscope_plan::{DevicePlan, Planner, StepKind};
use vramscope_synth::files::all_files;
use vramscope_synth::pickle::Dialect;
use vramscope_synth::random::{config, nonsense, run, steps};
use vramscope_synth::snapshot::{Producer, WriteOptions};

use crate::recorded;

/// Slices of work after which searching ends.
const SLICES: usize = 50;

/// Plans each device in slices, and checks every stage.
fn check(name: &str, recording: &Recording) {
    for device in recording.devices() {
        let mut planner = Planner::new(device);
        check_steps_from_the_start(name, &planner, device.history);
        let mut slices = 0;
        while !planner.plan().has_all_bars || !planner.plan().is_done && slices < SLICES {
            let mut asked = 0;
            let before = planner.plan().clone();
            planner.run(device, &mut || {
                asked += 1;
                asked > 100
            });
            check_steps(name, &planner, device.history);
            let packed = |plan: &DevicePlan| plan.bytes(StepKind::Placement);
            if let (Some(before), Some(after)) = (packed(&before), packed(planner.plan())) {
                assert!(after <= before, "{name}: a packing gets higher");
            }
            slices += 1;
            assert!(slices < 1_000_000, "{name}: it never ends");
        }
        check_problems(name, device, &planner);
        check_modelled(name, &planner);
        for (problem, found) in planner.problems().iter().enumerate() {
            let packed = planner.packed(problem).unwrap();
            // A packing larger than the address space has no problem.
            if packed.packing.height == u64::MAX {
                continue;
            }
            assert_eq!(verify(&found.problem, &packed.packing), Ok(()), "{name}");
            assert!(packed.packing.height >= found.aligned_bytes, "{name}");
        }
        let json = serde_json::to_string(planner.plan()).unwrap();
        assert_eq!(
            &serde_json::from_str::<DevicePlan>(&json).unwrap(),
            planner.plan()
        );
    }
}

/// Before any work, only the first bar is known.
fn check_steps_from_the_start(name: &str, planner: &Planner, history: &History) {
    let bytes = planner.plan().steps.iter().map(|step| step.bytes);
    let peak = history.peak_bytes().min(i64::MAX.unsigned_abs());
    assert_eq!(bytes.collect::<Vec<_>>(), [peak], "{name}");
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

/// The model's peaks of pools and streams, compared with the device's.
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

/// A device needs at least as much as each of its pools and streams, and at most as much as all together.
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

/// The problems compared with an obvious reference that visits each allocation at each birth.
fn check_problems(name: &str, device: Device<'_>, planner: &Planner) {
    let table = &device.history.allocations;
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
            .all(|pair| pair[0].aligned_bytes >= pair[1].aligned_bytes)
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
            problem.aligned_bytes,
            "{name}"
        );
        assert!(problem.requested_bytes <= problem.aligned_bytes, "{name}");
        if AllocatorKind::of(device.snapshot()) == AllocatorKind::Driver {
            assert_eq!(problem.key.stream, None);
        }
        for (buffer, id) in problem.allocations.iter().enumerate() {
            let row = id.index();
            assert_eq!(problem.problem.lower[buffer], u64::from(table.born[row]));
            let is_last = table.died[row] == NEVER;
            let end = if is_last {
                device.history.event_count + 1
            } else {
                table.died[row]
            };
            assert_eq!(problem.problem.upper[buffer], u64::from(end));
            assert_eq!(
                problem.problem.size[buffer],
                device.block_sizes().aligned(table.bytes[row])
            );
        }
        if problem.allocations.len() <= 200 {
            assert_eq!(
                problem.requested_bytes,
                naive_peak(device, &problem.allocations),
                "{name}"
            );
        }
    }
}

fn naive_peak(device: Device<'_>, allocations: &[AllocationId]) -> u64 {
    let table = &device.history.allocations;
    let live = |moment: u32| {
        let live = allocations
            .iter()
            .filter(|&&id| device.history.is_live(id, moment));
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
        check(&file.name, &recorded(&file));
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
        Recording::of(decode(text.as_bytes()).unwrap())
    };
    let of = |recording: &Recording| {
        check("two streams", recording);
        let device = recording.device(0).unwrap();
        let mut planner = Planner::new(device);
        while planner.plan().bytes(StepKind::Separation).is_none() {
            planner.run(device, &mut || true);
        }
        let plan = planner.plan().clone();
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
        for device in recorded(&file).devices() {
            let Ok(baseline) = baseline(device) else {
                continue;
            };
            let error_bytes = baseline.error.from_empty_error_bytes;
            assert_eq!(baseline.own.change_bytes, error_bytes);
            let wrong = baseline.what_if(device, "expandable_segments:perhaps");
            assert!(
                wrong.unwrap_err().contains("True or False"),
                "{}",
                file.name
            );
            if baseline.refusal.is_some() {
                let refused = baseline.what_if(device, "expandable_segments:True");
                assert!(refused.is_err());
                continue;
            }
            check_what_ifs(&file.name, device, &baseline);
        }
    }
}

fn check_what_ifs(name: &str, device: Device<'_>, baseline: &Baseline) {
    let own = baseline.own.peak_reserved_bytes;
    for changes in &baseline.suggestions {
        let row = baseline.what_if(device, changes).unwrap();
        let measured = baseline.error.reserved_bytes.cast_signed();
        let change = row.peak_reserved_bytes.cast_signed() - measured;
        assert_eq!(row.change_bytes, change, "{name}: {changes}");
        assert_arenas(name, &row);
        assert_eq!(
            most_bytes(&row.reserved_steps),
            row.peak_reserved_bytes,
            "{name}: {changes}"
        );
    }
    // With the stated need as capacity nothing is refused; with less than the live bytes something is.
    let limited = |bytes| baseline.what_if(device, &format!("capacity={bytes}"));
    let enough = limited(own).unwrap();
    assert!(enough.refused <= baseline.own.refused.max(1), "{name}");
    check_close_ones(name, baseline, &limited);
    let history = device.history;
    let live = history.active_bytes_at(history.peak_moment);
    if live > 1 {
        let little = limited(live / 2).unwrap();
        assert!(
            little.refused > 0 && little.first_refused.is_some(),
            "{name}"
        );
    }
}

/// Whether something fits is certain only beyond the model's error.
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
    // With a capacity that is below the live bytes by that much, nothing can fit.
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
        check("random program", &Recording::of(decode(&bytes[..]).unwrap()));
    }

    #[test]
    fn plans_of_nonsense(model in nonsense(), protocol in 0..=5_u8) {
        let options = WriteOptions { dialect: Dialect::Python(protocol), ..WriteOptions::new(Producer::Python(2, 15)) };
        if let Ok(snapshot) = decode(&model.to_pickle(&options)[..]) {
            check("nonsense", &Recording::of(snapshot));
        }
    }
}
