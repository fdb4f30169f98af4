//! Returns memory to CUDA: by garbage collection, for a request that finds no memory, and by `empty_cache()`.

use std::collections::BTreeSet;

use super::allocator::{
    Allocator, DEFAULT_LARGE, DEFAULT_SMALL, Driver, LOOK_AT_MOST, NONE, Request,
};
use super::blocks::{FIRST, Key, LAST};
use vramscope_core::model::PoolId;

impl Allocator {
    /// `garbage_collection_threshold`: returns cached large segments until the reserved bytes are below the threshold.
    /// Segments that were unused for at least the average time go first.
    pub(super) fn collect_garbage(&mut self, driver: &mut impl Driver) {
        let allowed = self.settings.allowed_bytes().unwrap_or(u64::MAX);
        let threshold = (self.settings.garbage_collection_threshold * allowed as f64) as u64;
        let target = self.reserved.bytes.checked_sub(threshold);
        let Some(target) = target.filter(|&bytes| bytes > 0) else {
            return;
        };
        let mut released = 0_u64;
        while released < target {
            let pool = &self.pools[DEFAULT_LARGE as usize];
            let count = pool.by_age.len() as u64;
            if count == 0 {
                return;
            }
            let total = u128::from(count) * u128::from(pool.searches) - pool.age_sum;
            let average = total as f64 / count as f64;
            let searches = pool.searches;
            let oldest = pool.by_age.iter();
            let oldest = oldest.take_while(|&&(since, _)| (searches - since) as f64 >= average);
            let mut oldest: Vec<Key> = oldest.map(|&(_, key)| key).collect();
            if oldest.is_empty() {
                return;
            }
            oldest.sort_unstable();
            for key in oldest {
                released = released.saturating_add(key.1);
                self.release_segment(key.3, driver);
            }
        }
    }

    /// With `max_split_size`: returns one cached oversize block that is large enough for a request, or else several, the
    /// largest first. Returns whether that may be enough.
    pub(super) fn release_oversize(&mut self, request: Request, driver: &mut impl Driver) -> bool {
        let Some(least) = self.settings.max_split_bytes else {
            return false;
        };
        let wanted = request.bytes.max(least);
        let pool = &self.pools[request.pool as usize];
        let is_segment = |key: &&Key| {
            pool.releasable.contains(*key) && self.blocks[key.3 as usize].reservation == NONE
        };
        let own = |from: u64, to: u64| {
            pool.free
                .range((request.stream, from, FIRST, 0)..=(request.stream, to, LAST, NONE))
        };
        let first = own(wanted, u64::MAX).next();
        if let Some(&key) = first.filter(is_segment) {
            self.release_segment(key.3, driver);
            return true;
        }
        let mut released = 0_u64;
        let largest = own(least, wanted).rev().take(LOOK_AT_MOST);
        let enough = largest.filter(is_segment).take_while(|key| {
            let more = released < wanted;
            released = released.saturating_add(key.1);
            more
        });
        let rows: Vec<u32> = enough.map(|key| key.3).collect();
        let sum = rows.iter().fold(0, |sum: u64, &row| {
            sum.saturating_add(self.blocks[row as usize].bytes)
        });
        for row in rows {
            self.release_segment(row, driver);
        }
        sum >= wanted
    }

    /// Waits for all streams and returns everything entirely free, as `empty_cache()` does, and a request that found no
    /// memory.
    pub(super) fn release_cached(&mut self, driver: &mut impl Driver) {
        for row in driver.synchronise() {
            self.free(row);
        }
        self.release_pool(DEFAULT_LARGE, driver);
        self.release_pool(DEFAULT_SMALL, driver);
        for (.., row) in std::mem::take(&mut self.given_up) {
            self.release_pool(row, driver);
        }
    }

    /// Marks a private pool as abandoned: from now on its free memory is released like all other.
    pub(super) fn abandon(&mut self, id: PoolId) {
        self.abandoned.insert(id);
        for is_small in [true, false] {
            if let Some(&row) = self.pool_rows.get(&(id, is_small)) {
                self.give_up(row);
            }
        }
    }

    /// Remembers an abandoned pool that has something to release, so that a release need not examine all pools.
    pub(super) fn give_up(&mut self, row: u32) {
        let pool = &self.pools[row as usize];
        if pool.id.is_private() && !pool.releasable.is_empty() && self.abandoned.contains(&pool.id)
        {
            self.given_up.insert((pool.id, !pool.is_small, row));
        }
    }

    /// Returns everything entirely free in a private pool, and marks it as abandoned.
    pub(super) fn release_private(&mut self, id: PoolId, driver: &mut impl Driver) {
        for is_small in [true, false] {
            let row = self.pool_row(id, is_small);
            self.release_pool(row, driver);
        }
        self.abandon(id);
    }

    fn release_pool(&mut self, pool: u32, driver: &mut impl Driver) {
        let releasable: BTreeSet<Key> = std::mem::take(&mut self.pools[pool as usize].releasable);
        let (segments, expandable): (Vec<u32>, Vec<u32>) = releasable
            .iter()
            .map(|key| key.3)
            .partition(|&row| self.blocks[row as usize].reservation == NONE);
        for row in segments {
            self.release_segment(row, driver);
        }
        for row in expandable {
            self.unmap(row, driver);
        }
    }

    fn release_segment(&mut self, row: u32, driver: &mut impl Driver) {
        self.take_from_pool(row);
        let block = self.blocks[row as usize];
        self.forget(row);
        self.reserved.give_back(self.arena(row), block.bytes);
        driver.give_back(block.address, block.bytes);
    }
}
