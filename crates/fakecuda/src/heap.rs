//! Allocates blocks in chunks of memory: best fit, and freed blocks merge with neighbouring gaps.

use std::collections::{BTreeMap, BTreeSet};

/// Alignment and granularity of blocks, in bytes.
pub(crate) const GRANULE_BYTES: u64 = 512;

/// Chunks and the gaps in them.
#[derive(Default)]
pub(crate) struct Heap {
    chunks: BTreeMap<u64, u64>,
    gaps: BTreeMap<u64, u64>,
    gaps_by_size: BTreeSet<(u64, u64)>,
    /// Bytes of all chunks.
    pub(crate) reserved: u64,
    /// Bytes of all blocks.
    pub(crate) used: u64,
}

impl Heap {
    /// Allocates a block of `bytes`, a multiple of [`GRANULE_BYTES`]. `None` if no gap is large enough.
    pub(crate) fn allocate(&mut self, bytes: u64) -> Option<u64> {
        let &(gap, address) = self.gaps_by_size.range((bytes, 0)..).next()?;
        self.remove_gap(address, gap);
        if gap > bytes {
            self.add_gap(address + bytes, gap - bytes);
        }
        self.used += bytes;
        Some(address)
    }

    /// Frees a block.
    pub(crate) fn free(&mut self, mut address: u64, mut bytes: u64) {
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

    /// Adds a chunk to allocate from.
    pub(crate) fn add_chunk(&mut self, base: u64, bytes: u64) {
        self.chunks.insert(base, bytes);
        self.reserved += bytes;
        self.add_gap(base, bytes);
    }

    /// Removes an empty chunk.
    pub(crate) fn remove_chunk(&mut self, base: u64) {
        if let Some(bytes) = self.chunks.remove(&base) {
            self.reserved -= bytes;
            self.remove_gap(base, bytes);
        }
    }

    /// Start and end of the chunk that contains `address`.
    pub(crate) fn chunk_of(&self, address: u64) -> Option<(u64, u64)> {
        let (&base, &bytes) = self.chunks.range(..=address).next_back()?;
        (address < base + bytes).then_some((base, base + bytes))
    }

    /// Start and size of the chunks without a block, in order of address.
    pub(crate) fn empty_chunks(&self) -> Vec<(u64, u64)> {
        let chunks = self.chunks.iter().map(|(&base, &bytes)| (base, bytes));
        chunks
            .filter(|(base, bytes)| self.gaps.get(base) == Some(bytes))
            .collect()
    }

    /// Start and size of all chunks.
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
