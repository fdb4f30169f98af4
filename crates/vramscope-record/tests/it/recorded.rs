//! Logs of programs on a real driver (580.159, one H100), compared with what the programs themselves, PyTorch and CUPTI
//! report. `tests/gpu` recorded both, `tests/gpu/fixtures.py` made the files.

use std::collections::{BTreeMap, HashMap};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde_json::Value;
use vramscope_core::Snapshot;
use vramscope_core::ids::EventId;
use vramscope_core::model::{Action, Event};
use vramscope_record::ConvertOptions;

use crate::support::converted_bytes;

type Place = (u64, u64);

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/captured")
}

/// The converted log of a program, and the other data about it.
fn recorded(name: &str) -> (Snapshot, Value) {
    let packed = std::fs::File::open(folder().join(format!("{name}.raw.gz"))).unwrap();
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(packed)
        .read_to_end(&mut bytes)
        .unwrap();
    let (snapshot, report) = converted_bytes(&bytes, &ConvertOptions::default());
    // Nothing is missing, and nothing contradicts itself.
    for note in &report.notes {
        let fine = [
            "Pool, unplaced: ",
            "Arrays and textures hold ",
            "A memory pool of device 0 had ",
        ];
        let is_fine = fine.iter().any(|start| note.starts_with(start));
        assert!(is_fine, "{name}: {note}");
    }
    let known = std::fs::read_to_string(folder().join(format!("{name}.json")));
    let known = known.map_or(Value::Null, |text| serde_json::from_str(&text).unwrap());
    (snapshot, known)
}

fn events(snapshot: &Snapshot) -> Vec<Event> {
    let devices = snapshot.devices().into_iter();
    let rows = devices.flat_map(|device| snapshot.trace(device));
    rows.map(|row| snapshot.events.get(EventId(row))).collect()
}

/// How often each place was allocated.
fn allocated(snapshot: &Snapshot) -> HashMap<Place, i64> {
    let mut counts = HashMap::new();
    for event in events(snapshot) {
        if event.action == Action::Alloc {
            *counts.entry((event.addr, event.size)).or_default() += 1;
        }
    }
    counts
}

fn places(known: &Value) -> Vec<Place> {
    let pair = |it: &Value| (it[0].as_u64().unwrap(), it[1].as_u64().unwrap());
    let list = known.as_array();
    list.map_or_else(Vec::new, |list| list.iter().map(pair).collect())
}

/// Bytes in pools at each query of the driver: time and bytes, without those of graphs.
fn held_by_pools(snapshot: &Snapshot) -> Vec<(i64, u64)> {
    let memory = snapshot.extras["capture"]["memory"].as_array().unwrap();
    let sample = |it: &Value| {
        let held = it["pool_reserved_bytes"].as_u64()?;
        let graphs = it["graph_reserved_bytes"].as_u64().unwrap_or(0);
        Some((it["time_us"].as_i64()?, held - graphs))
    };
    memory.iter().filter_map(sample).collect()
}

/// Merges ranges that touch.
fn joined(mut ranges: Vec<Place>) -> Vec<Place> {
    ranges.sort_unstable();
    let mut whole: Vec<Place> = Vec::new();
    for (start, bytes) in ranges {
        match whole.last_mut() {
            Some(last) if last.0 + last.1 == start => last.1 += bytes,
            _ => whole.push((start, bytes)),
        }
    }
    whole
}

#[test]
fn everything_recorded_is_consistent() {
    let files = std::fs::read_dir(folder()).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let logs = names.filter_map(|name| name.strip_suffix(".raw.gz").map(str::to_owned));
    let logs: Vec<String> = logs.collect();
    assert!(logs.len() >= 19, "{logs:?}");
    for name in logs {
        let (snapshot, _) = recorded(&name);
        assert!(!events(&snapshot).is_empty(), "{name}");
    }
}

#[test]
fn allocations_are_those_that_programs_got() {
    for name in [
        "rt-static",
        "rt-per-thread",
        "rt-static-reset",
        "driver-dlsym",
    ] {
        let (snapshot, known) = recorded(name);
        let mut counts = allocated(&snapshot);
        for place in places(&known["allocations"]) {
            *counts.entry(place).or_default() -= 1;
        }
        counts.retain(|_, count| *count != 0);
        assert!(counts.is_empty(), "{name}: {counts:x?}");
        if let Some(reserved) = known["pools_reserved"].as_u64() {
            assert_eq!(
                held_by_pools(&snapshot).last().unwrap().1,
                reserved,
                "{name}"
            );
        }
    }
}

#[test]
fn allocations_that_cupti_saw_are_recorded() {
    for name in ["torch-async-cupti", "cupy", "nccl"] {
        let (snapshot, known) = recorded(name);
        let mut counts = allocated(&snapshot);
        let seen = places(&known["seen_by_cupti"]);
        assert!(!seen.is_empty(), "{name}");
        for place in seen {
            let count = counts.get_mut(&place);
            let count = count.unwrap_or_else(|| panic!("{name}: {place:x?} is missing"));
            *count -= 1;
            assert!(*count >= 0, "{name}: {place:x?} is missing");
        }
    }
}

#[test]
fn segments_of_torch_are_the_drivers_memory() {
    for name in ["torch-native", "torch-expandable"] {
        let (snapshot, known) = recorded(name);
        for moment in known["segments"].as_array().unwrap() {
            let (mut live, mut mapped) = (BTreeMap::new(), Vec::new());
            for event in events(&snapshot) {
                if event.time_us > moment["time_us"].as_i64().unwrap() {
                    break;
                }
                let place = (event.addr, event.size);
                match event.action {
                    Action::Alloc => drop(live.insert(place.0, place.1)),
                    Action::FreeCompleted => drop(live.remove(&place.0)),
                    Action::SegmentMap => mapped.push(place),
                    Action::SegmentUnmap => mapped.retain(|it| *it != place),
                    _ => {}
                }
            }
            let held = places(&moment["held"]);
            if name == "torch-native" {
                let missing = held.iter().find(|(at, bytes)| live.get(at) != Some(bytes));
                assert_eq!(missing, None, "{name}");
            } else {
                assert_eq!(joined(mapped), joined(held), "{name}");
            }
        }
    }
}

#[test]
fn what_a_pool_holds_is_what_torch_says() {
    let (snapshot, known) = recorded("torch-async-cupti");
    let samples = held_by_pools(&snapshot);
    for moment in known["reserved"].as_array().unwrap() {
        let before = moment[0].as_i64().unwrap() + 5000;
        let last = samples.iter().rfind(|(time_us, _)| *time_us <= before);
        assert_eq!(last.unwrap().1, moment[1].as_u64().unwrap());
    }
    // All chunks have a place. Half of the blocks that are larger than a few MiB lie in two of them.
    let memory = snapshot.extras["capture"]["memory"].as_array().unwrap();
    let unplaced = memory
        .iter()
        .filter_map(|it| it["pool_unplaced_bytes"].as_u64());
    assert_eq!(unplaced.max(), Some(0));
}

#[test]
fn a_request_that_failed_says_what_was_free() {
    let (snapshot, known) = recorded("oom");
    let failed = events(&snapshot);
    let failed = failed.iter().filter(|event| event.action == Action::Oom);
    let [failed] = failed.collect::<Vec<_>>()[..] else {
        panic!("not one");
    };
    let wanted = known["failed"].as_array().unwrap();
    assert_eq!(Some(failed.size), wanted[0].as_u64());
    let free = wanted[1].as_u64().unwrap();
    assert!(failed.addr.abs_diff(free) <= free / 100);
}
