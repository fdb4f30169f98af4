//! Random programs: the snapshot equals the final state of a driver modelled in the simplest way. And random
//! events, which must still give a consistent snapshot.

use proptest::prelude::*;
use vramscope_core::Snapshot;
use vramscope_record::ConvertOptions;
use vramscope_record::layout::{Call, Event, OUT_OF_MEMORY, Pool, flags, pool_flags};
use vramscope_record::model::{Enabled, RecordingOptions};
use vramscope_record::writer::LogWriter;

use crate::support::{BASE, MIB, converted, converted_with, event};

/// A step of a program. Numbers choose among the possibilities.
#[derive(Clone, Debug)]
enum Step {
    Alloc {
        slot: u64,
        kib: u64,
        context: u64,
    },
    Small {
        page: u64,
        slot: u64,
    },
    FromPool {
        pool: u64,
        chunk: u64,
        slot: u64,
        slots: u64,
    },
    Free {
        which: usize,
    },
    FailToFree {
        which: usize,
    },
    Synchronise {
        pool: u64,
        keep: usize,
    },
    Map {
        slot: u64,
    },
    Unmap {
        slot: u64,
        slots: u64,
    },
    Piece {
        which: usize,
        slot: u64,
    },
    FreePiece {
        which: usize,
    },
    EndContext {
        context: u64,
    },
    RunOut,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0u64..6, 1u64..4096, 1u64..3)
            .prop_map(|(slot, kib, context)| Step::Alloc { slot, kib, context }),
        3 => (0u64..2, 0u64..4).prop_map(|(page, slot)| Step::Small { page, slot }),
        6 => (0u64..2, 0u64..4, 0u64..8, 1u64..20)
            .prop_map(|(pool, chunk, slot, slots)| Step::FromPool { pool, chunk, slot, slots }),
        8 => (0usize..64).prop_map(|which| Step::Free { which }),
        2 => (0usize..64).prop_map(|which| Step::FailToFree { which }),
        2 => (0u64..2, 0usize..4).prop_map(|(pool, keep)| Step::Synchronise { pool, keep }),
        3 => (0u64..8).prop_map(|slot| Step::Map { slot }),
        2 => (0u64..8, 1u64..4).prop_map(|(slot, slots)| Step::Unmap { slot, slots }),
        3 => (0usize..8, 0u64..4).prop_map(|(which, slot)| Step::Piece { which, slot }),
        2 => (0usize..8).prop_map(|which| Step::FreePiece { which }),
        1 => (1u64..3).prop_map(|context| Step::EndContext { context }),
        1 => Just(Step::RunOut),
    ];
    proptest::collection::vec(step, 0..120)
}

/// Distance between the address areas of different kinds of allocations, in bytes.
const AREA: u64 = 1 << 32;
const CHUNK: u64 = 32 * MIB;

#[derive(Clone, PartialEq, Eq, Debug)]
struct Mapping {
    start: u64,
    bytes: u64,
    pool: Option<u64>,
    is_range: bool,
    /// Order number of the free that emptied it.
    emptied: usize,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Live {
    start: u64,
    bytes: u64,
    context: u64,
    call: Call,
    /// Whether the program divides it into parts.
    is_arena: bool,
    is_piece: bool,
}

/// A simple driver: lists that are searched from the beginning.
#[derive(Default)]
struct Driver {
    log: LogWriter,
    mappings: Vec<Mapping>,
    live: Vec<Live>,
    step: usize,
}

impl Driver {
    fn overlaps(&self, start: u64, bytes: u64) -> bool {
        self.live
            .iter()
            .any(|it| it.start < start + bytes && start < it.start + it.bytes)
    }

    fn is_empty(&self, mapping: &Mapping) -> bool {
        let end = mapping.start + mapping.bytes;
        !self
            .live
            .iter()
            .any(|it| it.start < end && mapping.start < it.start + it.bytes)
    }

    /// Allocates in a mapping, which is added if it does not exist.
    fn alloc(&mut self, live: Live, mapping: Mapping) {
        let event = Event {
            address: live.start,
            size_bytes: live.bytes,
            context: live.context,
            pool: mapping.pool.map_or(0, |pool| pool + 100),
            mapping_base: mapping.start,
            mapping_bytes: mapping.bytes,
            ..event(&self.log, live.call)
        };
        self.log.event(event);
        if !self.mappings.iter().any(|it| it.start == mapping.start) {
            self.mappings.push(mapping);
        }
        self.live.push(live);
    }

    fn written_free(&mut self, live: &Live) -> Event {
        let call = match live.call {
            Call::cuMemAllocAsync => Call::cuMemFreeAsync,
            _ => Call::cuMemFree,
        };
        let event = Event {
            address: live.start,
            ..event(&self.log, call)
        };
        self.log.event(event);
        event
    }

    /// Frees an allocation with its parts, and mappings that nothing retains.
    fn end(&mut self, live: &Live) {
        let range = live.start..live.start + live.bytes;
        self.live.retain(|it| {
            it != live && !(live.is_arena && it.is_piece && range.contains(&it.start))
        });
        let step = self.step;
        let empty: Vec<_> = self.mappings.iter().map(|it| self.is_empty(it)).collect();
        let mut empty = empty.into_iter();
        self.mappings.retain_mut(|mapping| {
            let is_empty = empty.next().unwrap();
            if is_empty && mapping.emptied == 0 {
                mapping.emptied = step;
            }
            !is_empty || mapping.pool.is_some() || mapping.is_range
        });
        for index in 0..self.mappings.len() {
            if !self.is_empty(&self.mappings[index]) {
                self.mappings[index].emptied = 0;
            }
        }
    }

    fn freeable(&self, which: usize) -> Option<Live> {
        let all = self.live.iter();
        let all: Vec<_> = all
            .filter(|it| !it.is_piece && it.call != Call::cuMemMap)
            .collect();
        all.get(which % all.len().max(1)).map(|&live| live.clone())
    }

    #[expect(clippy::too_many_lines, reason = "an arm for each kind of step")]
    fn run(&mut self, step: &Step) {
        self.step += 1;
        let plain = |start, bytes, context, call| Live {
            start,
            bytes,
            context,
            call,
            is_arena: false,
            is_piece: false,
        };
        let mapping = |start, bytes, pool| Mapping {
            start,
            bytes,
            pool,
            is_range: false,
            emptied: 0,
        };
        match *step {
            Step::Alloc { slot, kib, context } => {
                let (start, bytes) = (BASE + slot * 4 * MIB, kib * 1024);
                if !self.mappings.iter().any(|it| it.start == start) {
                    let held = bytes.next_multiple_of(2 * MIB);
                    let live = plain(start, bytes, context, Call::cuMemAlloc);
                    self.alloc(live, mapping(start, held, None));
                }
            }
            Step::Small { page, slot } => {
                let page = BASE + AREA + page * 2 * MIB;
                let start = page + slot * 1024;
                if !self.overlaps(start, 1000) {
                    let live = plain(start, 1000, 1, Call::cuMemAlloc);
                    self.alloc(live, mapping(page, 2 * MIB, None));
                }
            }
            // Some end in a later chunk than they begin in.
            Step::FromPool {
                pool,
                chunk,
                slot,
                slots,
            } => {
                let chunk = BASE + (2 + 2 * pool) * AREA + chunk * CHUNK;
                let (start, bytes) = (chunk + slot * 4 * MIB, slots * 4 * MIB);
                if !self.overlaps(start, bytes) {
                    let live = plain(start, bytes, 1, Call::cuMemAllocAsync);
                    self.alloc(live, mapping(chunk, CHUNK, Some(pool)));
                    for chunk in (chunk..start + bytes).step_by(CHUNK as usize) {
                        match self.mappings.iter_mut().find(|it| it.start == chunk) {
                            Some(held) => held.emptied = 0,
                            None => self.mappings.push(mapping(chunk, CHUNK, Some(pool))),
                        }
                    }
                }
            }
            Step::Free { which } => {
                if let Some(live) = self.freeable(which) {
                    self.written_free(&live);
                    self.end(&live);
                }
            }
            Step::FailToFree { which } => {
                if let Some(live) = self.freeable(which) {
                    let free = self.written_free(&live);
                    self.log.event(Event {
                        result: 1,
                        flags: flags::FREE_FAILED,
                        ..free
                    });
                }
            }
            Step::Synchronise { pool, keep } => self.synchronise(pool, keep),
            Step::Map { slot } => {
                let start = BASE + 3 * AREA + slot * 2 * MIB;
                if !self.overlaps(start, 2 * MIB) {
                    let live = plain(start, 2 * MIB, 0, Call::cuMemMap);
                    let mapping = Mapping {
                        is_range: true,
                        ..mapping(start, 2 * MIB, None)
                    };
                    self.alloc(live, mapping);
                }
            }
            Step::Unmap { slot, slots } => {
                let start = BASE + 3 * AREA + slot * 2 * MIB;
                let range = start..start + slots * 2 * MIB;
                let event = Event {
                    address: start,
                    size_bytes: slots * 2 * MIB,
                    ..event(&self.log, Call::cuMemUnmap)
                };
                self.log.event(event);
                self.live.retain(|it| !range.contains(&it.start));
                self.mappings.retain(|it| !range.contains(&it.start));
            }
            Step::Piece { which, slot } => self.piece(which, slot),
            Step::FreePiece { which } => {
                let pieces: Vec<_> = self.live.iter().filter(|it| it.is_piece).collect();
                let piece = pieces.get(which % pieces.len().max(1)).copied().cloned();
                if let Some(piece) = piece {
                    let event = Event {
                        address: piece.start,
                        ..event(&self.log, Call::subfree)
                    };
                    self.log.event(event);
                    self.live.retain(|it| *it != piece);
                }
            }
            Step::EndContext { context } => self.end_context(context),
            Step::RunOut => {
                let event = Event {
                    size_bytes: 1 << 50,
                    result: OUT_OF_MEMORY,
                    mapping_base: MIB,
                    ..event(&self.log, Call::cuMemAlloc)
                };
                self.log.event(event);
            }
        }
    }

    /// Releases all empty chunks of a pool except the `keep` that were emptied last.
    fn synchronise(&mut self, pool: u64, keep: usize) {
        let own = self.mappings.iter().filter(|it| it.pool == Some(pool));
        let mut empty: Vec<_> = own.filter(|it| self.is_empty(it)).cloned().collect();
        empty.sort_by_key(|it| (it.emptied, it.start));
        let released = empty.len().saturating_sub(keep);
        self.mappings.retain(|it| !empty[..released].contains(it));
        let own = self.mappings.iter().filter(|it| it.pool == Some(pool));
        let reserved_bytes = own.map(|it| it.bytes).sum();
        self.log.pool(Pool {
            pool: pool + 100,
            reserved_bytes,
            flags: pool_flags::DEFAULT,
            ..Pool::default()
        });
    }

    fn piece(&mut self, which: usize, slot: u64) {
        let large = self
            .live
            .iter_mut()
            .filter(|it| !it.is_piece && it.bytes >= MIB);
        let mut large: Vec<_> = large.collect();
        let count = large.len().max(1);
        let Some(arena) = large.get_mut(which % count) else {
            return;
        };
        arena.is_arena = true;
        // Of large arenas in pools, some pieces end in a later chunk.
        let quarter = arena.bytes / 4;
        let piece = Live {
            start: arena.start + slot * quarter,
            bytes: quarter - 17,
            is_arena: false,
            is_piece: true,
            ..arena.clone()
        };
        let event = Event {
            address: piece.start,
            size_bytes: piece.bytes,
            ..event(&self.log, Call::suballoc)
        };
        self.log.event(event);
        // Handing out a part again implies that it was freed.
        self.live
            .retain(|it| !(it.is_piece && it.start == piece.start));
        self.live.push(piece);
    }

    fn end_context(&mut self, context: u64) {
        let event = Event {
            context,
            ..event(&self.log, Call::cuCtxDestroy)
        };
        self.log.event(event);
        let own = self.live.iter().filter(|it| it.context == context);
        for live in own.cloned().collect::<Vec<_>>() {
            if self.live.contains(&live) && !live.is_piece {
                self.end(&live);
            }
        }
        // The pools of these programs belong to context 1.
        if context == 1 {
            let empty: Vec<_> = self.mappings.iter().map(|it| self.is_empty(it)).collect();
            let mut empty = empty.into_iter();
            self.mappings
                .retain(|it| !(empty.next().unwrap() && it.pool.is_some()));
        }
    }

    /// Segments as a snapshot lists them: start and size, adjacent mappings of ranges and of a pool joined.
    fn segments(&self) -> Vec<(u64, u64)> {
        let mut mappings: Vec<_> = self.mappings.iter().collect();
        mappings.sort_by_key(|it| it.start);
        let mut segments: Vec<(u64, u64)> = Vec::new();
        for mapping in mappings {
            match segments.last_mut() {
                Some((start, bytes))
                    if (mapping.is_range || mapping.pool.is_some())
                        && *start + *bytes == mapping.start =>
                {
                    *bytes += mapping.bytes;
                }
                _ => segments.push((mapping.start, mapping.bytes)),
            }
        }
        segments
    }

    fn blocks(&self) -> Vec<(u64, u64)> {
        let live = self.live.iter().filter(|it| !it.is_arena);
        let mut blocks: Vec<_> = live.map(|it| (it.start, it.bytes)).collect();
        blocks.sort_unstable();
        blocks
    }
}

fn segments(snapshot: &Snapshot) -> Vec<(u64, u64)> {
    let rows = snapshot.segments.rows.iter();
    rows.map(|it| (it.address, it.total_size)).collect()
}

fn blocks(snapshot: &Snapshot) -> Vec<(u64, u64)> {
    let rows = snapshot.blocks.rows.iter();
    rows.filter(|it| it.state.is_active())
        .map(|it| (it.address, it.requested_size.unwrap()))
        .collect()
}

/// Any event, in an address space so small that many events collide.
fn nonsense() -> impl Strategy<Value = Event> {
    let numbers = (0u64..40, 0u64..12, 0u64..40, 0u64..20, 0u64..4);
    let kinds = (0u8..100, 0u8..16, 0u32..3, -2i16..3, 0u32..3);
    (numbers, kinds).prop_map(|(numbers, kinds)| {
        let (address, size_bytes, mapping_base, mapping_bytes, pool) = numbers;
        let (call, flags, result, device, thread) = kinds;
        // Mostly successful calls.
        let call = match call {
            0..=59 => [1, 4, 20, 21, 44, 45, 90, 91, 31, 33][usize::from(call) % 10],
            call => call,
        };
        Event {
            address: address * 512,
            size_bytes: size_bytes * 300,
            mapping_base: mapping_base * 512,
            mapping_bytes: mapping_bytes * 512,
            pool,
            context: pool,
            device,
            thread,
            call,
            flags: flags.saturating_sub(8),
            result: if result < 2 { 0 } else { result },
            ..Event::default()
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_program_is_captured_as_it_was(steps in steps()) {
        let mut driver = Driver::default();
        for step in &steps {
            driver.run(step);
        }
        let (snapshot, _) = converted(&driver.log);
        prop_assert_eq!(segments(&snapshot), driver.segments());
        prop_assert_eq!(blocks(&snapshot), driver.blocks());
        for enabled in [Enabled::State, Enabled::Alloc] {
            for max_entries in [None, Some(5)] {
                let recording = RecordingOptions { enabled, max_entries, ..RecordingOptions::default() };
                let options = ConvertOptions { recording, ..ConvertOptions::default() };
                let bytes = driver.log.bytes();
                let (again, _) = vramscope_record::convert(
                    &bytes,
                    &options,
                    &mut crate::support::Numbers::default(),
                    &mut |_, _| {},
                ).unwrap();
                prop_assert_eq!(segments(&again), driver.segments());
                prop_assert_eq!(blocks(&again), driver.blocks());
                let entries = again.traces.iter().map(|rows| rows.len()).max().unwrap_or(0);
                prop_assert!(entries <= max_entries.unwrap_or(usize::MAX));
            }
        }
    }

    #[test]
    fn nonsense_fits_together(
        events in proptest::collection::vec(nonsense(), 0..80),
        reserved in proptest::collection::vec(0u64..20, 80),
    ) {
        let mut log = LogWriter::default();
        for (event, reserved) in events.iter().zip(reserved) {
            log.event(*event);
            if reserved < 5 {
                log.pool(Pool { pool: event.pool, reserved_bytes: reserved * 1024, ..Pool::default() });
            }
        }
        converted_with(&log, &ConvertOptions::default());
    }
}
