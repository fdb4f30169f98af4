//! The result of each driver call in the snapshot.

use vramscope_record::layout::{Call, Event, Memory, flags};
use vramscope_record::writer::LogWriter;

use crate::support::{
    BASE, MIB, alloc, assert_story, converted, event, free, from_pool, map, refused, sample, state,
    story, tracked_bytes,
};

#[track_caller]
fn assert_trace(log: &LogWriter, expected: &str) {
    assert_story(&story(&converted(log).0, 0), expected);
}

#[test]
fn a_plain_allocation_is_a_segment_and_a_block() {
    let mut log = LogWriter::default();
    alloc(&mut log, Call::cuMemAlloc, BASE, 1000);
    alloc(&mut log, Call::cuMemAllocManaged, BASE + 4 * MIB, 3 * MIB);
    free(&mut log, Call::cuMemFree, BASE);
    assert_trace(
        &log,
        "segment_alloc 0 2M
         alloc 0 1000
         segment_alloc 4M 4M
         alloc 4M 3M
         free 0 1000
         segment_free 0 2M
         [4M 4M: 3M/3M -1M]",
    );
}

#[test]
fn small_allocations_share_a_mapping_until_the_last_is_gone() {
    let mut log = LogWriter::default();
    for (address, size_bytes) in [(BASE, 100), (BASE + 512, 700)] {
        let event = Event {
            address,
            size_bytes,
            mapping_base: BASE,
            mapping_bytes: 2 * MIB,
            ..event(&log, Call::cuMemAlloc)
        };
        log.event(event);
    }
    assert_trace(
        &log,
        "segment_alloc 0 2M
         alloc 0 100
         alloc 512 700
         [0 2M: 100/512 700/1024 -1M+1047040]",
    );
    free(&mut log, Call::cuMemFree, BASE);
    free(&mut log, Call::cuMemFree, BASE + 512);
    assert_trace(
        &log,
        "segment_alloc 0 2M
         alloc 0 100
         alloc 512 700
         free 0 100
         free 512 700
         segment_free 0 2M",
    );
}

#[test]
fn what_the_driver_does_not_place_has_a_segment_of_its_own() {
    let mut log = LogWriter::default();
    for (address, size_bytes) in [(BASE, 100), (BASE + 256, 700)] {
        let event = Event {
            address,
            size_bytes,
            ..event(&log, Call::cuMemAllocAsync)
        };
        log.event(event);
    }
    free(&mut log, Call::cuMemFreeAsync, BASE + 256);
    assert_trace(
        &log,
        "segment_alloc 0 512
         alloc 0 100
         free 0 100
         segment_free 0 512
         segment_alloc 256 1024
         alloc 256 700
         free 256 700
         segment_free 256 1024",
    );
}

#[test]
fn a_pool_keeps_its_segments_until_it_is_trimmed() {
    let mut log = LogWriter::default();
    for index in 0..3 {
        let base = BASE + index * 32 * MIB;
        from_pool(&mut log, 9, base, base, MIB);
    }
    from_pool(&mut log, 9, BASE, BASE + MIB, MIB);
    for index in [2, 0, 1] {
        free(&mut log, Call::cuMemFreeAsync, BASE + index * 32 * MIB);
    }
    sample(&mut log, 9, 96 * MIB);
    sample(&mut log, 9, 64 * MIB);
    assert_trace(
        &log,
        "segment_map 0 32M
         alloc 0 1M
         segment_map 32M 32M
         alloc 32M 1M
         segment_map 64M 32M
         alloc 64M 1M
         alloc 1M 1M
         free 64M 1M
         free 0 1M
         free 32M 1M
         segment_unmap 64M 32M
         [0 64M expandable: -1M 1M/1M -62M]",
    );
    let trim = Event {
        pool: 9,
        size_bytes: 0,
        ..event(&log, Call::cuMemPoolTrimTo)
    };
    log.event(trim);
    sample(&mut log, 9, 32 * MIB);
    assert_story(
        &state(&converted(&log).0, 0),
        "[0 32M expandable: -1M 1M/1M -30M]",
    );
}

#[test]
fn other_pools_have_numbers_and_graphs_too() {
    let mut log = LogWriter::default();
    let create = Event {
        pool: 77,
        ..event(&log, Call::cuMemPoolCreate)
    };
    log.event(create);
    from_pool(&mut log, 5, BASE, BASE, MIB);
    from_pool(&mut log, 77, BASE + 32 * MIB, BASE + 32 * MIB, MIB);
    let captured = Event {
        address: BASE + 64 * MIB,
        size_bytes: MIB,
        pool: 3,
        flags: flags::CAPTURING,
        ..event(&log, Call::cuMemAllocAsync)
    };
    log.event(captured);
    assert_story(
        &state(&converted(&log).0, 0),
        "[0 32M expandable: 1M/1M -31M]
         [32M 32M pool 0.1 expandable: 1M/1M -31M]
         [64M 1M pool 1.0: 1M/1M]",
    );
    free(&mut log, Call::cuMemFreeAsync, BASE + 32 * MIB);
    let destroy = Event {
        pool: 77,
        ..event(&log, Call::cuMemPoolDestroy)
    };
    log.event(destroy);
    assert_story(
        &state(&converted(&log).0, 0),
        "[0 32M expandable: 1M/1M -31M]
         [64M 1M pool 1.0: 1M/1M]",
    );
}

#[test]
fn mappings_side_by_side_are_one_expandable_segment() {
    let mut log = LogWriter::default();
    map(&mut log, Call::cuMemCreate, 0, 4 * MIB, 7);
    map(&mut log, Call::cuMemMap, BASE, 4 * MIB, 7);
    map(&mut log, Call::cuMemMap, BASE + 4 * MIB, 2 * MIB, 8);
    assert_trace(
        &log,
        "segment_map 0 4M
         alloc 0 4M
         segment_map 4M 2M
         alloc 4M 2M
         [0 6M expandable: 4M/4M 2M/2M]",
    );
    map(&mut log, Call::cuMemUnmap, BASE + 2 * MIB, 3 * MIB, 0);
    assert_trace(
        &log,
        "segment_map 0 4M
         alloc 0 4M
         segment_map 4M 2M
         alloc 4M 2M
         free 0 4M
         segment_unmap 2M 2M
         alloc 0 2M
         free 4M 2M
         segment_unmap 4M 1M
         alloc 5M 1M
         [0 2M expandable: 2M/2M]
         [5M 1M expandable: 1M/1M]",
    );
    // The driver does not unmap parts of a mapping.
    let failed = Event {
        address: BASE + 2 * MIB,
        flags: flags::FREE_FAILED,
        result: 1,
        ..event(&log, Call::cuMemUnmap)
    };
    log.event(failed);
    assert_trace(
        &log,
        "segment_map 0 4M
         alloc 0 4M
         segment_map 4M 2M
         alloc 4M 2M
         [0 6M expandable: 4M/4M 2M/2M]",
    );
    map(&mut log, Call::cuMemUnmap, BASE, 6 * MIB, 0);
    assert_story(&state(&converted(&log).0, 0), "");
}

#[test]
fn a_free_that_failed_did_not_happen() {
    let mut log = LogWriter::default();
    alloc(&mut log, Call::cuMemAlloc, BASE, MIB);
    free(&mut log, Call::cuMemFree, BASE);
    let failed = Event {
        address: BASE,
        flags: flags::FREE_FAILED,
        result: 700,
        ..event(&log, Call::cuMemFree)
    };
    log.event(failed);
    let expected = "segment_alloc 0 2M
         alloc 0 1M
         [0 2M: 1M/1M -1M]";
    assert_trace(&log, expected);
    // Memory that never existed was not freed.
    free(&mut log, Call::cuMemFree, BASE + 5);
    log.event(Event {
        address: BASE + 5,
        ..failed
    });
    assert_trace(&log, expected);
    assert_eq!(converted(&log).1.notes, [""; 0]);
}

#[test]
fn what_takes_no_room_or_was_there_before_is_counted() {
    let mut log = LogWriter::default();
    alloc(&mut log, Call::cuMemAllocAsync, BASE, 0);
    free(&mut log, Call::cuMemFreeAsync, BASE);
    free(&mut log, Call::cuMemFree, 0);
    free(&mut log, Call::cuMemFree, BASE + MIB);
    assert_trace(&log, "");
    let notes = converted(&log).1.notes;
    assert_eq!(notes.len(), 1);
    assert!(notes[0].starts_with("1 record freed memory that was not seen being allocated"));
}

#[test]
fn running_out_of_memory_says_what_was_free() {
    let mut log = LogWriter::default();
    let failed = Event {
        result: 2,
        size_bytes: 1 << 40,
        mapping_base: 5 * MIB,
        mapping_bytes: 100 * MIB,
        ..event(&log, Call::cuMemAlloc)
    };
    log.event(failed);
    let (snapshot, _) = converted(&log);
    assert_story(&story(&snapshot, 0), "oom 0x500000 1048576M");
    let memory = &snapshot.extras["capture"]["memory"][0];
    assert_eq!(memory["free_bytes"], 5 * MIB);
    assert_eq!(memory["total_bytes"], 100 * MIB);
}

#[test]
fn a_context_takes_what_lived_in_it() {
    let mut log = LogWriter::default();
    alloc(&mut log, Call::cuMemAlloc, BASE, MIB);
    from_pool(&mut log, 9, BASE + 32 * MIB, BASE + 32 * MIB, MIB);
    from_pool(&mut log, 9, BASE + 64 * MIB, BASE + 64 * MIB, MIB);
    free(&mut log, Call::cuMemFreeAsync, BASE + 64 * MIB);
    let other = Event {
        address: BASE + 4 * MIB,
        size_bytes: MIB,
        context: 2,
        ..event(&log, Call::cuMemAlloc)
    };
    log.event(other);
    let end = Event {
        stack: 4,
        ..event(&log, Call::cuCtxDestroy)
    };
    log.stack(4, &[0x40]);
    log.event(end);
    let (snapshot, _) = converted(&log);
    assert_story(&state(&snapshot, 0), "[4M 1M: 1M/1M]");
    let last = snapshot.events.stack.last().copied().unwrap();
    let frames = snapshot.stacks.frames(last);
    let names: Vec<_> = frames
        .map(|id| snapshot.strings.get(snapshot.frames.get(id).name))
        .collect();
    assert_eq!(names, ["cuCtxDestroy", "0x40"]);
}

#[test]
fn pieces_of_an_arena_are_blocks_and_the_arena_is_none() {
    let mut log = LogWriter::default();
    alloc(&mut log, Call::cuMemAlloc, BASE, 16 * MIB);
    let piece = |log: &mut LogWriter, address, size_bytes| {
        let event = Event {
            address,
            size_bytes,
            ..event(log, Call::suballoc)
        };
        log.event(event);
    };
    piece(&mut log, BASE, 100);
    piece(&mut log, BASE + MIB, MIB);
    free(&mut log, Call::subfree, BASE);
    assert_trace(
        &log,
        "segment_alloc 0 16M
         alloc 0 100
         alloc 1M 1M
         free 0 100
         [0 16M: -1M 1M/1M -14M]",
    );
    free(&mut log, Call::cuMemFree, BASE);
    assert_trace(
        &log,
        "segment_alloc 0 16M
         alloc 0 100
         alloc 1M 1M
         free 0 100
         free 1M 1M
         segment_free 0 16M",
    );
    let failed = Event {
        address: BASE,
        flags: flags::FREE_FAILED,
        result: 1,
        ..event(&log, Call::cuMemFree)
    };
    log.event(failed);
    piece(&mut log, BASE + 3 * MIB, MIB);
    assert_story(
        &state(&converted(&log).0, 0),
        "[0 16M: -1M 1M/1M -1M 1M/1M -12M]",
    );
}

#[test]
fn pinned_memory_is_the_hosts() {
    let mut log = LogWriter::default();
    let pinned = Event {
        address: 0x1000,
        size_bytes: 5000,
        ..event(&log, Call::cuMemHostAlloc)
    };
    log.event(pinned);
    let (snapshot, _) = converted(&log);
    assert_story(&state(&snapshot, -1), "[0x1000 5000: 5000/5000]");
    assert_eq!(snapshot.host_trace.len(), 2);
    assert!(snapshot.trace(0).is_empty());
    free(&mut log, Call::cuMemFreeHost, 0x1000);
    assert_story(&state(&converted(&log).0, -1), "");
}

#[test]
fn another_processes_memory_is_closed_as_often_as_it_was_opened() {
    let mut log = LogWriter::default();
    alloc(&mut log, Call::cuIpcOpenMemHandle, BASE, MIB);
    alloc(&mut log, Call::cuIpcOpenMemHandle, BASE, MIB);
    free(&mut log, Call::cuIpcCloseMemHandle, BASE);
    assert_story(&state(&converted(&log).0, 0), "[0 2M: 1M/1M -1M]");
    free(&mut log, Call::cuIpcCloseMemHandle, BASE);
    assert_story(&state(&converted(&log).0, 0), "");
    assert_eq!(converted(&log).1.notes, [""; 0]);
}

#[test]
fn tracked_bytes_are_segments_arrays_and_unmapped_memory_of_this_process() {
    let mut log = LogWriter::default();
    alloc(&mut log, Call::cuMemAlloc, BASE, MIB);
    let imported = Event {
        address: BASE + 8 * MIB,
        size_bytes: MIB,
        flags: flags::NOT_OWNED,
        ..event(&log, Call::cuIpcOpenMemHandle)
    };
    log.event(imported);
    let array = Event {
        address: 0x99,
        size_bytes: 10,
        ..event(&log, Call::cuArrayCreate)
    };
    log.event(array);
    map(&mut log, Call::cuMemCreate, 0, 4 * MIB, 7);
    map(&mut log, Call::cuMemMap, BASE + 16 * MIB, MIB, 7);
    log.memory(Memory {
        free_bytes: 3,
        total_bytes: 4,
        ..Memory::default()
    });
    let (snapshot, report) = converted(&log);
    let memory = &snapshot.extras["capture"]["memory"][0];
    assert_eq!(memory["tracked_bytes"], 2 * MIB + 10 + 4 * MIB);
    assert!(report.notes[0].starts_with("Arrays and textures hold 10 bytes on device 0."));
}

#[test]
fn what_lies_where_something_was_ends_it() {
    let mut log = LogWriter::default();
    alloc(&mut log, Call::cuMemAlloc, BASE, 3 * MIB);
    alloc(&mut log, Call::cuMemAlloc, BASE + MIB, MIB);
    let (snapshot, report) = converted(&log);
    assert_story(
        &story(&snapshot, 0),
        "segment_alloc 0 4M
         alloc 0 3M
         free 0 3M
         segment_free 0 4M
         segment_alloc 1M 2M
         alloc 1M 1M
         [1M 2M: 1M/1M -1M]",
    );
    assert!(report.notes[0].contains("whose free is missing"));
}

#[test]
fn a_name_given_to_an_allocation_is_an_annotation_of_it() {
    let mut log = LogWriter::default();
    log.text(3, "weights");
    alloc(&mut log, Call::cuMemAlloc, BASE, MIB);
    let named = Event {
        address: BASE,
        pool: 3,
        ..event(&log, Call::annotate)
    };
    log.event(named);
    let (snapshot, _) = converted(&log);
    let context = snapshot
        .contexts
        .get(*snapshot.events.context.last().unwrap());
    let text = context.user_metadata.map(|id| snapshot.strings.get(id));
    assert_eq!(text, Some("weights"));
    assert!(story(&snapshot, 0).contains("annotate 0 1M"));
}

#[test]
fn an_address_of_an_empty_allocation_may_be_given_again() {
    let mut log = LogWriter::default();
    alloc(&mut log, Call::cuMemAllocAsync, BASE, 0);
    alloc(&mut log, Call::cuMemAlloc, BASE, MIB);
    free(&mut log, Call::cuMemFree, BASE);
    assert_story(&state(&converted(&log).0, 0), "");
    // A part of 0 bytes at the start of an allocation is not the allocation.
    alloc(&mut log, Call::cuMemAlloc, BASE, MIB);
    alloc(&mut log, Call::suballoc, BASE, 0);
    free(&mut log, Call::cuMemFree, BASE);
    assert_story(&state(&converted(&log).0, 0), "");
}

#[test]
fn a_pool_whose_end_was_refused_keeps_its_segments_and_its_name() {
    let mut log = LogWriter::default();
    let create = Event {
        pool: 77,
        ..event(&log, Call::cuMemPoolCreate)
    };
    log.event(create);
    from_pool(&mut log, 77, BASE, BASE, MIB);
    from_pool(&mut log, 77, BASE + 32 * MIB, BASE + 32 * MIB, MIB);
    free(&mut log, Call::cuMemFreeAsync, BASE);
    refused(&mut log, Call::cuMemPoolDestroy, 0, 77);
    let expected = "[0 64M pool 0.1 expandable: -32M 1M/1M -31M]";
    assert_story(&state(&converted(&log).0, 0), expected);
    // The pool is trimmed and used as before.
    sample(&mut log, 77, 32 * MIB);
    from_pool(&mut log, 77, BASE + 64 * MIB, BASE + 64 * MIB, MIB);
    assert_story(
        &state(&converted(&log).0, 0),
        "[32M 64M pool 0.1 expandable: 1M/1M -31M 1M/1M -31M]",
    );
}

#[test]
fn physical_memory_arrays_and_openings_that_were_not_given_up_stay() {
    let mut log = LogWriter::default();
    map(&mut log, Call::cuMemCreate, 0, 4 * MIB, 7);
    refused(&mut log, Call::cuMemRelease, 0, 7);
    assert_eq!(tracked_bytes(&log), 4 * MIB);
    map(&mut log, Call::cuMemRelease, 0, 0, 7);
    assert_eq!(tracked_bytes(&log), 0);

    for (create, destroy) in [
        (Call::cuArrayCreate, Call::cuArrayDestroy),
        (Call::cuMipmappedArrayCreate, Call::cuMipmappedArrayDestroy),
    ] {
        alloc(&mut log, create, 0x99, 10);
        refused(&mut log, destroy, 0x99, 0);
        assert_eq!(tracked_bytes(&log), 10);
        free(&mut log, destroy, 0x99);
        assert_eq!(tracked_bytes(&log), 0);
    }

    for _ in 0..2 {
        alloc(&mut log, Call::cuIpcOpenMemHandle, BASE, MIB);
    }
    for _ in 0..3 {
        refused(&mut log, Call::cuIpcCloseMemHandle, BASE, 0);
    }
    free(&mut log, Call::cuIpcCloseMemHandle, BASE);
    refused(&mut log, Call::cuIpcCloseMemHandle, BASE, 0);
    assert_story(&state(&converted(&log).0, 0), "[0 2M: 1M/1M -1M]");
    free(&mut log, Call::cuIpcCloseMemHandle, BASE);
    assert_story(&state(&converted(&log).0, 0), "");
    assert_eq!(converted(&log).1.notes, [""; 0]);
}

#[test]
fn a_refusal_undoes_only_the_call_that_it_is_about() {
    let mut log = LogWriter::default();
    alloc(&mut log, Call::cuMemAlloc, BASE, MIB);
    refused(&mut log, Call::cuMemFree, BASE, 0);
    free(&mut log, Call::cuMemFree, BASE);
    for (address, pool) in [(0, 0), (0, 7), (BASE, 7)] {
        let other = Event {
            address,
            pool,
            result: 1,
            flags: flags::FREE_FAILED,
            ..event(&log, Call::cuMemRelease)
        };
        log.event(other);
    }
    refused(&mut log, Call::cuMemFree, 0, 0);
    assert_story(&state(&converted(&log).0, 0), "");
}
