//! Contexts of events: stream, pool and the rare texts, interned together so that they take four bytes per event.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::interner::RowIndex;
use super::stack_table::{LineListTable, LinesId};
use crate::budget::{Budget, NoRoom};
use crate::ids::{ContextId, StringId};

/// A memory pool: `(0, 0)` is the default pool, `(n, 0)` belongs to a CUDA graph capture, `(0, n)` to
/// a `graph_pool_handle` or `MemPool`.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
pub struct PoolId(pub u64, pub u64);

/// `(0, 1)`. The pool's name depends on more than its id.
impl fmt::Display for PoolId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {})", self.0, self.1)
    }
}

impl PoolId {
    /// Whether this is not the default pool.
    #[must_use]
    pub fn is_private(self) -> bool {
        self != Self(0, 0)
    }
}

/// The category that `_profile_to_snapshot` gives an allocation, as text (`parameter`, `gradient`, …).
pub type Category = StringId;

/// The part of a trace entry that many entries share. `None` stands for an absent key.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Context {
    /// The `cudaStream_t` as a number; 0 = the legacy default stream.
    pub stream: i64,
    /// Since torch 2.12.
    pub pool: Option<PoolId>,
    /// `torch.compile`'s region; `N/A` outside of regions. Since torch 2.8.
    pub compile_context: Option<StringId>,
    /// The user's text for this thread; empty when unset. Since torch 2.10.
    pub user_metadata: Option<StringId>,
    /// The allocator's own note, e.g. `mallocWithAddress`. Since torch 2.15.
    pub internal_metadata: Option<StringId>,
    /// Only from `_profile_to_snapshot`, on alloc entries.
    pub category: Option<Category>,
    /// The forward pass's stack; see [`ContextTable::forward_lines`]. Since torch 2.11.
    pub forward_lines: Option<LinesId>,
}

/// Interned contexts.
#[derive(Clone, Default)]
pub struct ContextTable {
    rows: Vec<Context>,
    index: RowIndex,
    pub(crate) forward: LineListTable,
}

impl ContextTable {
    /// The id of `context`, which is added if it is new.
    pub(crate) fn intern(&mut self, context: Context) -> ContextId {
        let hash = self.index.hash(context);
        if let Some(row) = self
            .index
            .find(hash, |row| self.rows[row as usize] == context)
        {
            return ContextId(row);
        }
        let id = ContextId::from_index(self.rows.len());
        self.rows.push(context);
        self.index.insert(hash, id.0);
        id
    }

    pub(crate) fn make_room(&mut self, budget: &mut Budget) -> Result<(), NoRoom> {
        budget.room(&mut self.rows, 1)?;
        self.index.make_room(budget)
    }

    /// The context of `id`.
    ///
    /// # Panics
    /// If `id` comes from another snapshot.
    #[must_use]
    pub fn get(&self, id: ContextId) -> &Context {
        &self.rows[id.index()]
    }

    /// All distinct contexts in order of first appearance.
    #[must_use]
    pub fn rows(&self) -> &[Context] {
        &self.rows
    }

    /// The forward pass's stack of a context or block as preformatted lines, each of which may end in a newline;
    /// empty for `None`.
    pub fn forward_lines(&self, id: Option<LinesId>) -> impl ExactSizeIterator<Item = StringId> {
        self.forward.lines(id)
    }

    /// Number of distinct contexts.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are no contexts, and so no events.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Bytes held on the heap.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.rows.capacity() * size_of::<Context>()
            + self.index.heap_bytes()
            + self.forward.heap_bytes()
    }
}
