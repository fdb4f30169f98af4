//! Lists the memory that the end of a context, device or pool ends.
//!
//! Most programs end one context, at their own end. So [`Owned`] is computed at the first such end, and maintained from then
//! on.

use std::collections::{BTreeMap, BTreeSet};

use super::super::pools::NO_POOL;
use super::{Block, Location, PoolRow, Retention, Segment};

/// What ends memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Owner {
    Context(u64),
    /// Any context of a device, if the driver does not say which.
    Device(u8),
    Pool(PoolRow),
}

impl Owner {
    /// The context, or if that is 0 because the driver did not name it, any of the device.
    pub(crate) fn of_context(context: u64, device: u8) -> Self {
        match context {
            0 => Self::Device(device),
            context => Self::Context(context),
        }
    }
}

/// The kinds of memory, in the order in which they end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Kind {
    Block,
    Arena,
    /// A chunk of a pool without blocks.
    EmptyChunk,
}

/// Memory by what ends it.
#[derive(Clone, Debug, Default)]
pub(super) struct Owned {
    members: BTreeSet<(Owner, Kind, u64)>,
    /// Bytes of the blocks of each pool on a device that belong to no context; never 0.
    pool_bytes: BTreeMap<(u8, PoolRow), u64>,
    /// Pools whose `pool_bytes` changed, or that [`Self::name_again`] named, since [`Self::take_changed_pools`].
    changed_pools: BTreeSet<(u8, PoolRow)>,
}

impl Owned {
    /// Adds or removes a block or an arena in a segment.
    pub(super) fn set(
        &mut self,
        kind: Kind,
        address: u64,
        block: &Block,
        segment: &Segment,
        is_there: bool,
    ) {
        let is_mapped = matches!(segment.retention, Retention::UntilUnmapped(_));
        if !block.is_part && !is_mapped {
            self.set_in_context(kind, address, block.context, segment, is_there);
        }
        if segment.pool == NO_POOL {
            return;
        }
        self.set_member((Owner::Pool(segment.pool), kind, address), is_there);
        if let (Location::Device(device), Kind::Block, 0) = (segment.location, kind, block.context)
        {
            let place = (device, segment.pool);
            let sum = self.pool_bytes.entry(place).or_default();
            let bytes = block.end - address;
            *sum = match is_there {
                true => sum.saturating_add(bytes),
                false => sum.saturating_sub(bytes),
            };
            if *sum == 0 {
                self.pool_bytes.remove(&place);
            }
            self.changed_pools.insert(place);
        }
    }

    /// Adds or removes a chunk that is empty.
    pub(super) fn set_empty(&mut self, address: u64, chunk: &Segment, is_there: bool) {
        self.set_in_context(Kind::EmptyChunk, address, chunk.context, chunk, is_there);
    }

    /// Memory that belongs to no context but to a pool outlives all contexts.
    fn set_in_context(
        &mut self,
        kind: Kind,
        address: u64,
        context: u64,
        segment: &Segment,
        is_there: bool,
    ) {
        if context != 0 {
            self.set_member((Owner::Context(context), kind, address), is_there);
        }
        if let Location::Device(device) = segment.location
            && (context != 0 || segment.pool == NO_POOL)
        {
            self.set_member((Owner::Device(device), kind, address), is_there);
        }
    }

    fn set_member(&mut self, member: (Owner, Kind, u64), is_there: bool) {
        match is_there {
            true => self.members.insert(member),
            false => self.members.remove(&member),
        };
    }

    /// The addresses of memory that an owner ends, from one kind to another.
    pub(super) fn addresses(&self, owner: Owner, from: Kind, to: Kind) -> Vec<u64> {
        let members = self.members.range((owner, from, 0)..=(owner, to, u64::MAX));
        members.map(|&(.., address)| address).collect()
    }

    /// Pools on a device that changed since the last call, with the bytes of their blocks that belong to no context.
    pub(super) fn take_changed_pools(&mut self, device: u8) -> Vec<(PoolRow, u64)> {
        let all = (device, 0)..=(device, PoolRow::MAX);
        let changed: Vec<_> = self.changed_pools.range(all).copied().collect();
        for place in &changed {
            self.changed_pools.remove(place);
        }
        let bytes = |place: (u8, PoolRow)| Some((place.1, *self.pool_bytes.get(&place)?));
        changed.into_iter().filter_map(bytes).collect()
    }

    #[cfg(test)]
    pub(super) fn is_same(&self, other: &Self) -> bool {
        (&self.members, &self.pool_bytes) == (&other.members, &other.pool_bytes)
    }

    /// Makes [`Self::take_changed_pools`] return a pool once more, if it has bytes.
    pub(super) fn name_again(&mut self, device: u8, pool: PoolRow) {
        self.changed_pools.insert((device, pool));
    }
}
