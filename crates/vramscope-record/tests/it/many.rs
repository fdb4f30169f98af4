//! Logs of very many contexts, pools and arrays. Each record must take time only for the few that it is about: handling all
//! of them would take minutes here, and days for a log of some hundred megabytes.

use vramscope_record::layout::{Call, Event, Memory, Pool, pool_flags};
use vramscope_record::writer::LogWriter;

use crate::support::{
    BASE, MIB, alloc, assert_story, converted, event, free, from_pool, refused, state,
};

const MANY: u64 = 30_000;

/// An event of the context with this number.
fn in_context(log: &LogWriter, call: Call, context: u64) -> Event {
    Event {
        context,
        ..event(log, call)
    }
}

#[test]
fn contexts_with_an_allocation_and_an_array_each() {
    let mut log = LogWriter::default();
    // These outlive all contexts.
    for index in 0..MANY {
        alloc(&mut log, Call::cuMemAlloc, BASE + index * 2 * MIB, 1);
    }
    for context in 2..MANY + 2 {
        let at = BASE + (MANY + context) * 2 * MIB;
        for (call, address) in [(Call::cuMemAlloc, at), (Call::cuArrayCreate, context)] {
            log.event(Event {
                address,
                size_bytes: 1,
                ..in_context(&log, call, context)
            });
        }
        log.memory(Memory::default());
    }
    for context in 2..MANY + 2 {
        log.event(in_context(&log, Call::cuCtxDestroy, context));
    }
    let (snapshot, report) = converted(&log);
    assert_eq!(snapshot.segments.rows.len() as u64, MANY);
    assert_eq!(report.notes, [""; 0]);
}

#[test]
fn pools_whose_memory_outlives_contexts() {
    let mut log = LogWriter::default();
    for pool in 2..MANY + 2 {
        let address = BASE + pool * 32 * MIB;
        log.event(Event {
            address,
            size_bytes: MIB,
            pool,
            mapping_base: address,
            mapping_bytes: 32 * MIB,
            ..in_context(&log, Call::cuMemAllocAsync, 0)
        });
        log.pool(Pool {
            pool,
            reserved_bytes: 32 * MIB,
            used_bytes: MIB,
            ..Pool::default()
        });
    }
    for _ in 0..MANY {
        log.event(event(&log, Call::cuDevicePrimaryCtxReset));
    }
    // Each pool but the first is sampled, and turns out to have ended with the context.
    for pool in 3..MANY + 2 {
        log.pool(Pool {
            pool,
            flags: pool_flags::CONTEXT_ENDED,
            ..Pool::default()
        });
    }
    let (snapshot, report) = converted(&log);
    assert_story(
        &state(&snapshot, 0),
        "[64M 32M pool 0.1 expandable: 1M/1M -31M]",
    );
    let [note] = report.notes.as_slice() else {
        panic!("{:?}", report.notes)
    };
    assert!(note.starts_with("A memory pool of device 0 had 1048576 bytes"));
}

/// The lists computed at the first end are maintained afterwards.
#[test]
fn ends_after_the_first_one_end_what_came_meanwhile() {
    let mut log = LogWriter::default();
    let begin = |log: &mut LogWriter, context: u64, slot: u64| {
        log.event(Event {
            address: BASE + slot * 32 * MIB,
            size_bytes: MIB,
            pool: 9,
            mapping_base: BASE + slot * 32 * MIB,
            mapping_bytes: 32 * MIB,
            ..in_context(log, Call::cuMemAllocAsync, context)
        });
    };
    for (context, slot) in [(1, 0), (2, 1), (1, 2)] {
        begin(&mut log, context, slot);
    }
    log.event(in_context(&log, Call::cuCtxDestroy, 1));
    assert_story(
        &state(&converted(&log).0, 0),
        "[32M 32M expandable: 1M/1M -31M]",
    );
    begin(&mut log, 2, 0);
    begin(&mut log, 3, 3);
    free(&mut log, Call::cuMemFreeAsync, BASE + 32 * MIB);
    from_pool(&mut log, 9, BASE + 32 * MIB, BASE + 40 * MIB, MIB);
    refused(&mut log, Call::cuMemFreeAsync, BASE, 0);
    log.event(in_context(&log, Call::cuCtxDestroy, 2));
    assert_story(
        &state(&converted(&log).0, 0),
        "[32M 32M expandable: -8M 1M/1M -23M]
         [96M 32M expandable: 1M/1M -31M]",
    );
    // An unknown context of the device: all of them.
    log.event(in_context(&log, Call::cuDevicePrimaryCtxReset, 0));
    assert_story(&state(&converted(&log).0, 0), "");
}
