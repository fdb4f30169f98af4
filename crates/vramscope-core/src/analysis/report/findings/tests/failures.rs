//! Findings about requests that failed.

use super::*;

#[test]
fn an_oom_that_nothing_could_have_helped() {
    let found = of_story(
        "capacity 1GiB\nalloc w 600MiB model.py:1:init\nalloc a 300MiB model.py:2:forward\noom 512MiB free=124MiB train.py:7:step",
    );
    assert_eq!(found.ooms, Some(1));
    let oom = get(&found, FindingKind::OutOfMemory);
    assert_eq!((oom.bytes, oom.severity), (512 << 20, Severity::Problem));
    assert!(
        oom.title.contains("512 MiB requested, 124 MiB free"),
        "{}",
        oom.title
    );
    assert!(oom.seen.contains("at train.py:7 step"), "{}", oom.seen);
    assert!(oom.seen.contains("388 MiB too little"), "{}", oom.seen);
    assert!(oom.may_mean.contains("No other arrangement"));
    assert_eq!(oom.tables[0].rows[0].label, "model.py:1 init");
    assert_eq!(oom.evidence[0].moment, Some(5));
    assert_eq!(found.gaps[2].occasion, Occasion::OutOfMemory);
}

#[test]
fn an_oom_by_fragmentation() {
    // Two holes of 100 MiB between active blocks; the request needs 150 MiB.
    let found = of_story(
        "segment 0x7f0000000000 400MiB\nalloc a 100MiB at 0x7f0000000000 a.py:1:f\nalloc b 100MiB at 0x7f0006400000 a.py:2:f\n\
         alloc c 100MiB at 0x7f000c800000 a.py:3:f\nalloc d 100MiB at 0x7f0012c00000 a.py:4:f\nfree a\nfree c\noom 150MiB free=10MiB a.py:9:f",
    );
    let oom = get(&found, FindingKind::OutOfMemory);
    assert!(
        oom.seen
            .contains("200 MiB free for such a request, in 2 pieces, the largest of 100 MiB"),
        "{}",
        oom.seen
    );
    assert!(
        oom.may_mean
            .starts_with("Fragmented: 200 MiB free, the largest piece 100 MiB."),
        "{}",
        oom.may_mean
    );
    assert!(
        oom.advice()
            .any(|text| text.contains("expandable_segments"))
    );
    let fragmentation = get(&found, FindingKind::Fragmentation);
    assert_eq!(
        (fragmentation.bytes, fragmentation.severity),
        (100 << 20, Severity::Note)
    );
}

#[test]
fn fragmentation_names_whose_allocations_keep_segments() {
    let mut story = String::new();
    for i in 0..8 {
        story += &format!("alloc a{i} 15MiB a.py:1:f\nalloc k{i} 2MiB keep.py:7:cache\n");
    }
    for i in 0..8 {
        story += &format!("free a{i}\n");
    }
    let once_more = "alloc big 1000MiB a.py:8:g\nfree big\nempty_cache";
    let at_end = of_story(&format!("{story}{once_more}"));
    assert!(
        !kinds(&at_end).contains(&FindingKind::Fragmentation),
        "little beside what was reserved"
    );
    let found = of_story(&(story + "alloc big 300MiB a.py:9:g"));
    let fragmentation = get(&found, FindingKind::Fragmentation);
    let rows = &fragmentation.tables[0].rows;
    assert_eq!(rows[0].label, "keep.py:7 cache", "{rows:#?}");
}

#[test]
fn an_oom_beside_a_block_of_another_stream() {
    let found = of_story(
        "alloc a 300MiB stream=7 a.py:1:f\nfree a\nalloc b 100MiB a.py:2:f\noom 200MiB free=10MiB a.py:9:f",
    );
    let oom = get(&found, FindingKind::OutOfMemory);
    assert!(
        oom.may_mean.contains("another pool or stream"),
        "{}",
        oom.may_mean
    );
    assert!(
        oom.seen.contains("1 free block was large enough"),
        "{}",
        oom.seen
    );
}

#[test]
fn an_oom_with_memory_left_is_a_limit() {
    let found = of_story("alloc a 100MiB a.py:1:f\noom 200MiB free=900MiB a.py:9:f");
    let oom = get(&found, FindingKind::OutOfMemory);
    assert!(
        oom.may_mean.contains("set_per_process_memory_fraction"),
        "{}",
        oom.may_mean
    );
}

#[test]
fn an_oom_with_room_for_the_request_but_not_for_its_segment() {
    let found = of_story("alloc a 100MiB a.py:1:f\noom 5MiB free=12MiB a.py:9:f");
    let oom = get(&found, FindingKind::OutOfMemory);
    assert!(
        oom.may_mean.contains("not the 20.0 MiB that"),
        "{}",
        oom.may_mean
    );
    let found = of_story("alloc a 100MiB a.py:1:f\noom 11MiB free=11MiB a.py:9:f");
    let oom = get(&found, FindingKind::OutOfMemory);
    assert!(
        oom.may_mean.contains("not the 12.0 MiB that"),
        "{}",
        oom.may_mean
    );
}

#[test]
fn an_oom_without_segments_is_not_explained_by_blocks() {
    let found = of_story(
        "no segments\nalloc a 100MiB a.py:1:f\nalloc b 100MiB a.py:2:f\nalloc c 100MiB a.py:3:f\nfree b\n\
         oom 150MiB free=60MiB a.py:9:f",
    );
    let oom = get(&found, FindingKind::OutOfMemory);
    assert!(
        oom.may_mean.contains("no segments that can be trusted"),
        "{}",
        oom.may_mean
    );
    assert!(!oom.seen.contains("PyTorch had"), "{}", oom.seen);
    assert_eq!(oom.tables.len(), 1, "only what was live");
    assert!(
        oom.to_try.len() == 1 && oom.to_try[0].contains("what was live"),
        "{:?}",
        oom.to_try
    );
}

/// Each cause has a text of its own, and its scenario has no other cause.
#[test]
fn failures_are_told_apart() {
    let words = [
        ("oom-waited", "pytorch#189504", "served from it at event"),
        (
            "oom-limited",
            "per_process_memory_fraction grants this process 0.5",
            "refused without asking it",
        ),
        (
            "oom-others",
            "Others took 2.92 GiB of the device",
            "would have been served",
        ),
        ("oom-pool", "pytorch#159674", "kept 600 MiB"),
    ];
    for (name, _, second) in words {
        let bytes = scenario::failure(name)
            .unwrap()
            .to_pickle(&WriteOptions::new(Producer::Python(2, 15)));
        let found = overviews(&decode(&bytes[..]).unwrap()).swap_remove(0);
        let oom = get(&found, FindingKind::OutOfMemory);
        for other in words {
            let is_own = other.0 == name;
            assert_eq!(
                oom.may_mean.contains(other.1),
                is_own,
                "{name}: {}",
                oom.may_mean
            );
        }
        assert!(oom.may_mean.contains(second), "{name}: {}", oom.may_mean);
    }
}

/// A program that unwinds frees memory, but does not go on.
#[test]
fn a_program_goes_on_if_it_allocates() {
    let seen = |after: &str| {
        let found = of_story(&format!(
            "capacity 1GiB\nalloc w 600MiB model.py:1:init\noom 512MiB free=424MiB train.py:7:step\n{after}"
        ));
        get(&found, FindingKind::OutOfMemory).seen.clone()
    };
    assert!(seen("free w").ends_with("Nothing was allocated afterwards."));
    assert!(
        seen("free w\nalloc x 4MiB a.py:1:f").ends_with("The program went on with 1 allocation.")
    );
    let last = seen("");
    assert!(
        !last.contains("afterwards") && !last.contains("went on"),
        "{last}"
    );
}

/// A process whose streams each reserve addresses for more than the device, and use up most of them (pytorch#192269).
fn of_streams(streams: u64, settings: &str) -> Overview {
    let segments = (0..streams).map(|stream| {
        let address = (1_u64 << 40) + stream * (100 << 30);
        let used = match stream {
            0 => r#""requested_size": 1048576, "state": "active_allocated""#,
            _ => r#""requested_size": 0, "state": "inactive""#,
        };
        format!(
            r#"{{"device": 0, "address": {address}, "total_size": 2097152, "stream": {stream}, "segment_type": "large",
              "segment_pool_id": [0, 0], "is_expandable": true, "blocks": [{{"address": {address}, "size": 2097152, {used}, "frames": []}}]}}"#
        )
    });
    let segments = segments.collect::<Vec<_>>().join(",");
    let address = 1_u64 << 40;
    let file = format!(
        r#"{{"segments": [{segments}], "total_memory": 85899345920, "allocator_settings": {{{settings}}}, "device_traces": [[
          {{"action": "alloc", "addr": {address}, "size": 1048576, "stream": 0, "frames": []}},
          {{"action": "oom", "device_free": 32212254720, "size": 1073741824, "stream": 0, "frames": []}}]]}}"#
    );
    overviews(&decode(file.as_bytes()).unwrap()).swap_remove(0)
}

#[test]
fn an_oom_with_virtual_addresses_used_up() {
    let found = of_streams(800, "");
    let oom = get(&found, FindingKind::OutOfMemory);
    let why = "Refused although the device had 30.0 GiB free for a request of 1.00 GiB: expandable segments reserve 70.3 TiB of the \
               128 TiB of addresses that a process has";
    assert!(oom.may_mean.starts_with(why), "{}", oom.may_mean);
    assert!(
        oom.to_try[0].contains("expandable_segments_reserve"),
        "{:?}",
        oom.to_try
    );
    assert!(found.verdict().starts_with(why), "{}", found.verdict());
    // Few segments, or segments of unknown size, are no cause.
    let reserve =
        r#""PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True,expandable_segments_reserve:4G""#;
    for (streams, settings) in [(80, ""), (800, reserve)] {
        let found = of_streams(streams, settings);
        let oom = get(&found, FindingKind::OutOfMemory);
        assert!(!oom.may_mean.contains("addresses"), "{}", oom.may_mean);
    }
}
