//! Ends memory that is not freed: the end of contexts and pools.

use std::collections::BTreeSet;

use super::owned::{Kind, Owned, Owner};
use super::{Block, Journal, Origin, PoolRow, Retention, Segment, Space};

impl Space {
    /// Ends all memory of a context or of a device. Mapped memory remains, because it belongs to no context; so does a
    /// pool's, unless the driver named a context for it.
    pub(crate) fn end_context(&mut self, journal: &mut Journal, owner: Owner, origin: Origin) {
        for address in self.owned().addresses(owner, Kind::Block, Kind::Arena) {
            self.free(journal, address, origin);
        }
        let empty = self
            .owned()
            .addresses(owner, Kind::EmptyChunk, Kind::EmptyChunk);
        self.release_segments(journal, empty, origin);
    }

    pub(crate) fn end_pool(&mut self, journal: &mut Journal, pool: PoolRow, origin: Origin) {
        let owner = Owner::Pool(pool);
        let blocks = self.owned().addresses(owner, Kind::Block, Kind::Block);
        let blocks = blocks.iter().filter_map(|address| self.blocks.get(address));
        let mut segments: BTreeSet<u64> = blocks.map(|block| block.segment).collect();
        let arenas = self.owned().addresses(owner, Kind::Arena, Kind::Arena);
        let arenas = arenas.iter().filter_map(|address| self.arenas.get(address));
        segments.extend(arenas.map(|arena| arena.segment));
        for segment in segments {
            self.end_blocks_of(journal, segment, origin);
        }
    }

    /// Pools on a device for which [`Self::name_again`] was called, or whose blocks that belong to no context changed since
    /// the last call, with the bytes of these blocks if there are any.
    pub(crate) fn take_changed_pools(&mut self, device: u8) -> Vec<(PoolRow, u64)> {
        self.owned().take_changed_pools(device)
    }

    /// Makes [`Self::take_changed_pools`] return a pool once more.
    pub(crate) fn name_again(&mut self, device: u8, pool: PoolRow) {
        self.owned().name_again(device, pool);
    }

    fn owned(&mut self) -> &mut Owned {
        let owned = self.owned.take().unwrap_or_else(|| self.find_owned());
        self.owned.insert(owned)
    }

    /// All memory by what ends it, found by a pass over everything.
    fn find_owned(&self) -> Owned {
        let mut owned = Owned::default();
        for (kind, all) in [(Kind::Block, &self.blocks), (Kind::Arena, &self.arenas)] {
            for (&address, block) in all {
                if let Some(segment) = self.segments.get(&block.segment) {
                    owned.set(kind, address, block, segment, true);
                }
            }
        }
        for (&address, segment) in &self.segments {
            if segment.live == 0 && segment.retention == Retention::ByPool {
                owned.set_empty(address, segment, true);
            }
        }
        owned
    }

    pub(super) fn add_arena(&mut self, address: u64, arena: Block) {
        self.set_owned(Kind::Arena, address, &arena, true);
        self.arenas.insert(address, arena);
    }

    pub(super) fn remove_arena(&mut self, address: u64) -> Option<Block> {
        let arena = self.arenas.remove(&address)?;
        self.set_owned(Kind::Arena, address, &arena, false);
        Some(arena)
    }

    /// Adds or removes a block or an arena in the lists.
    pub(super) fn set_owned(&mut self, kind: Kind, address: u64, block: &Block, is_there: bool) {
        if let Some(owned) = &mut self.owned
            && let Some(segment) = self.segments.get(&block.segment)
        {
            owned.set(kind, address, block, segment, is_there);
        }
    }

    /// Adds or removes an empty chunk of a pool in the lists.
    pub(super) fn set_empty(&mut self, address: u64, chunk: &Segment, is_empty: bool) {
        let (pools, pool, emptied) = (&mut self.pools, chunk.pool, chunk.emptied);
        match is_empty {
            true => pools.add_empty(pool, emptied, address, chunk.end - address),
            false => pools.remove_empty(pool, emptied, address),
        }
        if let Some(owned) = &mut self.owned {
            owned.set_empty(address, chunk, is_empty);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::layout::{Call, Event, Pool, flags, pool_flags};
    use crate::model::Recording;
    use crate::reader::Log;
    use crate::writer::LogWriter;

    const CALLS: [Call; 14] = [
        Call::cuMemAlloc,
        Call::cuMemAllocAsync,
        Call::cuMemAllocAsync,
        Call::cuMemAllocHost,
        Call::cuMemFree,
        Call::cuMemFreeAsync,
        Call::suballoc,
        Call::subfree,
        Call::cuMemCreate,
        Call::cuMemMap,
        Call::cuMemUnmap,
        Call::cuMemPoolDestroy,
        Call::cuCtxDestroy,
        Call::cuDevicePrimaryCtxReset,
    ];

    /// A log of random calls in a small amount of memory.
    fn senseless(seed: u64) -> LogWriter {
        let mut log = LogWriter::default();
        let mut random = seed;
        let mut below = |most: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005);
            random = random.wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % most
        };
        for time_ns in 0..400 {
            let event = Event {
                time_ns,
                address: 1000 + below(24) * 10,
                size_bytes: [0, 1, 10, 25, 60][below(5) as usize],
                context: below(3),
                pool: below(4),
                mapping_base: 1000 + below(6) * 40,
                mapping_bytes: 40,
                device: below(2) as i16,
                thread: below(2) as u32,
                call: CALLS[below(14) as usize] as u8,
                ..Event::default()
            };
            log.event(event);
            if below(6) == 0 {
                log.event(Event {
                    result: 1,
                    flags: flags::FREE_FAILED,
                    ..event
                });
            }
            if below(6) == 0 {
                log.pool(Pool {
                    pool: event.pool,
                    reserved_bytes: below(6) * 40,
                    used_bytes: below(2),
                    device: event.device,
                    flags: [0, pool_flags::CONTEXT_ENDED, pool_flags::GRAPHS][below(3) as usize],
                    ..Pool::default()
                });
            }
        }
        log
    }

    #[test]
    fn what_each_end_ends_is_known_after_every_call() {
        for seed in 0..300 {
            let bytes = senseless(seed).bytes();
            let mut recording = Recording::default();
            for (_, record) in Log::open(&bytes).unwrap().records(0) {
                recording.push(record);
                for space in [&recording.device, &recording.host] {
                    let Some(owned) = &space.owned else { continue };
                    assert!(owned.is_same(&space.find_owned()), "{seed}: {space:#?}");
                }
                recording.device.pools.check_sums();
            }
            assert!(recording.device.owned.is_some());
        }
    }
}
