//! Compares the sweep with the state of every moment, and checks small files with known results.

use super::over_time::sweep;
use super::*;
use crate::Snapshot;
use crate::analysis::groups::grouping::GroupColumn;
use crate::analysis::recording::Recording;
use crate::analysis::time::history::History;
use crate::decode;
use vramscope_synth::scenario;
use vramscope_synth::snapshot::{Producer, WriteOptions};

/// Calls `check` with the sweep's result and the state for each moment.
fn each_moment(
    snapshot: Snapshot,
    mut check: impl FnMut(FragmentationAt, &AllocatorState, &History),
) {
    for device in Recording::of(snapshot).devices() {
        let history = device.history;
        let (sizes, segments) = (device.block_sizes(), device.segments());
        let mut moments = 0..;
        sweep(history, sizes, segments, |at| {
            assert_eq!(Some(at.moment), moments.next());
            check(at, &device.state_at(at.moment), history);
        });
        assert_eq!(moments.next(), Some(history.event_count + 1));
        let worst = over_time(history, sizes, segments, 7);
        assert!(worst.len() <= 7 && worst.is_sorted_by_key(|at| at.moment));
    }
}

/// Checks every moment against sums over all segments and blocks.
fn check_all_moments(name: &str, snapshot: Snapshot) {
    each_moment(snapshot, |at, state, _| {
        let (total, places) = places(state);
        assert_eq!(at.free, total, "{name} at {}", at.moment);
        let mut sum = FreeSums::default();
        places.iter().for_each(|place| sum.add(&place.free));
        assert_eq!(sum, total);
        assert_eq!(total.reserved_bytes, state.total.reserved_bytes);
        assert_eq!(total.free_bytes, state.total.free_bytes);
        assert!(total.returnable_bytes >= state.total.empty_bytes);
        assert!(total.stuck_bytes() <= state.total.free_in_use_bytes());
    });
}

#[test]
fn the_sweep_is_every_state() {
    for (name, make) in scenario::ALL {
        let bytes = make(1).to_pickle(&WriteOptions::new(Producer::Python(2, 15)));
        check_all_moments(name, decode(&bytes[..]).unwrap());
    }
}

#[test]
fn the_sweep_is_every_state_of_torchs_own_files() {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/fixtures/torch-2.15.0"
    );
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if let Ok(snapshot) = decode(std::fs::File::open(&path).unwrap()) {
            check_all_moments(&path.display().to_string(), snapshot);
        }
    }
}

const MIB: u64 = 1 << 20;

fn file(is_expandable: bool, events: &[(&str, u64, u64)]) -> Snapshot {
    let events: Vec<String> = events
        .iter()
        .map(|(action, addr, mib)| {
            let (addr, size) = (addr * MIB, mib * MIB);
            format!(r#"{{"action": "{action}", "addr": {addr}, "size": {size}, "stream": 0}}"#)
        })
        .collect();
    let text = format!(
        r#"{{"segments": [{{"device": 0, "address": {}, "total_size": {}, "stream": 0,
            "is_expandable": {is_expandable}, "segment_type": "large", "blocks": []}}],
            "device_traces": [[{}]]}}"#,
        100 * MIB,
        100 * MIB,
        events.join(",")
    );
    decode(text.as_bytes()).unwrap()
}

/// Stuck MiB at every moment.
fn stuck(snapshot: Snapshot) -> Vec<u64> {
    let mut stuck = Vec::new();
    each_moment(snapshot, |at, state, _| {
        assert_eq!(at.free, places(state).0, "at {}", at.moment);
        stuck.push(at.free.stuck_bytes() / MIB);
    });
    stuck
}

const EVENTS: [(&str, u64, u64); 4] = [
    ("alloc", 100, 30),
    ("alloc", 130, 30),
    ("free_completed", 100, 30),
    ("free_completed", 130, 30),
];

#[test]
fn a_plain_segment_goes_whole_or_not_at_all() {
    assert_eq!(stuck(file(false, &EVENTS)), [0, 70, 40, 70, 0]);
}

#[test]
fn an_expandable_segment_gives_pages_back() {
    // After the 30 MiB come 10 MiB that share a page with the second block. Before it there is one whole page of 20
    // MiB.
    assert_eq!(stuck(file(true, &EVENTS)), [0, 10, 0, 10, 0]);
}

#[test]
fn the_figures_of_free_memory() {
    let free = FreeSums {
        reserved_bytes: 1000,
        free_bytes: 400,
        returnable_bytes: 300,
        pieces: 3,
        largest_free_bytes: 100,
    };
    assert_eq!(free.stuck_bytes(), 100);
    assert!((free.stuck_share() - 0.1).abs() < 1e-9);
    assert!((free.scattered_share() - 0.75).abs() < 1e-9);
    let none = FreeSums::default();
    assert!(none.stuck_share() == 0.0 && none.scattered_share() == 0.0);
}

#[test]
fn who_keeps_a_segment() {
    let events = [
        ("alloc", 100, 20),
        ("alloc", 120, 10),
        ("free_completed", 100, 20),
    ];
    let column = GroupColumn {
        labels: vec!["first".to_owned(), "second".to_owned()],
        of: vec![0, 1],
        ..GroupColumn::default()
    };
    let mut found = Vec::new();
    each_moment(file(false, &events), |_, state, _| {
        found.push(pinned(state, &column, true));
    });
    assert!(
        found[0].0.is_empty() && found[0].1.is_empty(),
        "it is wholly free"
    );
    let (segments, groups) = &found[2];
    assert_eq!((segments[0].allocations, segments[0].largest.0), (2, 0));
    let bytes: Vec<_> = groups
        .iter()
        .map(|group| (group.stuck_bytes, group.alone_bytes))
        .collect();
    assert_eq!(bytes, [(70 * MIB, 0), (70 * MIB, 0)], "both keep it");
    let (_, groups) = &found[3];
    let last = PinningGroup {
        group: 1,
        stuck_bytes: 90 * MIB,
        alone_bytes: 90 * MIB,
        segments: 1,
        held_bytes: 10 * MIB,
        allocations: 1,
    };
    assert_eq!(groups, &[last]);
    let snapshot = file(false, &[("alloc", 100, 60)]);
    each_moment(snapshot, |at, state, _| {
        let number = |only| pinned(state, &column, only).0.len();
        assert_eq!(
            (number(true), number(false)),
            (0, at.moment as usize),
            "40 of 100 MiB are free"
        );
    });
}
