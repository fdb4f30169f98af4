//! `without_freed` removes only allocations that began and ended in the recording, and changes nothing else.

use std::collections::BTreeMap;

use proptest::prelude::*;
use vramscope_core::Snapshot;
use vramscope_core::analysis::time::history::{History, NEVER};
use vramscope_core::analysis::time::replay::Replay;
use vramscope_core::cut::without_freed;
use vramscope_core::decode;
use vramscope_core::encode::encode;
use vramscope_core::ids::EventId;
use vramscope_core::model::{Action, Event};
use vramscope_synth::files::all_files;
use vramscope_synth::random::{config, nonsense, run, steps};
use vramscope_synth::snapshot::{Producer, WriteOptions};

use crate::support::decoded;

fn events(snapshot: &Snapshot, device: u32) -> Vec<Event> {
    let rows = snapshot.trace(device);
    rows.map(|row| snapshot.events.get(EventId(row))).collect()
}

/// The events that should remain, found by looking forward from each alloc, for sound traces.
fn naive(snapshot: &Snapshot, device: u32) -> Vec<Event> {
    let events = events(snapshot, device);
    use Action::{Annotate, FreeCompleted, FreeRequested};
    let mut goes = vec![false; events.len()];
    for (place, alloc) in events.iter().enumerate() {
        if alloc.action != Action::Alloc {
            continue;
        }
        let of_it = |event: &Event| {
            matches!(event.action, Annotate | FreeRequested | FreeCompleted)
                && event.addr == alloc.addr
        };
        let end = (place..events.len())
            .find(|&later| of_it(&events[later]) && events[later].action == Action::FreeCompleted);
        let Some(end) = end else { continue };
        goes[place] = true;
        for later in place..=end {
            goes[later] |= of_it(&events[later]);
        }
    }
    let kept = events.into_iter().zip(goes).filter(|&(_, goes)| !goes);
    kept.map(|(event, _)| event).collect()
}

/// Address, bytes, begin and end of every allocation that should remain.
fn lasting(history: &History) -> Vec<(u64, u64, bool, bool)> {
    let table = &history.allocations;
    let rows = 0..table.len();
    let all = rows.map(|row| {
        let is_older = row < history.before_recording as usize;
        (
            table.address[row],
            table.bytes[row],
            is_older,
            table.died[row] == NEVER,
        )
    });
    all.filter(|&(.., is_older, lasts)| is_older || lasts)
        .collect()
}

fn check(place: &str, snapshot: &Snapshot) -> usize {
    let rest = without_freed(snapshot);
    let mut dropped = 0;
    for device in snapshot.devices() {
        let before = History::of(snapshot, device);
        let after = History::of(&rest, device);
        dropped += (before.event_count - after.event_count) as usize;
        let replay = Replay::of(snapshot, &before);
        let is_sound = before.mismatches == Default::default();
        if !is_sound || replay.mismatched_segment_events > 0 {
            continue;
        }
        let place = format!("{place}, device {device}");
        assert_eq!(events(&rest, device), naive(snapshot, device), "{place}");
        assert_eq!(lasting(&after), lasting(&before), "{place}");
        assert_eq!(
            after.allocations.len(),
            lasting(&after).len(),
            "{place}: nothing came and went"
        );
        assert_eq!(
            after.active_bytes.last(),
            before.active_bytes.last(),
            "{place}"
        );
        assert_eq!(
            Replay::of(&rest, &after).segments_at(after.event_count),
            replay.segments_at(before.event_count),
            "{place}"
        );
        assert_eq!(
            without_freed(&rest).events.len(),
            rest.events.len(),
            "{place}: twice is once"
        );
    }
    dropped
}

#[test]
fn every_file_without_what_came_and_went() {
    let dropped: BTreeMap<_, _> = all_files()
        .iter()
        .map(|file| (file.name.clone(), check(&file.name, &decoded(file))))
        .collect();
    assert!(dropped["torch-2.15.0/training.pickle"] > 100);
    assert_eq!(dropped["torch-2.15.0/no_stacks.pickle"] % 3, 0);
}

#[test]
fn a_free_of_something_older_keeps_both_events() {
    let text = r#"{"segments": [], "device_traces": [[
        {"action": "free_requested", "addr": 4096, "size": 1},
        {"action": "free_completed", "addr": 4096, "size": 1},
        {"action": "alloc", "addr": 4096, "size": 2},
        {"action": "free_requested", "addr": 4096, "size": 2},
        {"action": "segment_alloc", "addr": 4096, "size": 3},
        {"action": "free_completed", "addr": 4096, "size": 2},
        {"action": "alloc", "addr": 4096, "size": 4},
        {"action": "free_requested", "addr": 4096, "size": 4}]]}"#;
    let rest = without_freed(&decode(text.as_bytes()).unwrap());
    let sizes: Vec<_> = events(&rest, 0).iter().map(|event| event.size).collect();
    assert_eq!(sizes, [1, 1, 3, 4, 4]);
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn random_programs(steps in steps(), expandable: bool, forget in 0..40_usize) {
        let bytes = run(&steps, expandable, forget).to_pickle(&WriteOptions::new(Producer::Python(2, 15)));
        check("random program", &decode(&bytes[..]).unwrap());
    }

    #[test]
    fn nonsense_does_no_harm(model in nonsense()) {
        let bytes = model.to_pickle(&WriteOptions::new(Producer::Python(2, 15)));
        if let Ok(snapshot) = decode(&bytes[..]) {
            let mut written = Vec::new();
            encode(&without_freed(&snapshot), &mut written).unwrap();
            let read = decode(&written[..]).unwrap();
            prop_assert!(read.events.len() <= snapshot.events.len());
        }
    }
}
