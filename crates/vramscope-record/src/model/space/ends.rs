//! The end of contexts and pools, which ends memory that nobody frees.

use std::collections::BTreeMap;

use super::super::pools::NO_POOL;
use super::{Block, Journal, Location, Origin, PoolRow, Retention, Segment, Space};

impl Space {
    /// Ends all memory of a context, or of a device if `context` is 0. Mapped memory stays, as it belongs to no
    /// context, and so does a pool's, unless the driver named a context for it.
    pub(crate) fn end_context(
        &mut self,
        journal: &mut Journal,
        context: u64,
        device: u8,
        origin: Origin,
    ) {
        let is_in = |own: u64, segment: &Segment| match context {
            0 => {
                segment.location == Location::Device(device)
                    && (own != 0 || segment.pool == NO_POOL)
            }
            context => own == context,
        };
        let dies = |block: &Block| {
            let segment = self.segments.get(&block.segment);
            segment.is_some_and(|segment| {
                is_in(block.context, segment)
                    && !matches!(segment.retention, Retention::UntilUnmapped(_))
            })
        };
        let all = self.blocks.iter().filter(|(_, block)| !block.is_part);
        let dead = all.chain(&self.arenas).filter(|(_, block)| dies(block));
        let dead: Vec<u64> = dead.map(|(&address, _)| address).collect();
        for address in dead {
            self.free(journal, address, origin);
        }
        let empty = self.segments.iter().filter(|(_, segment)| {
            segment.live == 0
                && segment.retention == Retention::ByPool
                && is_in(segment.context, segment)
        });
        let empty: Vec<u64> = empty.map(|(&address, _)| address).collect();
        self.release_segments(journal, &empty, origin);
    }

    /// Ends all memory of a pool.
    pub(crate) fn end_pool(&mut self, journal: &mut Journal, pool: PoolRow, origin: Origin) {
        let segments = self.segments.iter();
        let own = segments.filter(|(_, segment)| segment.pool == pool);
        let own: Vec<u64> = own.map(|(&address, _)| address).collect();
        for segment in own {
            self.end_blocks_of(journal, segment, origin);
        }
    }

    /// Bytes of the blocks of each pool on a device that belong to no context.
    pub(crate) fn pool_bytes(&self, device: u8) -> BTreeMap<PoolRow, u64> {
        let mut sums = BTreeMap::new();
        for (address, block) in &self.blocks {
            let segment = self.segments.get(&block.segment);
            let segment = segment.filter(|it| it.location == Location::Device(device));
            if let Some(segment) = segment
                && segment.pool != NO_POOL
                && block.context == 0
            {
                let sum: &mut u64 = sums.entry(segment.pool).or_default();
                *sum = sum.saturating_add(block.end - address);
            }
        }
        sums
    }
}
