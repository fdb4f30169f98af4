//! Lanes, marks, capacities and pools of every file: nothing is lost, and sums agree.

use vramscope_core::analysis::memory::private_pools::private_pools;
use vramscope_core::analysis::memory::segment_history::SegmentHistory;
use vramscope_core::analysis::report::findings::FindingKind;
use vramscope_core::analysis::report::overview::overview;
use vramscope_core::analysis::time::annotations::named_ranges;
use vramscope_core::analysis::time::history::History;
use vramscope_core::analysis::time::lanes::{LaneKind, Lanes, StepsBy, steps};
use vramscope_core::analysis::time::markers::{MarkerKind, Markers, marker};
use vramscope_core::analysis::time::range_totals::RangeSums;
use vramscope_synth::files::{all_files, fixtures_in, real_files};

use crate::support::{decoded, recorded};

#[test]
fn no_annotation_is_lost() {
    for file in all_files() {
        let snapshot = decoded(&file);
        let ranges = named_ranges(&snapshot);
        for device in snapshot.devices() {
            let history = History::of(&snapshot, device);
            let lanes = Lanes::of(&snapshot, &history);
            let own = |range: &&_| is_of(range, device);
            let annotated: usize = [LaneKind::Annotations, LaneKind::Internal]
                .map(|kind| lanes.of_kind(kind).map(|lane| lane.len()).sum::<usize>())
                .iter()
                .sum();
            let counted = annotated as u64 + lanes.outside + lanes.unplaced;
            assert_eq!(
                counted as usize,
                ranges.iter().filter(own).count(),
                "{}",
                file.name
            );
            let sums = RangeSums::of(&history);
            for range in lanes
                .lanes
                .iter()
                .flat_map(|lane| lane.rows.iter().flatten())
            {
                assert!(
                    range.from <= range.to && range.to <= history.event_count,
                    "{}",
                    file.name
                );
                let totals = sums.totals(&history, range.moments());
                let after = totals.before_bytes + totals.allocated_bytes - totals.freed_bytes;
                assert_eq!(after, totals.after_bytes, "{}", file.name);
                assert!(totals.peak_bytes >= totals.before_bytes.max(totals.after_bytes));
            }
            if let Some(steps) = steps(&snapshot, &history, &lanes, &sums) {
                let apart = |pair: &[vramscope_core::analysis::time::lanes::Step]| {
                    pair[0].moments.1 <= pair[1].moments.0
                };
                assert!(!steps.steps.is_empty() && steps.steps.windows(2).all(apart));
            }
        }
    }
}

fn is_of(range: &vramscope_core::analysis::time::annotations::NamedRange, device: u32) -> bool {
    range.device < 0 || u32::try_from(range.device) == Ok(device)
}

#[test]
fn marks_are_the_events_of_their_kind() {
    for file in all_files() {
        let snapshot = decoded(&file);
        for device in snapshot.devices() {
            let history = History::of(&snapshot, device);
            let markers = Markers::of(&snapshot, &history);
            let mut reserved = history.reserved_bytes(0);
            let moments =
                (1..=history.event_count).filter_map(|at| marker(&snapshot, &history, at));
            let mut counts = [0_usize; MarkerKind::ALL.len()];
            for mark in moments {
                counts[mark.kind as usize] += 1;
                match mark.kind {
                    MarkerKind::SegmentAlloc | MarkerKind::SegmentMap => reserved += mark.bytes,
                    MarkerKind::SegmentFree | MarkerKind::SegmentUnmap => reserved -= mark.bytes,
                    _ => {}
                }
                assert_eq!(
                    history.reserved_bytes(mark.moment),
                    reserved,
                    "{}",
                    file.name
                );
            }
            let columns = MarkerKind::ALL.map(|kind| markers.column(kind).len());
            assert_eq!(columns, counts, "{}", file.name);
        }
    }
}

#[test]
fn pools_hold_no_more_than_the_device() {
    let mut seen = 0;
    for file in all_files() {
        let snapshot = decoded(&file);
        for device in snapshot.devices() {
            let history = History::of(&snapshot, device);
            let segments = SegmentHistory::of(&snapshot, &history);
            let uses = private_pools(&snapshot, &history, &segments);
            seen += uses.len();
            for moment in (0..=history.event_count).step_by(7) {
                let reserved: u64 = uses.iter().map(|pool| pool.reserved_bytes(moment)).sum();
                let active: u64 = uses.iter().map(|pool| pool.active_bytes(moment)).sum();
                assert!(
                    active <= history.active_bytes[moment as usize],
                    "{}",
                    file.name
                );
                assert!(reserved <= history.reserved_bytes(moment), "{}", file.name);
            }
        }
    }
    assert!(seen > 10, "some fixtures have private pools: {seen}");
}

#[test]
fn a_failed_allocation_tells_the_capacity() {
    for version in ["torch-2.0.1", "torch-2.10.0", "torch-2.15.0"] {
        let files = fixtures_in(version);
        let file = files
            .iter()
            .find(|file| file.name.contains("oom_after"))
            .unwrap();
        let recording = recorded(file);
        let device = recording.device(0).unwrap();
        let found = device.capacity().unwrap();
        assert!(
            found.bytes >= device.history.reserved_bytes(0),
            "{}",
            file.name
        );
    }
}

#[test]
fn steps_of_files_with_optimizer_annotations() {
    for file in real_files() {
        let snapshot = decoded(&file);
        let Some(&device) = snapshot.devices().first() else {
            continue;
        };
        let history = History::of(&snapshot, device);
        let found = steps(
            &snapshot,
            &history,
            &Lanes::of(&snapshot, &history),
            &RangeSums::of(&history),
        );
        let has_steps = ["Wuyh11", "aimetrics"]
            .iter()
            .any(|name| file.name.starts_with(name));
        if has_steps {
            let found = found.unwrap();
            assert_eq!(found.by, StepsBy::Optimizer, "{}", file.name);
            assert_eq!(found.pattern, "Optimizer.step#AdamW.step");
        }
    }
}

/// Three steps with neither annotations nor times, whose line 11 keeps its memory. The second device's program does not.
#[test]
fn a_leak_without_annotations_is_found() {
    for file in real_files() {
        if !file.name.starts_with("codeasier") {
            continue;
        }
        let recording = recorded(&file);
        for device in recording.devices() {
            let found = overview(device, 10).findings;
            let growth = found
                .iter()
                .find(|finding| finding.kind == FindingKind::Growth);
            let title = growth.map(|finding| finding.title.as_str());
            let leak = "Live memory grows by 40.0 MiB per step, at test/memory_leaks_demo.py:11 train_one_step";
            assert_eq!(
                title,
                (device.index() == 0).then_some(leak),
                "{}",
                file.name
            );
            let steps = device.steps().unwrap();
            assert_eq!(steps.by, StepsBy::InferredOptimizer);
            assert_eq!(steps.steps.len(), 4);
            let lanes = device.lanes().of_kind(LaneKind::Inferred);
            assert_eq!(lanes.map(|lane| lane.len()).sum::<usize>(), 9);
        }
    }
}
