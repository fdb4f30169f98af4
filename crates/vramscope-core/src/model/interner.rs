//! Interning of rows: a hash table of row numbers next to a table that compares a candidate with its rows.

use std::hash::{BuildHasher, Hash};

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use crate::budget::{Budget, Full, NoRoom};

/// Heap bytes per row of capacity: a row, a control byte, and the one in eight buckets that stays empty.
const ROW_BYTES: usize = 11;

/// Row numbers by the content of their rows. The rows themselves live in the table that owns this.
#[derive(Clone, Default)]
pub(crate) struct RowIndex {
    /// (half of the hash, row). The half hash saves most comparisons, and rehashing every row when the table grows.
    rows: HashTable<(u32, u32)>,
    hasher: RandomState,
}

impl RowIndex {
    /// The hash of a row's content for [`find`](Self::find) and [`insert`](Self::insert).
    pub(crate) fn hash(&self, content: impl Hash) -> u64 {
        widen((self.hasher.hash_one(content) >> 32) as u32)
    }

    /// The row with this hash for which `is_equal` holds.
    pub(crate) fn find(&self, hash: u64, mut is_equal: impl FnMut(u32) -> bool) -> Option<u32> {
        let half = hash as u32;
        self.rows
            .find(hash, |&(row_half, row)| row_half == half && is_equal(row))
            .map(|&(_, row)| row)
    }

    /// Adds a row that [`find`](Self::find) did not find.
    pub(crate) fn insert(&mut self, hash: u64, row: u32) {
        self.rows
            .insert_unique(hash, (hash as u32, row), |&(half, _)| widen(half));
    }

    #[inline]
    pub(crate) fn make_room(&mut self, budget: &mut Budget) -> Result<(), NoRoom> {
        let (rows, before) = (self.rows.len(), self.rows.capacity());
        if rows < before {
            return Ok(());
        }
        // The table doubles its buckets.
        budget.extend(ROW_BYTES, 2 * (rows + 1), || {
            match self.rows.try_reserve(1, |&(half, _)| widen(half)) {
                Ok(()) => Ok(self.rows.capacity() - before),
                Err(_full) => Err(Full),
            }
        })
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.rows.capacity() * ROW_BYTES
    }
}

/// Expands half a hash to a whole one. Both ends need entropy: the top for the table's control bits, the bottom for the
/// bucket.
fn widen(half: u32) -> u64 {
    u64::from(half) << 32 | u64::from(half)
}
