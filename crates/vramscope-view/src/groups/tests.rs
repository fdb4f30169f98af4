//! Every mode gives every allocation a group, and a filter that finds it.

use super::*;
use vramscope_core::Snapshot;
use vramscope_core::analysis::code::call_sites::NO_STACK;
use vramscope_core::analysis::recording::Recording;
use vramscope_core::analysis::search::filter::{Pointed, matches};
use vramscope_core::ids::AllocationId;
use vramscope_synth::{snapshot::Producer, text};

/// The properties that have colours, and whose groups have filters.
fn modes() -> impl Iterator<Item = Property> {
    let code = [
        Property::Function,
        Property::File,
        Property::Module,
        Property::Package,
    ];
    let without = [Property::Annotation, Property::Metadata];
    let coloured = Property::all().filter(|by| by.is_coloured());
    coloured.filter(move |by| !code.contains(by) && !without.contains(by))
}

fn groups_of(mode: Property, device: Device<'_>) -> Groups {
    let leaders = Leaders::of_sites(device.recording);
    Groups::of(mode, &Theme::light(), &leaders, device)
}

fn groups(mode: Property) -> (Groups, Vec<u64>) {
    let written = "alloc a 4MiB main.py:10:train\nalloc b 2KiB main.py:20:step\n\
                   alloc c 1MiB main.py:10:train\nfree b";
    let bytes = text::pickle(written, Producer::Python(2, 15)).unwrap();
    let recording = Recording::of(vramscope_core::decode(bytes.as_slice()).unwrap());
    let groups = groups_of(mode, recording.device(0).unwrap());
    (groups, recording.histories[0].allocations.bytes.clone())
}

#[test]
fn every_allocation_has_a_group_and_a_colour_in_every_mode() {
    for mode in modes() {
        let (groups, bytes) = groups(mode);
        assert_eq!(groups.group_of.len(), bytes.len());
        assert_eq!(groups.colours.index.len(), bytes.len());
        assert_eq!(groups.labels.len(), groups.rgb.len());
        assert!(
            groups
                .group_of
                .iter()
                .all(|&group| (group as usize) < groups.labels.len())
        );
        let totals = groups.totals(&bytes, 0..bytes.len() as u32);
        let sum: u64 = totals.iter().map(|total| total.bytes).sum();
        assert_eq!(sum, bytes.iter().sum::<u64>(), "{mode:?}");
        assert!(totals.is_sorted_by_key(|total| std::cmp::Reverse(total.bytes)));
    }
}

/// The legend of what is live at the peak names the colours of everything else in the picture too.
#[test]
fn a_legend_names_every_colour_that_is_drawn() {
    let written = "alloc a 1MiB main.py:1:early\nfree a\nalloc b 9MiB main.py:2:peak\nfree b\nalloc c 2MiB main.py:3:late\nfree c";
    let bytes = text::pickle(written, Producer::Python(2, 15)).unwrap();
    let recording = Recording::of(vramscope_core::decode(bytes.as_slice()).unwrap());
    let device = recording.device(0).unwrap();
    let (groups, history) = (groups_of(Property::CallSite, device), device.history);
    let lines = |moments, most| {
        let live = (0..3).filter(|&row| history.is_live(AllocationId(row), history.peak_moment));
        let lines = groups.legend(Lives::of(history), live, moments, most);
        let name =
            |line: &GroupTotal| (groups.labels[line.group as usize].clone(), line.bytes >> 20);
        lines.iter().map(name).collect::<Vec<_>>()
    };
    let named = |names: &[(&str, u64)]| {
        let owned = names.iter().map(|&(name, mib)| (name.to_owned(), mib));
        owned.collect::<Vec<_>>()
    };
    let (peak, late, early) = (
        ("main.py:2 peak", 9),
        ("main.py:3 late", 0),
        ("main.py:1 early", 0),
    );
    assert_eq!(
        lines(0..=history.event_count, 40),
        named(&[peak, late, early])
    );
    assert_eq!(
        lines(0..=history.allocations.born[0], 40),
        named(&[peak, early])
    );
    assert_eq!(lines(0..=history.event_count, 2), named(&[late, early]));
    assert_eq!(lines(0..=history.event_count, 0), []);
}

#[test]
fn code_and_ranges_are_groups_by_name() {
    let written = "alloc z 1MiB\nbegin \"step 1\"\nwait 10us\nalloc a 4MiB main.py:10:train\nalloc b 2KiB main.py:20:train\n\
                   alloc c 1MiB data.py:3:load\nwait 10us\nend \"step 1\"\nwait 10us\nalloc d 8";
    let bytes = text::pickle(written, Producer::Python(2, 15)).unwrap();
    let recording = Recording::of(vramscope_core::decode(bytes.as_slice()).unwrap());
    let labels = |mode| {
        let groups = groups_of(mode, recording.device(0).unwrap());
        let label = |group: &u32| groups.labels[*group as usize].clone();
        let labels: Vec<String> = groups.group_of.iter().map(label).collect();
        labels.join(", ")
    };
    let none = NO_STACK;
    let (function, file) = (labels(Property::Function), labels(Property::File));
    assert_eq!(
        function,
        format!("{none}, main.py train, main.py train, data.py load, {none}")
    );
    assert_eq!(file, format!("{none}, main.py, main.py, data.py, {none}"));
    let around = labels(Property::Annotation);
    assert!(
        around.contains(", step 1, step 1, step 1, outside"),
        "{around}"
    );
}

#[test]
fn one_place_in_the_code_is_one_group() {
    let (groups, bytes) = groups(Property::CallSite);
    let totals = groups.totals(&bytes, 0..bytes.len() as u32);
    assert_eq!(totals.len(), 2);
    assert_eq!((totals[0].bytes, totals[0].count), (5 << 20, 2));
    assert!(groups.labels[totals[0].group as usize].contains("main.py:10"));
}

#[test]
fn what_only_the_final_state_tells_has_a_stream_and_a_pool() {
    let json = br#"{"segments": [{"device": 0, "address": 4096, "total_size": 512, "stream": 7,
        "segment_pool_id": [0, 3], "blocks": [{"address": 4096, "size": 512, "requested_size": 512,
        "state": "active_allocated"}]}], "device_traces": [[]]}"#;
    let recording = Recording::of(vramscope_core::decode(json.as_slice()).unwrap());
    let label = |mode| {
        let groups = groups_of(mode, recording.device(0).unwrap());
        groups.labels[groups.group_of[0] as usize].clone()
    };
    assert_eq!(label(Property::Stream), "stream 1 (0x7)");
    assert_eq!(label(Property::Pool), "private pool (0, 3)");
}

#[test]
fn sizes_fall_into_their_range() {
    let (groups, _) = groups(Property::Size);
    let label = |row: usize| groups.labels[groups.group_of[row] as usize].as_str();
    assert_eq!(label(0), "1.00 MiB to 64.0 MiB");
    assert_eq!(label(1), "below 64.0 KiB");
}

/// The filter of a legend's row finds exactly the allocations that the row counts, whatever the
/// file holds.
#[test]
fn the_filter_of_a_group_finds_exactly_its_allocations() {
    let mut searched = 0;
    for snapshot in fixtures() {
        let recording = Recording::of(snapshot);
        for device in recording.devices() {
            for mode in modes() {
                let groups = groups_of(mode, device);
                let allocations = &device.history.allocations;
                let all = 0..allocations.len() as u32;
                for row in groups.totals(&allocations.bytes, all) {
                    let label = &groups.labels[row.group as usize];
                    let text = groups.filter(row.group).unwrap().to_string();
                    let filter = Filter::parse(&text).unwrap();
                    let found = matches(&filter, device, Pointed::default()).set;
                    let is_wrong =
                        |&id: &usize| found.contains(id) != (groups.group_of[id] == row.group);
                    let wrong = (0..groups.group_of.len()).find(is_wrong);
                    let name = &recording.snapshot.producer.name;
                    assert_eq!(wrong, None, "{name}: {mode:?}, {label}: {text}");
                    searched += 1;
                }
            }
        }
    }
    assert!(searched > 1_000, "only {searched} rows");
}

/// The committed snapshots, and a synthetic one with features that they lack.
fn fixtures() -> impl Iterator<Item = Snapshot> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures");
    let entries = |folder: &std::path::Path| {
        let entries = std::fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().path())
    };
    let folders: Vec<_> = entries(root.as_ref())
        .filter(|path| path.is_dir())
        .collect();
    let files: Vec<_> = folders.iter().flat_map(|folder| entries(folder)).collect();
    let read = |path: std::path::PathBuf| std::fs::read(path).ok();
    let unusual = br#"{"segments": [{"device": 0, "address": 4096, "total_size": 512, "stream": 7, "blocks": [
        {"address": 4096, "size": 512, "requested_size": 512, "state": "active_allocated"}]}],
        "device_traces": [[
        {"action": "alloc", "addr": 8192, "size": 100, "stream": 0, "category": "optimizer_state"},
        {"action": "alloc", "addr": 9216, "size": 100, "stream": 5, "category": "a b", "pool_id": [0, 3]},
        {"action": "alloc", "addr": 10240, "size": 100, "stream": 5, "category": "a_b"},
        {"action": "alloc", "addr": 11264, "size": 100, "stream": 5, "category": "*"},
        {"action": "alloc", "addr": 12288, "size": 100, "stream": 5, "category": "optimizer_states"}]]}"#;
    let bytes = files.into_iter().filter_map(read).chain([unusual.to_vec()]);
    bytes.filter_map(|bytes| vramscope_core::decode(bytes.as_slice()).ok())
}
