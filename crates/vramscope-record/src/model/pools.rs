//! The driver's memory pools: which there are, what they hold, and which of it nobody uses.

use std::collections::{BTreeMap, HashMap};

use vramscope_core::model::PoolId;

use super::journal::PoolRow;

/// What is no pool's.
pub(crate) const NO_POOL: PoolRow = 0;

/// Sums, and empty segments, that are tried at most to find what a pool gave back.
const MOST_SUMS: usize = 4096;

/// What a pool's number in a log names.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum PoolKey {
    /// A `CUmemoryPool`.
    Pool(u64),
    /// A graph, whose nodes allocate.
    Graph(u64),
}

/// A pool.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pool {
    /// As snapshots name it.
    pub(crate) id: PoolId,
    /// Bytes of its segments.
    held_bytes: u64,
    /// Its segments in which nothing lives, by when the last thing was freed, with their sizes.
    empty: BTreeMap<(u64, u64), u64>,
    /// Whether what gets empty goes at once.
    pub(crate) is_destroyed: bool,
}

/// All pools; row 0 stands for no pool.
#[derive(Clone, Debug)]
pub(crate) struct Pools {
    rows: Vec<Pool>,
    by_key: HashMap<PoolKey, PoolRow>,
    others: u64,
    graphs: u64,
}

impl Default for Pools {
    fn default() -> Self {
        Self {
            rows: vec![Pool::default()],
            by_key: HashMap::new(),
            others: 0,
            graphs: 0,
        }
    }
}

impl Pools {
    /// The pool of this name, which is taken for a device's default pool as long as nobody says otherwise.
    pub(crate) fn row(&mut self, key: PoolKey) -> PoolRow {
        if let Some(&row) = self.by_key.get(&key) {
            return row;
        }
        let row = self.rows.len() as PoolRow;
        let id = match key {
            PoolKey::Pool(_) => PoolId(0, 0),
            PoolKey::Graph(_) => {
                self.graphs += 1;
                PoolId(self.graphs, 0)
            }
        };
        self.rows.push(Pool {
            id,
            ..Pool::default()
        });
        self.by_key.insert(key, row);
        row
    }

    /// The pool of this name, which is none's default.
    pub(crate) fn other(&mut self, handle: u64) -> PoolRow {
        let row = self.row(PoolKey::Pool(handle));
        let pool = &mut self.rows[row as usize];
        if pool.id == PoolId(0, 0) {
            self.others += 1;
            pool.id = PoolId(0, self.others);
        }
        row
    }

    /// Forgets the name of a pool that is gone; its next bearer is another pool.
    pub(crate) fn destroy(&mut self, handle: u64) -> Option<PoolRow> {
        let row = self.by_key.remove(&PoolKey::Pool(handle))?;
        self.rows[row as usize].is_destroyed = true;
        Some(row)
    }

    /// Gives a pool its name back, for it is not gone, unless another has it now.
    pub(crate) fn undo_destroy(&mut self, handle: u64, row: PoolRow) {
        self.by_key.entry(PoolKey::Pool(handle)).or_insert(row);
        self.rows[row as usize].is_destroyed = false;
    }

    pub(crate) fn get(&self, row: PoolRow) -> &Pool {
        &self.rows[row as usize]
    }

    pub(crate) fn add_segment(&mut self, row: PoolRow, bytes: u64) {
        let pool = &mut self.rows[row as usize];
        pool.held_bytes = pool.held_bytes.saturating_add(bytes);
    }

    pub(crate) fn remove_segment(&mut self, row: PoolRow, bytes: u64) {
        let pool = &mut self.rows[row as usize];
        pool.held_bytes = pool.held_bytes.saturating_sub(bytes);
    }

    /// A segment got empty.
    pub(crate) fn add_empty(&mut self, row: PoolRow, emptied: u64, address: u64, bytes: u64) {
        self.rows[row as usize]
            .empty
            .insert((emptied, address), bytes);
    }

    /// An empty segment is used again, or gone.
    pub(crate) fn remove_empty(&mut self, row: PoolRow, emptied: u64, address: u64) {
        self.rows[row as usize].empty.remove(&(emptied, address));
    }

    /// The addresses of a pool's empty segments, the one that was freed first first.
    pub(crate) fn empty(&self, row: PoolRow) -> Vec<u64> {
        let keys = self.rows[row as usize].empty.keys();
        keys.map(|&(_, address)| address).collect()
    }

    /// The segments that a pool gave back if it holds only `held_bytes` now: of the empty ones those that sum up to
    /// most of what is missing, and of equal ones those that were freed first.
    pub(crate) fn given_back(&self, row: PoolRow, held_bytes: u64) -> Vec<u64> {
        let pool = &self.rows[row as usize];
        let missing = pool.held_bytes.saturating_sub(held_bytes);
        if missing == 0 {
            return Vec::new();
        }
        // How each sum is reached: the sum before, and the segment that makes the difference.
        let mut sums: BTreeMap<u64, (u64, u64)> = BTreeMap::from([(0, (0, 0))]);
        for (&(_, address), &bytes) in pool.empty.iter().take(MOST_SUMS) {
            if sums.contains_key(&missing) {
                break;
            }
            let before: Vec<u64> = sums.keys().copied().collect();
            for sum in before {
                let Some(next) = sum.checked_add(bytes).filter(|&next| next <= missing) else {
                    break;
                };
                if sums.len() < MOST_SUMS {
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
        let row = pools.row(PoolKey::Pool(9));
        for (age, (address, bytes)) in (0..).zip([(100, 3), (200, 5), (300, 8), (400, 2)]) {
            pools.add_segment(row, bytes);
            pools.add_empty(row, age, address, bytes);
        }
        let given_back = |held| pools.given_back(row, held);
        assert_eq!(given_back(18), [0_u64; 0]);
        assert_eq!(given_back(15), [100], "3 of 18");
        assert_eq!(given_back(10), [100, 200], "8 of 18: older than 300");
        assert_eq!(given_back(17), [0_u64; 0], "1 of 18: nothing is so small");
        assert_eq!(given_back(14), [100], "4 of 18: 3 is most");
        assert_eq!(given_back(0), [100, 200, 300, 400]);
    }

    #[test]
    fn a_name_that_is_given_again_names_another_pool() {
        let mut pools = Pools::default();
        let first = pools.other(7);
        assert_eq!(pools.get(first).id, PoolId(0, 1));
        assert_eq!(pools.row(PoolKey::Pool(7)), first);
        assert_eq!(pools.destroy(7), Some(first));
        assert_eq!(pools.destroy(7), None);
        let second = pools.other(7);
        assert_eq!(pools.get(second).id, PoolId(0, 2));
        let graph = pools.row(PoolKey::Graph(7));
        assert_eq!(pools.get(graph).id, PoolId(1, 0));
    }
}
