//! Allocates blocks in chunks of memory: best fit, and freed blocks merge with neighbouring gaps.
//!
//! A pool's heap has a range of addresses of its own, in which chunks lie side by side. Its blocks may begin in one
//! chunk and end in a later one, as those of driver 580 do. The chunks of other heaps lie anywhere, each for itself.

use std::collections::{BTreeMap, BTreeSet};

/// Alignment and granularity of blocks, in bytes.
pub(crate) const GRANULE_BYTES: u64 = 512;

/// Chunks and the gaps in them.
#[derive(Default)]
pub(crate) struct Heap {
    chunks: BTreeMap<u64, u64>,
    gaps: BTreeMap<u64, u64>,
    gaps_by_size: BTreeSet<(u64, u64)>,
    /// Start and end of the addresses for its chunks; `None` if they lie anywhere.
    pub(crate) range: Option<(u64, u64)>,
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
    pub(crate) fn free(&mut self, address: u64, bytes: u64) {
        self.used -= bytes;
        self.add_joined_gap(address, bytes);
    }

    /// Adds a gap, joined with those beside it.
    fn add_joined_gap(&mut self, mut address: u64, mut bytes: u64) {
        let Some((start, end)) = self.range.or_else(|| self.chunk_of(address)) else {
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

    /// The starts of the chunks of `chunk_bytes` that must be added for a block of `bytes`, at the lowest place that is
    /// free. Empty if the range has none.
    pub(crate) fn chunks_to_add(&self, bytes: u64, chunk_bytes: u64) -> Vec<u64> {
        let Some((base, range_end)) = self.range else {
            return Vec::new();
        };
        let is_missing = |chunk: &u64| !self.chunks.contains_key(chunk);
        let slots = || (base..range_end).step_by(chunk_bytes as usize);
        let missing = slots().filter(is_missing).map(|chunk| (chunk, chunk_bytes));
        let mut free: Vec<_> = missing
            .chain(self.gaps.iter().map(|(&a, &b)| (a, b)))
            .collect();
        free.sort_unstable();
        let (mut start, mut end) = (0, 0);
        for (address, size) in free {
            if address != end {
                start = address;
            }
            end = address + size;
            if end - start >= bytes {
                let taken = start..start + bytes;
                let overlaps =
                    |chunk: &u64| *chunk < taken.end && chunk + chunk_bytes > taken.start;
                return slots().filter(is_missing).filter(overlaps).collect();
            }
        }
        Vec::new()
    }

    /// Adds a chunk to allocate from.
    pub(crate) fn add_chunk(&mut self, base: u64, bytes: u64) {
        self.chunks.insert(base, bytes);
        self.reserved += bytes;
        self.add_joined_gap(base, bytes);
    }

    /// Removes an empty chunk.
    pub(crate) fn remove_chunk(&mut self, base: u64) {
        let Some((gap, size)) = self.gap_around(base) else {
            return;
        };
        if let Some(bytes) = self.chunks.remove(&base) {
            self.reserved -= bytes;
            self.remove_gap(gap, size);
            for (start, end) in [(gap, base), (base + bytes, gap + size)] {
                if start < end {
                    self.add_gap(start, end - start);
                }
            }
        }
    }

    /// Start and size of the gap that contains the whole chunk at an address.
    fn gap_around(&self, chunk: u64) -> Option<(u64, u64)> {
        let end = chunk + self.chunks.get(&chunk)?;
        let (&gap, &size) = self.gaps.range(..=chunk).next_back()?;
        (gap + size >= end).then_some((gap, size))
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
            .filter(|(base, _)| self.gap_around(*base).is_some())
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
