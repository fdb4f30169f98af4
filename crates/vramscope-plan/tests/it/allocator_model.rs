//! The allocator model compared with torch: one program under many settings, recorded over fakecuda by
//! `tests/make/allocator.py`, the other fixtures, and real files.

use std::collections::BTreeMap;

use proptest::prelude::*;
use vramscope_core::analysis::recording::{Device, Recording};
use vramscope_core::analysis::time::byte_steps::most_bytes;
use vramscope_core::model::Action;
use vramscope_plan::allocator_model::{Check, ModelSettings, Start, check, replay};
use vramscope_synth::files;

use crate::recorded;

/// A recorded run of `allocator.py`.
struct TorchRun {
    name: String,
    recording: Recording,
}

impl TorchRun {
    fn device(&self) -> Device<'_> {
        self.recording.device(0).unwrap()
    }

    /// Its settings with the device it had, which no file states.
    fn settings(&self) -> ModelSettings {
        let is_small = self.name.starts_with("pressure") && !self.name.contains("fraction");
        let mut changes = format!("capacity={}MiB", if is_small { 420 } else { 8192 });
        for (name, share) in [("collected", "0.08"), ("pressure_fraction", "0.05")] {
            if self.name.starts_with(name) {
                changes += &format!(",per_process_memory_fraction:{share}");
            }
        }
        let settings = ModelSettings::of(&self.recording.snapshot);
        settings.with_changes(&changes).unwrap()
    }

    /// Each request and free: action, bytes, and the moment after it.
    fn calls(&self) -> Vec<(Action, u64, u32)> {
        let (events, history) = (&self.recording.snapshot.events, self.device().history);
        let first = history.first_event as usize;
        let rows = (first..).take(history.event_count as usize).zip(1..);
        let calls = rows.map(|(row, moment)| (events.action[row], events.size[row], moment));
        let wanted = [Action::Alloc, Action::FreeRequested, Action::Oom];
        calls.filter(|call| wanted.contains(&call.0)).collect()
    }
}

fn runs() -> BTreeMap<String, TorchRun> {
    let runs = files::fixtures_in("allocator").into_iter().map(|file| {
        let name = file.name.trim_start_matches("allocator/");
        let name = name.trim_end_matches(".pickle.zst").to_owned();
        let recording = recorded(&file);
        (name.clone(), TorchRun { name, recording })
    });
    runs.collect()
}

/// Replays one run's program under the settings of another: the reserved bytes after each call, and the refused requests,
/// must match that run.
fn foretell(from: &TorchRun, to: &TorchRun) {
    let really_reserved = to.device().history;
    let outcome = replay(from.device(), &to.settings(), Start::Afresh);
    let what = format!("{} from {}", to.name, from.name);
    let is_request = |&(action, ..): &(Action, u64, u32)| action != Action::FreeRequested;
    let (asked, really) = (from.calls(), to.calls());
    let refused: Vec<u32> = outcome
        .refused
        .iter()
        .map(|refused| refused.moment)
        .collect();
    let requests: Vec<_> = asked.iter().filter(|call| is_request(call)).collect();
    let real_requests: Vec<_> = really.iter().filter(|call| is_request(call)).collect();
    assert_eq!(requests.len(), real_requests.len(), "{what}");
    for (call, real) in requests.into_iter().zip(&real_requests) {
        let is_refused = refused.binary_search(&call.2).is_ok();
        assert_eq!(
            is_refused,
            real.0 == Action::Oom,
            "{what}: request of {} at {}",
            call.1,
            call.2
        );
        let (foretold, real) = (
            outcome.reserved_bytes(call.2),
            really_reserved.reserved_bytes(real.2),
        );
        assert_eq!(foretold, real, "{what}: reserved at {}", call.2);
    }
    let peak = real_requests
        .iter()
        .map(|call| really_reserved.reserved_bytes(call.2))
        .max();
    assert!(
        outcome.peak_reserved_bytes >= peak.unwrap()
            && outcome.peak_reserved_bytes <= really_reserved.most_reserved_bytes(),
        "{what}"
    );
}

/// The proof of what-ifs: every setting predicted from the recording under every other.
#[test]
fn torch_under_other_settings_is_foretold() {
    let runs = runs();
    // If requests were refused, their frees are missing.
    let complete = |run: &&TorchRun| run.calls().iter().all(|call| call.0 != Action::Oom);
    let sources: Vec<_> = runs.values().filter(complete).collect();
    assert!(sources.len() >= 12 && runs.len() >= 18);
    for to in runs.values() {
        sources.iter().for_each(|from| foretell(from, to));
        foretell(to, to);
    }
}

#[track_caller]
fn assert_full(name: &str, check: &Check) {
    assert!(
        check.allocs.is_full()
            && check.segment_events.is_full()
            && check.extra_segment_events == 0
            && check.final_segments.is_full()
            && check.final_blocks.is_full(),
        "{name}: {check:?}"
    );
}

#[test]
fn every_event_of_torchs_own_runs() {
    for run in runs().values() {
        let check = check(run.device(), &run.settings());
        assert_full(&run.name, &check);
        assert_eq!(check.differences, BTreeMap::new(), "{}", run.name);
        assert!(check.peak_error().abs() < 1e-9, "{}: {check:?}", run.name);
    }
}

#[test]
fn every_event_of_older_versions() {
    let mut compared = 0;
    for file in files::fixtures() {
        if !file.name.starts_with("torch-") {
            continue;
        }
        let recording = recorded(&file);
        let refusal = ModelSettings::refusal(&recording.snapshot);
        let device = recording.device(0).filter(|_| refusal.is_none());
        let Some(device) = device.filter(|device| device.history.event_count >= 2) else {
            continue;
        };
        let check = check(device, &ModelSettings::of_device(device));
        compared += 1;
        assert_full(&file.name, &check);
    }
    assert!(compared > 60);
}

/// How closely the model follows real programs. The docs of `allocator_model` have the table.
#[test]
fn real_files() {
    for file in files::real_files() {
        let recording = recorded(&file);
        let refusal = ModelSettings::refusal(&recording.snapshot);
        let device = recording.device(0).filter(|_| refusal.is_none());
        let is_made_up = file.name.contains("mosaic") || file.name.contains("emulated");
        let Some(device) = device.filter(|device| device.history.event_count >= 2) else {
            println!("{}: nothing to replay", file.name);
            continue;
        };
        let settings = ModelSettings::of_device(device);
        let check = check(device, &settings);
        println!(
            "{}: {}; addresses {}/{}, segment events {}/{}, segments {}/{}, blocks {}/{}, peak {:+.2} %",
            file.name,
            settings.conf(),
            check.allocs.agreeing,
            check.allocs.recorded,
            check.segment_events.agreeing,
            check.segment_events.recorded,
            check.final_segments.agreeing,
            check.final_segments.recorded,
            check.final_blocks.agreeing,
            check.final_blocks.recorded,
            check.peak_error() * 100.0
        );
        if file.name.starts_with("Wedsonlin__") {
            // Ten allocations lie elsewhere in the model; the reason is not known yet.
            assert_eq!(
                (check.allocs.agreeing, check.allocs.recorded),
                (7_581, 7_591)
            );
            assert!(check.final_segments.is_full() && check.final_blocks.is_full());
        } else if !is_made_up {
            assert_full(&file.name, &check);
            assert_eq!(check.differences, BTreeMap::new(), "{}", file.name);
            // Before the recording the others had cached memory that a replay from empty does not know about.
            let is_exact = ["bolongcheng", "silmont2000"]
                .iter()
                .any(|who| file.name.contains(who));
            let most = if is_exact { f64::EPSILON } else { 0.07 };
            assert!(check.peak_error().abs() <= most, "{}", file.name);
        }
    }
}

/// Replays and checks a trace that has a segment with one block.
fn replay_nonsense(trace: &[String], start: u64, bytes: u64, is_expandable: bool) {
    let segment = format!(
        r#"{{"device": 0, "address": {start}, "total_size": {bytes}, "stream": 0, "is_expandable": {is_expandable}, "segment_type": "large",
        "blocks": [{{"address": {start}, "size": 1048576, "requested_size": 900000, "state": "active_pending_free"}}]}}"#
    );
    let file = format!(
        r#"{{"segments": [{segment}], "device_traces": [[{}]]}}"#,
        trace.join(",")
    );
    let recording = Recording::of(vramscope_core::decode(file.as_bytes()).unwrap());
    let device = recording.device(0).unwrap();
    for changes in [
        "",
        "expandable_segments:True,capacity=100MiB",
        "max_split_size_mb:20,garbage_collection_threshold:0.1,capacity=1GiB,per_process_memory_fraction:0.2",
        "roundup_power2_divisions:4",
    ] {
        let settings = ModelSettings::of_device(device)
            .with_changes(changes)
            .unwrap();
        for start in [Start::AsRecorded, Start::Afresh] {
            let outcome = replay(device, &settings, start);
            assert!(
                outcome
                    .reserved_steps
                    .is_sorted_by(|a, b| a.0 < b.0 && a.1 != b.1)
            );
            assert_eq!(
                most_bytes(&outcome.reserved_steps),
                outcome.peak_reserved_bytes
            );
            let arenas = outcome.arena_peaks.iter().map(|peak| peak.1);
            assert!(
                arenas
                    .clone()
                    .all(|bytes| bytes <= outcome.peak_reserved_bytes)
            );
            assert!(arenas.fold(0, u64::saturating_add) >= outcome.peak_reserved_bytes);
            if start == Start::Afresh {
                assert!(
                    settings
                        .capacity_bytes
                        .is_none_or(|most| outcome.peak_reserved_bytes <= most)
                );
            }
        }
        let _any = check(device, &settings);
    }
}

/// A free that waits for a release remains when the release makes the model take over the recorded state.
#[test]
fn a_taken_over_state_has_the_waiting_frees() {
    let entries = [
        ("segment_alloc", 29 << 19, 0, 0),
        ("alloc", 34 << 19, 0, 0),
        ("segment_alloc", 15 << 19, 1, 1),
        ("free_requested", 26 << 19, 1_048_577, 0),
        ("alloc", 0, 0, 0),
        ("segment_unmap", 15 << 19, 10 << 20, 0),
        ("alloc", 0, 0, 0),
        ("alloc", 0, 0, 0),
        ("segment_free", 35 << 19, 1, 0),
        ("free_completed", 26 << 19, 0, 0),
        ("oom", 0, 0, 0),
    ];
    let trace = entries.map(|(action, address, size, pool)| event(action, address, size, 0, pool));
    replay_nonsense(&trace, 35 << 19, 0, false);
}

/// An entry of a trace that no allocator would write.
fn entry() -> impl Strategy<Value = String> {
    let actions = prop::sample::select(vec![
        "alloc",
        "alloc",
        "free_requested",
        "free_completed",
        "free_completed",
        "segment_alloc",
        "segment_free",
        "segment_map",
        "segment_unmap",
        "oom",
    ]);
    let address = prop_oneof![(0_u64..40).prop_map(|n| n << 19), any::<u64>()];
    let size = prop_oneof![
        0_u64..4 << 20,
        (0_u64..30).prop_map(|n| n << 20),
        any::<u64>()
    ];
    (actions, address, size, 0_i64..3, 0_u64..2).prop_map(
        |(action, address, size, stream, pool)| event(action, address, size, stream, pool),
    )
}

/// An entry of a trace. An out-of-memory event has the device's free memory in place of the address.
fn event(action: &str, address: u64, size: u64, stream: i64, pool: u64) -> String {
    let key = if action == "oom" {
        "device_free"
    } else {
        "addr"
    };
    format!(
        r#"{{"action": "{action}", "{key}": {address}, "size": {size}, "stream": {stream}, "pool_id": [0, {pool}]}}"#
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Neither a replay nor a check fails on nonsense.
    #[test]
    fn nonsense_is_replayed(trace in prop::collection::vec(entry(), 0..80), start in any::<u64>(), bytes in any::<u64>(), is_expandable: bool) {
        replay_nonsense(&trace, start, bytes, is_expandable);
    }
}

/// If model and recording differ at every request, the work is bounded by the blocks taken over, not by the number of
/// differences.
#[test]
fn little_is_taken_over_where_there_are_many_blocks() {
    const STREAMS: u64 = 3000;
    let (mut segments, mut events) = (Vec::new(), Vec::new());
    for stream in 0..STREAMS {
        let start = (1 << 32) + (stream << 21);
        // The recording took the block in the middle, the model takes the one before.
        let (taken, last) = (start + 512, start + 1024);
        let block = |address: u64, bytes: u64, state: &str| {
            format!(
                r#"{{"address":{address},"size":{bytes},"requested_size":{bytes},"state":"{state}","frames":[]}}"#
            )
        };
        let blocks = [
            block(start, 512, "inactive"),
            block(taken, 512, "active_allocated"),
            block(last, (2 << 20) - 1024, "inactive"),
        ];
        let blocks = blocks.join(",");
        segments.push(format!(
            r#"{{"device":0,"address":{start},"total_size":2097152,"stream":{stream},"segment_type":"small","segment_pool_id":[0,0],"is_expandable":false,"frames":[],"blocks":[{blocks}]}}"#
        ));
        events.push(format!(
            r#"{{"action":"alloc","addr":{taken},"size":512,"stream":{stream},"frames":[]}}"#
        ));
    }
    let (segments, events) = (segments.join(","), events.join(","));
    let file = format!(r#"{{"segments":[{segments}],"device_traces":[[{events}]]}}"#);
    let recording = Recording::of(vramscope_core::decode(file.as_bytes()).unwrap());
    let settings = ModelSettings::of(&recording.snapshot);
    let check = check(recording.device(0).unwrap(), &settings);
    let differences = check.differences.values().sum::<u64>();
    println!("{check:?}");
    // Before the first allocation a segment is one block.
    assert!(
        (100..=2_000_000 / STREAMS).contains(&differences),
        "{differences}"
    );
    assert!(check.events_left_out >= STREAMS - 2_000_000 / STREAMS);
}
