//! The driver's memory pools: their memory, and which of their segments are empty.
//!
//! Segments are the chunks that the driver names for each allocation, and further chunks that the allocation reaches into
//! (`space/chunks.rs`). If a pool holds more than their sum, the rest is *unplaced*: chunks in which nothing was seen, or
//! all memory for which no mapping was named. If their sum exceeds what the pool holds, the mappings that the driver names
//! are not the pool's chunks: then each allocation is its own segment.
//!
//! The memory of a device's graphs is treated as a pool, too, with each graph as a part. A graph has segments before it is
//! launched and gets its memory, so their sum may well exceed that memory.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

use vramscope_core::model::PoolId;

use super::journal::PoolRow;

/// Row of memory that belongs to no pool.
pub(crate) const NO_POOL: PoolRow = 0;

/// Maximum number of sums, and of empty segments, tried to find the released segments.
const MAX_SUMS: usize = 4096;

/// Identity of a pool in a log.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum PoolKey {
    Pool(u64),
    /// A graph with memory allocation nodes.
    Graph(u64),
    GraphMemory(u8),
}

/// The location of a pool's memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum PoolPlace {
    #[default]
    Device,
    /// Wherever it was last used.
    Managed,
    Host,
}

/// The driver's latest figures for a pool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figures {
    pub(crate) device: u8,
    reserved_bytes: u64,
    used_bytes: u64,
}

/// The memory in a device's pools, according to the driver.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Usage {
    pub(crate) reserved_bytes: u64,
    pub(crate) used_bytes: u64,
    /// Reserved bytes in no segment.
    pub(crate) unplaced_bytes: u64,
    /// Reserved bytes of all graphs.
    pub(crate) graph_reserved_bytes: u64,
    pub(crate) graph_used_bytes: u64,
    /// Reserved bytes outside of segments that count as held.
    pub(crate) beside_bytes: u64,
}

/// Number of consecutive samples that must contradict a pool's segments: a single one may coincide with another thread's
/// allocation before its record.
const CONTRADICTIONS: u8 = 3;

#[derive(Clone, Debug, Default)]
pub(crate) struct Pool {
    /// Its id in snapshots.
    pub(crate) id: PoolId,
    held_bytes: u64,
    /// Its empty segments: (time of the last free, address) → size.
    empty: BTreeMap<(u64, u64), u64>,
    /// Whether the pool was destroyed. Then its segments end as soon as they are empty.
    pub(crate) is_destroyed: bool,
    pub(crate) place: PoolPlace,
    figures: Option<Figures>,
    contradictions: u8,
    /// Whether it is the memory of all graphs of a device.
    is_graph_memory: bool,
    /// The pool that it is a part of; [`NO_POOL`] if none.
    part_of: PoolRow,
}

impl Pool {
    /// Whether the mappings that the driver names for its memory are not its chunks.
    pub(crate) fn is_inexact(&self) -> bool {
        self.contradictions >= CONTRADICTIONS
    }

    /// Whether its segments remain when they are empty, until a sample shows that they were released.
    pub(crate) fn keeps_segments(&self) -> bool {
        !self.is_destroyed && !self.is_inexact()
    }

    /// Whether nothing is known of it yet: neither a segment nor a sample.
    pub(crate) fn is_new(&self) -> bool {
        self.figures.is_none() && self.held_bytes == 0
    }

    /// Bytes that it holds according to the driver, beyond its segments.
    pub(crate) fn unplaced_bytes(&self) -> u64 {
        let reserved = self.figures.map_or(0, |figures| figures.reserved_bytes);
        reserved.saturating_sub(self.held_bytes)
    }
}

/// Sums over the pools of a device, in the order of the fields of [`Usage`].
type Sums = [u128; 6];

impl Pool {
    /// What the pool adds to the sums of its device.
    fn share(&self) -> Option<(u8, Sums)> {
        let figures = self.figures.filter(|_| self.place == PoolPlace::Device)?;
        let (reserved, used) = (figures.reserved_bytes, figures.used_bytes);
        let unplaced = self.unplaced_bytes();
        let share = match self.is_graph_memory {
            true => [reserved, used, unplaced, reserved, used, reserved],
            false => [reserved, used, unplaced, 0, 0, unplaced],
        };
        Some((figures.device, share.map(u128::from)))
    }
}

/// Known pools. Row 0 stands for no pool.
#[derive(Clone, Debug)]
pub(crate) struct Pools {
    rows: Vec<Pool>,
    /// By device, because there may be many pools and many queries of their sums.
    sums: HashMap<u8, Sums>,
    by_key: HashMap<PoolKey, PoolRow>,
    other_count: u64,
    graph_count: u64,
}

impl Default for Pools {
    fn default() -> Self {
        Self {
            rows: vec![Pool::default()],
            sums: HashMap::new(),
            by_key: HashMap::new(),
            other_count: 0,
            graph_count: 0,
        }
    }
}

impl Pools {
    /// The row of a pool, added if unknown. A pool counts as its device's default pool until a record says
    /// otherwise.
    pub(crate) fn row_of(&mut self, key: PoolKey) -> PoolRow {
        if let Some(&row) = self.by_key.get(&key) {
            return row;
        }
        let row = self.rows.len() as PoolRow;
        let id = match key {
            PoolKey::Pool(_) | PoolKey::GraphMemory(_) => PoolId(0, 0),
            PoolKey::Graph(_) => {
                self.graph_count += 1;
                PoolId(self.graph_count, 0)
            }
        };
        self.rows.push(Pool {
            id,
            is_graph_memory: matches!(key, PoolKey::GraphMemory(_)),
            ..Pool::default()
        });
        self.by_key.insert(key, row);
        row
    }

    /// The row of a graph of a device.
    pub(crate) fn graph_row(&mut self, graph: u64, device: u8) -> PoolRow {
        let row = self.row_of(PoolKey::Graph(graph));
        if self.rows[row as usize].part_of == NO_POOL {
            self.rows[row as usize].part_of = self.row_of(PoolKey::GraphMemory(device));
        }
        row
    }

    /// The row of a pool that is not the default pool of its device.
    pub(crate) fn non_default_row(&mut self, handle: u64) -> PoolRow {
        let row = self.row_of(PoolKey::Pool(handle));
        let pool = &mut self.rows[row as usize];
        if pool.id == PoolId(0, 0) {
            self.other_count += 1;
            pool.id = PoolId(0, self.other_count);
        }
        row
    }

    /// Removes the handle of a destroyed pool, and the driver's figures for it. The driver may reuse the handle for another
    /// pool.
    pub(crate) fn destroy(&mut self, handle: u64) -> Option<(PoolRow, Option<Figures>)> {
        let row = self.by_key.remove(&PoolKey::Pool(handle))?;
        let figures = self.change(row, |pool| {
            pool.is_destroyed = true;
            pool.figures.take()
        });
        Some((row, figures))
    }

    /// Restores a pool whose destruction the driver refused. If another pool has its handle now, that one has the figures,
    /// and this one's segments end as they become empty.
    pub(crate) fn undo_destroy(&mut self, handle: u64, row: PoolRow, figures: Option<Figures>) {
        if let Entry::Vacant(place) = self.by_key.entry(PoolKey::Pool(handle)) {
            place.insert(row);
            self.change(row, |pool| {
                pool.is_destroyed = false;
                pool.figures = figures;
            });
        }
    }

    pub(crate) fn get(&self, row: PoolRow) -> &Pool {
        &self.rows[row as usize]
    }

    /// All pools but row 0.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Pool> {
        self.rows.iter().skip(1)
    }

    pub(crate) fn set_place(&mut self, row: PoolRow, place: PoolPlace) {
        self.change(row, |pool| pool.place = place);
    }

    /// Stores the driver's figures for a pool, after the segments that it must have released were removed.
    pub(crate) fn set_figures(
        &mut self,
        row: PoolRow,
        device: u8,
        (reserved_bytes, used_bytes): (u64, u64),
    ) {
        self.change(row, |pool| {
            pool.figures = Some(Figures {
                device,
                reserved_bytes,
                used_bytes,
            });
        });
        let pool = &mut self.rows[row as usize];
        if pool.is_graph_memory {
            return;
        }
        if pool.held_bytes > reserved_bytes {
            pool.contradictions = pool.contradictions.saturating_add(1);
        } else if !pool.is_inexact() {
            pool.contradictions = 0;
        }
    }

    /// The memory in a device's pools.
    pub(crate) fn usage(&self, device: u8) -> Usage {
        let sums = self.sums.get(&device).copied().unwrap_or_default();
        // Figures in a damaged log may be anything.
        let sums = sums.map(|sum| sum.try_into().unwrap_or(u64::MAX));
        let [
            reserved_bytes,
            used_bytes,
            unplaced_bytes,
            graph_reserved_bytes,
            graph_used_bytes,
            beside_bytes,
        ] = sums;
        Usage {
            reserved_bytes,
            used_bytes,
            unplaced_bytes,
            graph_reserved_bytes,
            graph_used_bytes,
            beside_bytes,
        }
    }

    /// Changes a pool, and the sums of its device with it.
    fn change<T>(&mut self, row: PoolRow, change: impl FnOnce(&mut Pool) -> T) -> T {
        let pool = &mut self.rows[row as usize];
        let before = pool.share();
        let changed = change(pool);
        let after = pool.share();
        for (share, is_new) in [(before, false), (after, true)] {
            let Some((device, share)) = share else {
                continue;
            };
            for (sum, bytes) in self.sums.entry(device).or_default().iter_mut().zip(share) {
                *sum = if is_new { *sum + bytes } else { *sum - bytes };
            }
        }
        changed
    }

    /// Checks the sums against a pass over all pools.
    #[cfg(test)]
    pub(crate) fn check_sums(&self) {
        let mut sums: HashMap<u8, Sums> =
            self.sums.keys().map(|&device| (device, [0; 6])).collect();
        for (device, share) in self.iter().filter_map(Pool::share) {
            let sums = sums.entry(device).or_default();
            sums.iter_mut()
                .zip(share)
                .for_each(|(sum, bytes)| *sum += bytes);
        }
        assert_eq!(self.sums, sums);
    }

    pub(crate) fn add_segment(&mut self, row: PoolRow, bytes: u64) {
        self.change_held(row, |held| held.saturating_add(bytes));
    }

    pub(crate) fn remove_segment(&mut self, row: PoolRow, bytes: u64) {
        self.change_held(row, |held| held.saturating_sub(bytes));
    }

    fn change_held(&mut self, row: PoolRow, change: impl Fn(u64) -> u64) {
        for row in [row, self.get(row).part_of] {
            self.change(row, |pool| pool.held_bytes = change(pool.held_bytes));
        }
    }

    /// Adds a segment that became empty.
    pub(crate) fn add_empty(&mut self, row: PoolRow, emptied: u64, address: u64, bytes: u64) {
        self.rows[row as usize]
            .empty
            .insert((emptied, address), bytes);
    }

    /// Removes an empty segment that is used again or was released.
    pub(crate) fn remove_empty(&mut self, row: PoolRow, emptied: u64, address: u64) {
        self.rows[row as usize].empty.remove(&(emptied, address));
    }

    /// The addresses of a pool's empty segments, longest empty first.
    pub(crate) fn empty_segments(&self, row: PoolRow) -> Vec<u64> {
        let keys = self.rows[row as usize].empty.keys();
        keys.map(|&(_, address)| address).collect()
    }

    /// The segments that a pool must have released if it now holds only `held_bytes`. Chosen among its empty
    /// segments: the largest sum that does not exceed the missing bytes, and among equal sums the longest empty
    /// segments.
    pub(crate) fn released_segments(&self, row: PoolRow, held_bytes: u64) -> Vec<u64> {
        let pool = &self.rows[row as usize];
        let missing = pool.held_bytes.saturating_sub(held_bytes);
        if missing == 0 {
            return Vec::new();
        }
        // For each reachable sum, the sum before it and the segment in between.
        let mut sums: BTreeMap<u64, (u64, u64)> = BTreeMap::from([(0, (0, 0))]);
        for (&(_, address), &bytes) in pool.empty.iter().take(MAX_SUMS) {
            if sums.contains_key(&missing) {
                break;
            }
            let before: Vec<u64> = sums.keys().copied().collect();
            for sum in before {
                let Some(next) = sum.checked_add(bytes).filter(|&next| next <= missing) else {
                    break;
                };
                if sums.len() < MAX_SUMS {
                    sums.entry(next).or_insert((sum, address));
                }
            }
        }
        let mut chosen = Vec::new();
        let mut sum = sums.keys().next_back().copied().unwrap_or(0);
        while let Some(&(before, address)) = sums.get(&sum)
            && sum > 0
        {
            chosen.push(address);
            sum = before;
        }
        chosen.reverse();
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_given_back_is_the_largest_sum_that_fits() {
        let mut pools = Pools::default();
        let row = pools.row_of(PoolKey::Pool(9));
        for (age, (address, bytes)) in (0..).zip([(100, 3), (200, 5), (300, 8), (400, 2)]) {
            pools.add_segment(row, bytes);
            pools.add_empty(row, age, address, bytes);
        }
        let released_segments = |held| pools.released_segments(row, held);
        assert_eq!(released_segments(18), [0_u64; 0]);
        assert_eq!(released_segments(15), [100], "3 of 18");
        assert_eq!(released_segments(10), [100, 200], "8 of 18: older than 300");
        assert_eq!(
            released_segments(17),
            [0_u64; 0],
            "1 of 18: nothing is so small"
        );
        assert_eq!(released_segments(14), [100], "4 of 18: 3 is most");
        assert_eq!(released_segments(0), [100, 200, 300, 400]);
    }

    #[test]
    fn a_name_that_is_given_again_names_another_pool() {
        let mut pools = Pools::default();
        let first = pools.non_default_row(7);
        assert_eq!(pools.get(first).id, PoolId(0, 1));
        assert_eq!(pools.row_of(PoolKey::Pool(7)), first);
        assert!(matches!(pools.destroy(7), Some((row, None)) if row == first));
        assert!(pools.destroy(7).is_none());
        let second = pools.non_default_row(7);
        assert_eq!(pools.get(second).id, PoolId(0, 2));
        let graph = pools.row_of(PoolKey::Graph(7));
        assert_eq!(pools.get(graph).id, PoolId(1, 0));
    }
}
