//! Memory whose owner the driver does not name directly: counted handles, pools, and windows of multicast objects.

use vramscope_core::model::Action;
use vramscope_record::layout::{Call, Event, Pool, flags, pool_flags};
use vramscope_record::model::RecordingOptions;
use vramscope_record::writer::LogWriter;
use vramscope_record::{ConvertOptions, convert};

use crate::support::{
    BASE, MIB, Numbers, alloc, assert_story, converted, event, free, from_pool, map, refused,
    sample, state, story, tracked_bytes,
};

#[test]
fn looking_at_a_handle_changes_nothing() {
    let mut log = LogWriter::default();
    map(&mut log, Call::cuMemCreate, 0, 4 * MIB, 7);
    map(&mut log, Call::cuMemMap, BASE, 4 * MIB, 7);
    map(&mut log, Call::cuMemRetainAllocationHandle, BASE, 0, 7);
    map(&mut log, Call::cuMemRelease, 0, 0, 7);
    map(&mut log, Call::cuMemUnmap, BASE, 4 * MIB, 0);
    assert_eq!(tracked_bytes(&log), 4 * MIB, "its first handle is left");
    // Mapped again, it is the same memory.
    map(&mut log, Call::cuMemMap, BASE, 4 * MIB, 7);
    map(&mut log, Call::cuMemRelease, 0, 0, 7);
    assert_eq!(tracked_bytes(&log), 4 * MIB);
    // The handle was released, but the memory is mapped, so the handle is returned again.
    map(
        &mut log,
        Call::cuMemRetainAllocationHandle,
        BASE + MIB,
        0,
        7,
    );
    map(&mut log, Call::cuMemUnmap, BASE, 4 * MIB, 0);
    assert_eq!(tracked_bytes(&log), 4 * MIB);
    map(&mut log, Call::cuMemRelease, 0, 0, 7);
    assert_eq!(tracked_bytes(&log), 0);
    assert_eq!(converted(&log).1.notes, [""; 0]);
}

#[test]
fn a_multicast_window_is_no_memory_of_its_own() {
    let mut log = LogWriter::default();
    map(&mut log, Call::cuMemCreate, 0, 4 * MIB, 7);
    map(&mut log, Call::cuMemMap, BASE, 4 * MIB, 7);
    map(&mut log, Call::cuMulticastCreate, 0, 4 * MIB, 8);
    map(&mut log, Call::cuMemMap, BASE + 16 * MIB, 4 * MIB, 8);
    assert_eq!(tracked_bytes(&log), 4 * MIB);
    map(&mut log, Call::cuMemUnmap, BASE + 16 * MIB, 4 * MIB, 0);
    map(&mut log, Call::cuMemRelease, 0, 0, 8);
    assert_eq!(tracked_bytes(&log), 4 * MIB);
}

/// Memory of two pools without a context, as the driver reports for pools, and the end of the primary context.
fn pools_at_the_end_of_the_context() -> LogWriter {
    let mut log = LogWriter::default();
    alloc(&mut log, Call::cuMemAlloc, BASE + 128 * MIB, MIB);
    for (pool, base) in [(9, BASE), (10, BASE + 32 * MIB)] {
        let event = Event {
            context: 0,
            address: base,
            size_bytes: MIB,
            pool,
            mapping_base: base,
            mapping_bytes: 32 * MIB,
            ..event(&log, Call::cuMemAllocAsync)
        };
        log.event(event);
    }
    let end = event(&log, Call::cuDevicePrimaryCtxReset);
    log.event(end);
    log
}

fn sample_after_end(log: &mut LogWriter, pool: u64, reserved_bytes: u64, used_bytes: u64) {
    log.pool(Pool {
        time_ns: log.offset() * 1000,
        pool,
        reserved_bytes,
        used_bytes,
        flags: pool_flags::DEFAULT | pool_flags::CONTEXT_ENDED,
        ..Pool::default()
    });
}

#[test]
fn the_driver_says_whether_pool_memory_outlives_the_context() {
    let mut log = pools_at_the_end_of_the_context();
    sample_after_end(&mut log, 9, 0, 0);
    sample_after_end(&mut log, 10, 32 * MIB, MIB);
    let (snapshot, report) = converted(&log);
    assert_story(&state(&snapshot, 0), "[32M 32M expandable: 1M/1M -31M]");
    assert_eq!(report.notes, [""; 0]);
}

#[test]
fn what_nobody_knows_of_pool_memory_is_said() {
    // The end of neither a known nor an unknown context ends memory that belongs to none.
    for context in [1, 0] {
        let mut log = pools_at_the_end_of_the_context();
        let end = Event {
            context,
            ..event(&log, Call::cuDevicePrimaryCtxReset)
        };
        log.event(end);
        sample_after_end(&mut log, 9, 32 * MIB, MIB);
        let (snapshot, report) = converted(&log);
        assert_story(
            &state(&snapshot, 0),
            "[0 64M expandable: 1M/1M -31M 1M/1M -31M]",
        );
        let [note] = report.notes.as_slice() else {
            panic!("{:?}", report.notes)
        };
        assert!(note.starts_with("A memory pool of device 0 had 1048576 bytes allocated when"));
    }
}

/// A new pool with memory of this type at this type of location.
fn create_pool(log: &mut LogWriter, pool: u64, kind: u64, location: u64) {
    let create = Event {
        pool,
        mapping_base: kind,
        mapping_bytes: location,
        ..event(log, Call::cuMemPoolCreate)
    };
    log.event(create);
}

#[test]
fn memory_of_pools_on_the_host_is_the_hosts() {
    let mut log = LogWriter::default();
    create_pool(&mut log, 77, 1, 2);
    from_pool(&mut log, 77, BASE, BASE, MIB);
    // The driver names no device for memory of a pool whose creation was not seen.
    let unseen = Event {
        device: -1,
        address: BASE + 32 * MIB,
        size_bytes: MIB,
        pool: 78,
        ..event(&log, Call::cuMemAllocFromPoolAsync)
    };
    log.event(unseen);
    assert_eq!(tracked_bytes(&log), 0);
    let (snapshot, _) = converted(&log);
    assert_story(&state(&snapshot, 0), "");
    assert_story(&state(&snapshot, -1), "[0 1M: 1M/1M]\n[32M 1M: 1M/1M]");
    free(&mut log, Call::cuMemFreeAsync, BASE + 32 * MIB);
    refused(&mut log, Call::cuMemFree, BASE, 0);
    let (snapshot, report) = converted(&log);
    assert_story(&state(&snapshot, -1), "[0 1M: 1M/1M]");
    assert_eq!(report.notes, [""; 0]);
}

#[test]
fn memory_of_managed_pools_is_not_tracked() {
    let mut log = LogWriter::default();
    create_pool(&mut log, 77, 2, 1);
    from_pool(&mut log, 77, BASE, BASE, MIB);
    sample(&mut log, 77, 64 * MIB);
    assert_eq!(tracked_bytes(&log), 0);
    assert_story(
        &state(&converted(&log).0, 0),
        "[0 32M pool 0.1 expandable: 1M/1M -31M]",
    );
}

#[test]
fn what_a_pool_holds_beyond_its_segments_is_unplaced() {
    let mut log = LogWriter::default();
    from_pool(&mut log, 9, BASE, BASE, MIB);
    log.pool(Pool {
        time_ns: log.offset() * 1000,
        pool: 9,
        reserved_bytes: 96 * MIB,
        used_bytes: MIB,
        flags: pool_flags::DEFAULT,
        ..Pool::default()
    });
    assert_eq!(tracked_bytes(&log), 96 * MIB);
    let (snapshot, report) = converted(&log);
    assert_story(&state(&snapshot, 0), "[0 32M expandable: 1M/1M -31M]");
    let memory = &snapshot.extras["capture"]["memory"][0];
    assert_eq!(memory["pool_reserved_bytes"], 96 * MIB);
    assert_eq!(memory["pool_used_bytes"], MIB);
    assert_eq!(memory["pool_unplaced_bytes"], 64 * MIB);
    assert!(report.notes[0].starts_with("Pool, unplaced: pools of device 0 hold 67108864 bytes"));
    // It is placed as soon as the driver names a mapping.
    from_pool(&mut log, 9, BASE + 32 * MIB, BASE + 32 * MIB, MIB);
    from_pool(&mut log, 9, BASE + 64 * MIB, BASE + 64 * MIB, MIB);
    assert_eq!(tracked_bytes(&log), 96 * MIB);
    assert_eq!(converted(&log).1.notes, [""; 0]);
}

#[test]
fn a_pool_that_was_not_destroyed_holds_what_it_held() {
    let mut log = LogWriter::default();
    from_pool(&mut log, 9, BASE, BASE, MIB);
    sample(&mut log, 9, 96 * MIB);
    let before = converted(&log);
    refused(&mut log, Call::cuMemPoolDestroy, 0, 9);
    assert_eq!(tracked_bytes(&log), 96 * MIB);
    let (snapshot, report) = converted(&log);
    assert_eq!(report.notes, before.1.notes);
    // Nor was there a time without it.
    let samples = |snapshot: &vramscope_core::Snapshot| -> Vec<u64> {
        let memory = snapshot.extras["capture"]["memory"].as_array().unwrap();
        let reserved = |it: &serde_json::Value| it["pool_reserved_bytes"].as_u64().unwrap();
        memory.iter().map(reserved).collect()
    };
    assert_eq!(samples(&before.0), [96 * MIB]);
    assert_eq!(samples(&snapshot), [96 * MIB; 2]);
    // The unknown is still reported.
    let mut log = pools_at_the_end_of_the_context();
    refused(&mut log, Call::cuMemPoolDestroy, 0, 9);
    assert_eq!(converted(&log).1.notes.len(), 2);
}

#[test]
fn the_sample_before_the_first_allocation_is_not_unplaced() {
    let mut log = LogWriter::default();
    sample(&mut log, 9, 32 * MIB);
    from_pool(&mut log, 9, BASE, BASE, MIB);
    let (snapshot, report) = converted(&log);
    assert_eq!(
        snapshot.extras["capture"]["memory"][0]["pool_unplaced_bytes"],
        0
    );
    assert_eq!(report.notes, [""; 0]);
}

#[test]
fn memory_of_graphs_is_tracked_as_the_driver_says() {
    let mut log = LogWriter::default();
    let node = Event {
        address: BASE,
        size_bytes: 2 * MIB,
        pool: 5,
        ..event(&log, Call::cuGraphAddMemAllocNode)
    };
    log.event(node);
    // Before the launch there is no memory, although there is a block.
    assert_eq!(tracked_bytes(&log), 0);
    let graphs = |log: &mut LogWriter, reserved_bytes, used_bytes| {
        log.pool(Pool {
            time_ns: log.offset() * 1000,
            pool: 1,
            reserved_bytes,
            used_bytes,
            flags: pool_flags::GRAPHS,
            ..Pool::default()
        });
    };
    graphs(&mut log, 8 * MIB, 2 * MIB);
    assert_eq!(tracked_bytes(&log), 8 * MIB);
    let (snapshot, report) = converted(&log);
    let last = |snapshot: &vramscope_core::Snapshot| {
        let memory = snapshot.extras["capture"]["memory"].as_array().unwrap();
        memory.last().unwrap().clone()
    };
    let sample = last(&snapshot);
    assert_eq!(sample["graph_reserved_bytes"], 8 * MIB);
    assert_eq!(sample["graph_used_bytes"], 2 * MIB);
    assert_eq!(sample["pool_unplaced_bytes"], 6 * MIB);
    assert!(report.notes[0].starts_with("Pool, unplaced: pools of device 0 hold 6291456 bytes"));
    graphs(&mut log, 0, 0);
    assert_eq!(tracked_bytes(&log), 0);
    let (snapshot, report) = converted(&log);
    assert!(last(&snapshot)["graph_reserved_bytes"].is_null());
    assert_eq!(report.notes, [""; 0]);
}

#[test]
fn mappings_that_are_no_chunks_are_not_segments() {
    let mut log = LogWriter::default();
    // The driver names the whole range of addresses of the pool instead of its memory.
    for index in 0..4 {
        let address = BASE + index * 2 * MIB;
        from_pool(&mut log, 9, BASE, address, MIB);
        sample(&mut log, 9, (index + 1) * 2 * MIB);
    }
    free(&mut log, Call::cuMemFreeAsync, BASE);
    for index in 1..4 {
        free(&mut log, Call::cuMemFreeAsync, BASE + index * 2 * MIB);
    }
    from_pool(&mut log, 9, BASE, BASE + 2 * MIB, MIB);
    sample(&mut log, 9, 8 * MIB);
    let (snapshot, report) = converted(&log);
    assert_story(&state(&snapshot, 0), "[2M 1M: 1M/1M]");
    assert_eq!(tracked_bytes(&log), 8 * MIB, "what the driver says");
    assert!(report.notes[0].starts_with("Pool 0.0: the mappings that the driver names"));
}

/// As driver 580 does: chunks are adjacent, and the driver names the one in which an allocation begins.
#[test]
fn allocations_of_pools_may_end_in_a_later_chunk() {
    let mut log = LogWriter::default();
    from_pool(&mut log, 9, BASE, BASE, MIB);
    from_pool(&mut log, 9, BASE, BASE + MIB, 100 * MIB);
    from_pool(&mut log, 9, BASE + 96 * MIB, BASE + 101 * MIB, MIB);
    sample(&mut log, 9, 128 * MIB);
    let (snapshot, report) = converted(&log);
    assert_story(
        &story(&snapshot, 0),
        "segment_map 0 32M
         alloc 0 1M
         segment_map 32M 96M
         alloc 1M 100M
         alloc 101M 1M
         [0 128M expandable: 1M/1M 100M/100M 1M/1M -26M]",
    );
    assert_eq!(report.notes, [""; 0]);
    assert_eq!(tracked_bytes(&log), 128 * MIB);
    // A free that the driver refuses changes nothing.
    refused(&mut log, Call::cuMemFreeAsync, BASE + MIB, 0);
    assert_eq!(state(&converted(&log).0, 0), state(&snapshot, 0));
    free(&mut log, Call::cuMemFreeAsync, BASE + MIB);
    sample(&mut log, 9, 64 * MIB);
    let (snapshot, report) = converted(&log);
    assert_story(
        &state(&snapshot, 0),
        "[0 32M expandable: 1M/1M -31M]
         [96M 32M expandable: -5M 1M/1M -26M]",
    );
    assert_eq!(report.notes, [""; 0]);
}

/// With an entry for each chunk, a ring would have no room for anything else.
#[test]
fn chunks_that_come_or_go_together_are_one_entry() {
    let mut log = LogWriter::default();
    from_pool(&mut log, 9, BASE, BASE, 10_240 * MIB);
    // Chunks of another pool are separate, however close.
    from_pool(&mut log, 8, BASE + 10_240 * MIB, BASE + 10_240 * MIB, MIB);
    free(&mut log, Call::cuMemFreeAsync, BASE);
    // Some of them are in use again.
    from_pool(&mut log, 9, BASE + 64 * MIB, BASE + 64 * MIB, MIB);
    sample(&mut log, 9, 32 * MIB);
    free(&mut log, Call::cuMemFreeAsync, BASE + 64 * MIB);
    sample(&mut log, 9, 0);
    let (snapshot, report) = converted(&log);
    assert_story(
        &story(&snapshot, 0),
        "segment_map 0 10240M
         alloc 0 10240M
         segment_map 10240M 32M
         alloc 10240M 1M
         free 0 10240M
         alloc 64M 1M
         segment_unmap 0 64M
         segment_unmap 96M 10144M
         free 64M 1M
         segment_unmap 64M 32M
         [10240M 32M expandable: 1M/1M -31M]",
    );
    assert_eq!(report.notes, [""; 0]);
}

/// Chunks that end with one free have an entry of their own: the driver may refuse only that free.
#[test]
fn chunks_that_go_with_two_frees_are_two_entries() {
    let mut log = LogWriter::default();
    for address in [BASE, BASE + 32 * MIB] {
        from_pool(&mut log, 9, address, address, MIB);
    }
    log.event(Event {
        pool: 9,
        ..event(&log, Call::cuMemPoolDestroy)
    });
    let recording = RecordingOptions {
        skip_actions: vec![Action::FreeRequested, Action::FreeCompleted],
        ..RecordingOptions::default()
    };
    let options = ConvertOptions {
        recording,
        ..ConvertOptions::default()
    };
    let time_ns = log.offset() * 1000;
    for (address, thread) in [(BASE, 1), (BASE + 32 * MIB, 2)] {
        log.event(Event {
            address,
            thread,
            time_ns,
            ..event(&log, Call::cuMemFreeAsync)
        });
    }
    log.event(Event {
        address: BASE,
        time_ns,
        result: 1,
        flags: flags::FREE_FAILED,
        ..event(&log, Call::cuMemFreeAsync)
    });
    // The frees left out are missing from the state that the events lead to.
    let symbols = &mut Numbers::default();
    let (snapshot, _) = convert(&log.bytes(), &options, symbols, &mut |_, _| {}).unwrap();
    assert_story(
        &story(&snapshot, 0),
        "segment_map 0 32M
         alloc 0 1M
         segment_map 32M 32M
         alloc 32M 1M
         segment_unmap 32M 32M
         [0 32M expandable: 1M/1M -31M]",
    );
}

/// A program that divides an allocation knows nothing of the driver's chunks.
#[test]
fn parts_of_an_allocation_may_end_in_a_later_chunk() {
    let mut log = LogWriter::default();
    from_pool(&mut log, 9, BASE, BASE, 60 * MIB);
    from_pool(&mut log, 9, BASE + 32 * MIB, BASE + 60 * MIB, MIB);
    for (address, bytes) in [(BASE, MIB), (BASE + 30 * MIB, 4 * MIB)] {
        alloc(&mut log, Call::suballoc, address, bytes);
    }
    let (snapshot, report) = converted(&log);
    assert_story(
        &state(&snapshot, 0),
        "[0 64M expandable: 1M/1M -29M 4M/4M -26M 1M/1M -3M]",
    );
    assert_eq!(report.notes, [""; 0]);
    free(&mut log, Call::cuMemFreeAsync, BASE);
    assert_story(
        &state(&converted(&log).0, 0),
        "[0 64M expandable: -60M 1M/1M -3M]",
    );
}

/// A heap that the program maps piece by piece.
#[test]
fn parts_may_lie_in_memory_that_was_mapped_piece_by_piece() {
    let mut log = LogWriter::default();
    for piece in 0..3 {
        map(&mut log, Call::cuMemCreate, 0, 2 * MIB, 7 + piece);
        let address = BASE + piece * 2 * MIB;
        map(&mut log, Call::cuMemMap, address, 2 * MIB, 7 + piece);
    }
    for (address, bytes) in [(BASE, MIB), (BASE + MIB, 2 * MIB), (BASE + 3 * MIB, MIB)] {
        alloc(&mut log, Call::suballoc, address, bytes);
    }
    let (snapshot, report) = converted(&log);
    assert_story(
        &state(&snapshot, 0),
        "[0 6M expandable: 1M/1M 2M/2M 1M/1M 2M/2M]",
    );
    assert_eq!(report.notes, [""; 0]);
    assert_eq!(tracked_bytes(&log), 6 * MIB);
    free(&mut log, Call::subfree, BASE);
    map(&mut log, Call::cuMemUnmap, BASE + 2 * MIB, 2 * MIB, 0);
    let (snapshot, report) = converted(&log);
    assert_story(
        &state(&snapshot, 0),
        "[0 2M expandable: -2M]
         [4M 2M expandable: 2M/2M]",
    );
    assert_eq!(report.notes, [""; 0]);
}

/// Many adjacent small allocations, which are declared to be one part again and again.
#[test]
fn parts_of_too_many_allocations_are_soon_left_out() {
    let mut log = LogWriter::default();
    let count = 40_000;
    for index in 0..count {
        let small = Event {
            address: BASE + index * 512,
            size_bytes: 512,
            mapping_base: BASE,
            mapping_bytes: 32 * MIB,
            ..event(&log, Call::cuMemAlloc)
        };
        log.event(small);
    }
    for _ in 0..count {
        alloc(&mut log, Call::suballoc, BASE, count * 512);
    }
    assert_eq!(tracked_bytes(&log), count * 512);
}

/// The log's statement about the second allocation is impossible. The third one has that address, but does not lie partly in
/// its segment.
#[test]
fn an_allocation_of_a_pool_never_ends_in_another_owners_segment() {
    let mut log = LogWriter::default();
    let plain = Event {
        address: BASE + 31 * MIB + 4 * MIB,
        size_bytes: MIB,
        mapping_base: BASE + 32 * MIB,
        mapping_bytes: 8 * MIB,
        ..event(&log, Call::cuMemAlloc)
    };
    log.event(plain);
    from_pool(&mut log, 9, BASE, BASE + 30 * MIB, 3 * MIB);
    assert_story(
        &state(&converted(&log).0, 0),
        "[0 64M expandable: -30M 3M/3M -31M]",
    );
}

/// The mapping is a byte long, the allocation a TiB.
#[test]
fn a_tiny_chunk_of_a_huge_allocation_is_not_repeated() {
    let mut log = LogWriter::default();
    let absurd = Event {
        address: BASE,
        size_bytes: 1 << 40,
        pool: 9,
        mapping_base: BASE,
        mapping_bytes: 1,
        ..event(&log, Call::cuMemAllocAsync)
    };
    log.event(absurd);
    let (snapshot, _) = converted(&log);
    assert_eq!(snapshot.trace(0).len(), 2, "a mapping and an allocation");
    assert_story(
        &state(&snapshot, 0),
        "[0 1048576M expandable: 1048576M/1048576M]",
    );
}

/// A destroyed pool releases each chunk with its last allocation, and the driver refuses that again and again.
#[test]
fn a_refused_free_of_many_chunks_is_soon_undone() {
    let mut log = LogWriter::default();
    let huge = Event {
        address: BASE,
        size_bytes: 60_000 * MIB,
        pool: 9,
        mapping_base: BASE,
        mapping_bytes: MIB,
        ..event(&log, Call::cuMemAllocAsync)
    };
    log.event(huge);
    let destroy = Event {
        pool: 9,
        ..event(&log, Call::cuMemPoolDestroy)
    };
    log.event(destroy);
    for _ in 0..10 {
        refused(&mut log, Call::cuMemFreeAsync, BASE, 0);
    }
    let (snapshot, report) = converted(&log);
    assert_story(&state(&snapshot, 0), "[0 60000M expandable: 60000M/60000M]");
    assert_eq!(report.notes, [""; 0]);
}

/// Each large allocation lies in chunks that the pool already has.
#[test]
fn only_chunks_that_are_added_count_against_the_bound() {
    let mut log = LogWriter::default();
    for _ in 0..300 {
        from_pool(&mut log, 9, BASE, BASE, 10_000 * MIB);
        free(&mut log, Call::cuMemFreeAsync, BASE);
    }
    let other = BASE + 320_000 * MIB;
    from_pool(&mut log, 9, other, other, 10_010 * MIB);
    assert_story(
        &state(&converted(&log).0, 0),
        "[0 10016M expandable: -10016M]
         [320000M 10016M expandable: 10010M/10010M -6M]",
    );
}

/// The driver's names turned out not to be chunks, but the allocations placed by them are still there.
#[test]
fn what_is_no_chunk_after_all_keeps_its_allocations() {
    let mut log = LogWriter::default();
    for chunk in [BASE, BASE + 64 * MIB] {
        from_pool(&mut log, 9, chunk, chunk + 16 * MIB, MIB);
    }
    for _ in 0..3 {
        sample(&mut log, 9, 2 * MIB);
    }
    from_pool(&mut log, 9, BASE, BASE + 30 * MIB, 40 * MIB);
    let (snapshot, report) = converted(&log);
    assert_story(
        &state(&snapshot, 0),
        "[0 96M expandable: -16M 1M/1M -13M 40M/40M -10M 1M/1M -15M]",
    );
    assert_eq!(report.notes.len(), 1, "{:?}", report.notes);
    free(&mut log, Call::cuMemFreeAsync, BASE + 30 * MIB);
    assert_story(
        &state(&converted(&log).0, 0),
        "[0 32M expandable: -16M 1M/1M -15M]
         [64M 32M expandable: -16M 1M/1M -15M]",
    );
}
