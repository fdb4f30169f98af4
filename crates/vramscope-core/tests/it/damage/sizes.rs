//! Impossible sizes.

use vramscope_core::analysis::search::filter::totals;
use vramscope_core::analysis::time::range_totals::RangeSums;

use super::*;

#[test]
fn impossible_sizes() {
    let largest = 1 << 48;
    let events = [
        ("alloc", 1, -5),
        ("alloc", 2, largest),
        ("alloc", 3, largest + 1),
        ("segment_alloc", 4, 1 << 64),
        // A program may request any size.
        ("oom", 5, 1 << 60),
        ("oom", 1 << 49, 1),
        ("oom", 5, -7),
        // Up to the last address, and one byte further.
        ("free_completed", u64::MAX - 7, 8),
        ("free_completed", u64::MAX - 6, 8),
    ];
    let places = [
        "device_traces[0][0]",
        "device_traces[0][2]",
        "device_traces[0][3]",
    ];
    let found = only(&read(&trace(&events)), WarningKind::ImpossibleSize);
    assert_eq!(found, (6, places.map(str::to_owned).to_vec()));

    let state = r#"{"segments": [{"device": 0, "address": 512, "total_size": -5, "blocks": [
        {"address": 512, "size": -5, "requested_size": 3, "state": "active_allocated"}]}]}"#;
    let places = ["segments[0]", "segments[0].blocks[0]"];
    let found = only(&read(state), WarningKind::ImpossibleSize);
    assert_eq!(found, (2, places.map(str::to_owned).to_vec()));

    let blocks = |address: u64, requested: u64, state: &str| {
        let active = if state == "inactive" { 0 } else { requested };
        read(&format!(
            r#"{{"segments": [{{"device": 0, "address": {address}, "total_size": 512, "requested_size": {active},
            "blocks": [{{"address": {address}, "size": 512, "requested_size": {requested}, "state": "{state}"}}]}}]}}"#
        ))
    };
    assert_eq!(damage(&blocks(512, 512, "active_allocated")), []);
    assert_eq!(damage(&blocks(512, 513, "inactive")), []);
    assert_eq!(damage(&blocks(u64::MAX - 511, 1, "inactive")), []);
    let too_large = blocks(512, 513, "active_allocated");
    let found = only(&too_large, WarningKind::ImpossibleSize);
    assert_eq!(found, (1, vec!["segments[0].blocks[0]".to_owned()]));
    let wrapped = blocks(u64::MAX - 510, 1, "inactive");
    let found = only(&wrapped, WarningKind::ImpossibleSize);
    assert_eq!(found, (2, places.map(str::to_owned).to_vec()));
}

/// Beyond 64 bits, in a pickle as in JSON.
#[test]
fn sizes_beyond_64_bits() {
    for text in [
        "18446744073709551616",
        "18446744073709552128",
        "1e30",
        "-1e30",
        "-Infinity",
    ] {
        let json = trace(&[("alloc", 1, 7)]).replace(r#""size": 7"#, &format!(r#""size": {text}"#));
        let snapshot = read(&json);
        assert_eq!(only(&snapshot, WarningKind::ImpossibleSize).0, 1, "{text}");
        assert_eq!(snapshot.events.size, [0]);
    }
    for number in [
        "I18446744073709551616\n",
        "L18446744073709551616L\n",
        "\u{8a}\u{9}\0\0\0\0\0\0\0\0\u{1}",
    ] {
        let number: Vec<_> = number.chars().map(|byte| byte as u8).collect();
        let head = b"(dVsegments\n(lsVdevice_traces\n(l(l(dVaction\nValloc\nsVaddr\nI1\nsVsize\n";
        let pickle = [head, &number[..], b"sVstream\nI0\nsaas."].concat();
        let snapshot = decode(&pickle[..]).unwrap();
        assert_eq!(only(&snapshot, WarningKind::ImpossibleSize).0, 1);
    }
}

#[test]
fn no_sum_contains_an_impossible_size() {
    let ten_gib: i128 = 10 << 30;
    for (sizes, expected) in [
        (vec![1 << 63; 3], vec![0, 0, 0, 0]),
        (
            vec![ten_gib, -ten_gib],
            vec![0, ten_gib as u64, ten_gib as u64],
        ),
        (vec![5, -5, 7], vec![0, 5, 5, 12]),
    ] {
        let events: Vec<_> = (1..)
            .zip(&sizes)
            .map(|(at, &size)| ("alloc", at, size))
            .collect();
        let recording = Recording::of(read(&trace(&events)));
        let history = recording.devices().next().unwrap().history;
        assert_eq!(history.active_bytes, expected);
        let highest = expected.last().copied().unwrap();
        let end = history.event_count;
        let sums = totals(history, None, end);
        assert_eq!((sums.highest_bytes, sums.live_bytes), (highest, highest));
        let range = RangeSums::of(history).totals(history, (0, end));
        assert_eq!(
            (range.allocated_bytes, range.after_bytes),
            (highest, highest)
        );
    }
}

/// The second block is removed, and the whole second segment.
#[test]
fn no_sum_of_memory_contains_an_impossible_size() {
    let state = read(
        r#"{"segments": [
        {"device": 0, "address": 4096, "total_size": 1024, "active_size": 9223372036854775807, "blocks": [
            {"address": 4096, "size": 512, "requested_size": 500, "state": "active_allocated"},
            {"address": 4608, "size": 9223372036854775807, "requested_size": 9, "state": "active_allocated"}]},
        {"device": 0, "address": 8192, "total_size": -1, "blocks": [
            {"address": 8192, "size": 512, "requested_size": 500, "state": "active_allocated"}]}]}"#,
    );
    let kinds: Vec<_> = damage(&state)
        .into_iter()
        .map(|(kind, count, _)| (kind, count))
        .collect();
    let filled = (WarningKind::BlocksDoNotFillSegment, 1);
    assert_eq!(kinds, [(WarningKind::ImpossibleSize, 3), filled]);
    let totals: Vec<_> = state
        .segments
        .rows
        .iter()
        .map(|of| (of.total_size, of.active_size))
        .collect();
    assert_eq!(totals, [(1024, Some(512)), (0, None)]);
    let sizes = state
        .blocks
        .rows
        .iter()
        .map(|block| (block.size, block.requested_size));
    assert_eq!(
        sizes.collect::<Vec<_>>(),
        [(512, Some(500)), (0, Some(0)), (0, Some(0))]
    );
    // A block cannot be smaller than its request: the requested size is unknown.
    let state = read(
        r#"{"segments": [{"device": 0, "address": 4096, "total_size": 512, "blocks": [
            {"address": 4096, "size": 512, "requested_size": 513, "state": "active_allocated"}]}]}"#,
    );
    assert_eq!(state.blocks.requested_bytes(&state.blocks.rows[0]), 512);
}

/// Blocks without addresses are placed one after another, whatever size they claim.
#[test]
fn blocks_behind_an_impossible_one() {
    let state = read(
        r#"{"segments": [{"device": 0, "address": 4096, "total_size": 1024, "blocks": [
            {"size": 512, "state": "inactive"}, {"size": -7, "state": "inactive"}, {"size": 512, "state": "inactive"}]}]}"#,
    );
    assert_eq!(only(&state, WarningKind::ImpossibleSize).0, 1);
    let addresses = state.blocks.rows.iter().map(|block| block.address);
    assert_eq!(addresses.collect::<Vec<_>>(), [4096, 4608, 4608]);
    for again in written(&state) {
        assert_eq!(vramscope_core::encode::difference(&state, &again), None);
    }
}

#[test]
fn missing_sizes() {
    let kind = || WarningKind::MissingSize;
    let event = |keys: &str| {
        read(&format!(
            r#"{{"device_traces": [[{{{keys}}}]], "segments": []}}"#
        ))
    };
    let place = vec!["device_traces[0][0]".to_owned()];
    for keys in [
        r#""action": "alloc", "addr": 1"#,
        r#""action": "alloc", "size": 1"#,
        r#""action": "oom", "size": 1"#,
    ] {
        assert_eq!(only(&event(keys), kind()), (1, place.clone()), "{keys}");
    }
    assert_eq!(
        damage(&event(r#""action": "oom", "device_free": 0, "size": 1"#)),
        []
    );
    // An unknown action may have no size.
    let unknown = event(r#""action": "not_known_yet""#);
    let named = WarningKind::UnknownAction("not_known_yet".to_owned());
    assert_eq!(only(&unknown, named).0, 1);
    let block = read(
        r#"{"segments": [{"device": 0, "address": 0, "total_size": 0, "blocks": [{"address": 0, "state": "inactive"}]}]}"#,
    );
    assert_eq!(
        only(&block, kind()),
        (1, vec!["segments[0].blocks[0]".to_owned()])
    );
    let segment = read(r#"{"segments": [{"device": 0, "total_size": 0, "blocks": []}]}"#);
    assert_eq!(only(&segment, kind()), (1, vec!["segments[0]".to_owned()]));
    for again in written(&segment) {
        assert_eq!(damage(&again), damage(&segment));
    }
}

#[test]
fn more_than_there_is() {
    let of = |file: &str| {
        let recording = Recording::of(read(file));
        let found = damage(&recording.snapshot).into_iter();
        let found: Vec<_> = found
            .filter(|(kind, ..)| *kind == WarningKind::MoreThanThereIs)
            .collect();
        found
            .into_iter()
            .flat_map(|(.., places)| places)
            .collect::<Vec<_>>()
    };
    let freed = trace(&[
        ("segment_alloc", 4096, 2048),
        ("alloc", 4096, 2048),
        ("segment_free", 4096, 2048),
    ]);
    assert_eq!(
        of(&freed),
        ["device 0: 2.00 KiB active after event 3, 0 B reserved"]
    );
    let held = trace(&[("segment_alloc", 4096, 4096), ("alloc", 4096, 2048)]);
    assert_eq!(of(&held), [""; 0]);
    let device = |bytes: u64, call: &str| {
        held.replace(r#"{"segments""#, &format!(r#"{{"total_memory": {bytes}, "call": "{call}", "capture": {{"tool": "x"}}, "segments""#))
            .replace(r#""stream": 0"#, &format!(r#""stream": 0, "frames": [{{"name": "{call}", "filename": "libcuda.so.1", "line": 0}}]"#))
    };
    assert_eq!(
        of(&device(2048, "cuMemAlloc")),
        ["device 0: 4.00 KiB reserved, a device of 2.00 KiB"]
    );
    assert_eq!(of(&device(4096, "cuMemAlloc")), [""; 0]);
    // Managed memory may be anywhere.
    assert_eq!(of(&device(2048, "cuMemAllocManaged")), [""; 0]);
    let many: Vec<_> = (0..2).map(|row| ("alloc", row << 48, 1 << 48)).collect();
    assert_eq!(of(&trace(&many)), ["device 0: more than 256 TiB at once"]);
}
