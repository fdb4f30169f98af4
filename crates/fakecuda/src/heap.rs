//! Blocks in chunks of memory: the smallest gap that fits, joined with its neighbours when given back.

use std::collections::{BTreeMap, BTreeSet};

/// Blocks begin at and take multiples of it.
pub(crate) const GRANULE: u64 = 512;

/// Chunks and the gaps in them.
#[derive(Default)]
pub(crate) struct Heap {
    chunks: BTreeMap<u64, u64>,
    gaps: BTreeMap<u64, u64>,
    gaps_by_size: BTreeSet<(u64, u64)>,
    /// Bytes of chunks.
    pub(crate) reserved: u64,
    /// Bytes of blocks.
    pub(crate) used: u64,
}

impl Heap {
    /// Takes a block of `bytes`, a multiple of the granule; `None` if no gap is large enough.
    pub(crate) fn take(&mut self, bytes: u64) -> Option<u64> {
        let &(gap, address) = self.gaps_by_size.range((bytes, 0)..).next()?;
        self.remove_gap(address, gap);
        if gap > bytes {
            self.add_gap(address + bytes, gap - bytes);
        }
        self.used += bytes;
        Some(address)
    }

    /// Gives a block back.
    pub(crate) fn give_back(&mut self, mut address: u64, mut bytes: u64) {
        self.used -= bytes;
        let Some((start, end)) = self.chunk_of(address) else {
            return;
        };
        let before = self.gaps.range(start..address).next_back();
        if let Some((&gap, &size)) = before.filter(|(gap, size)| **gap + **size == address) {
            self.remove_gap(gap, size);
            address = gap;
            bytes += size;
        }
        let behind = address + bytes;
        if let Some(&size) = self.gaps.get(&behind).filter(|_| behind < end) {
            self.remove_gap(behind, size);
            bytes += size;
        }
        self.add_gap(address, bytes);
    }

    /// More memory to take blocks from.
    pub(crate) fn add_chunk(&mut self, base: u64, bytes: u64) {
        self.chunks.insert(base, bytes);
        self.reserved += bytes;
        self.add_gap(base, bytes);
    }

    /// Takes an empty chunk out.
    pub(crate) fn remove_chunk(&mut self, base: u64) {
        if let Some(bytes) = self.chunks.remove(&base) {
            self.reserved -= bytes;
            self.remove_gap(base, bytes);
        }
    }

    /// Start and end of the chunk that holds `address`.
    pub(crate) fn chunk_of(&self, address: u64) -> Option<(u64, u64)> {
        let (&base, &bytes) = self.chunks.range(..=address).next_back()?;
        (address < base + bytes).then_some((base, base + bytes))
    }

    /// Base and bytes of the chunks without a block, lowest first.
    pub(crate) fn empty_chunks(&self) -> Vec<(u64, u64)> {
        let chunks = self.chunks.iter().map(|(&base, &bytes)| (base, bytes));
        chunks
            .filter(|(base, bytes)| self.gaps.get(base) == Some(bytes))
            .collect()
    }

    /// Base and bytes of all chunks.
    pub(crate) fn chunks(&self) -> Vec<(u64, u64)> {
        self.chunks.iter().map(|(&a, &b)| (a, b)).collect()
    }

    fn add_gap(&mut self, address: u64, bytes: u64) {
        self.gaps.insert(address, bytes);
        self.gaps_by_size.insert((bytes, address));
    }

    fn remove_gap(&mut self, address: u64, bytes: u64) {
        self.gaps.remove(&address);
        self.gaps_by_size.remove(&(bytes, address));
    }
}
