//! Blocks as listed by the final snapshot: the pieces of a segment.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::stack_table::LinesId;
use crate::ids::{BlockId, StackId, StringId};

/// The state of a block at the moment of the snapshot.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockState {
    /// In use.
    ActiveAllocated,
    /// Freed by the program, but another stream may still be using it.
    ActivePendingFree,
    /// Free, kept in the allocator's cache.
    Inactive,
    /// A state unknown to this version; counts as free.
    Other(StringId),
}

impl BlockState {
    /// Whether the block counts as active: in use or pending free.
    #[must_use]
    pub fn is_active(self) -> bool {
        matches!(self, Self::ActiveAllocated | Self::ActivePendingFree)
    }
}

/// One block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Block {
    /// Start address. Computed from the sizes of the blocks before it if the file has none (torch ≤ 2.0).
    pub address: u64,
    /// Bytes after rounding.
    pub size: u64,
    /// Requested bytes. Stale in inactive blocks, where it can exceed `size`.
    pub requested_size: Option<u64>,
    /// Its state.
    pub state: BlockState,
    /// The stack of its allocation.
    pub stack: StackId,
    /// The forward pass's stack; see [`ContextTable::forward_lines`](super::ContextTable::forward_lines). Since
    /// torch 2.15.
    pub forward_lines: Option<LinesId>,
    /// Its tenants, newest first (torch 1.13 and 2.0 only): rows of [`BlockTable::tenants`].
    pub history: Option<Range<u32>>,
}

/// An entry of a block's `history` (torch 1.13 and 2.0): a past or present tenant of the block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tenant {
    /// Address of the tenant, if written.
    pub address: Option<u64>,
    /// Bytes requested.
    pub real_size: u64,
    /// The stack of its allocation.
    pub stack: StackId,
}

/// Blocks of all segments; a segment's blocks are contiguous.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BlockTable {
    /// The blocks.
    pub rows: Vec<Block>,
    /// The tenants that `history` ranges over.
    pub tenants: Vec<Tenant>,
}

impl BlockTable {
    /// The block of `id`.
    ///
    /// # Panics
    /// If `id` comes from another snapshot.
    #[must_use]
    pub fn get(&self, id: BlockId) -> &Block {
        &self.rows[id.index()]
    }

    /// The tenants of a block, newest first.
    #[must_use]
    pub fn tenants(&self, block: &Block) -> &[Tenant] {
        block.history.as_ref().map_or(&[], |range| {
            &self.tenants[range.start as usize..range.end as usize]
        })
    }

    /// Requested bytes: the block's own key, else its newest tenant's (torch 1.13), else
    /// its size. Only meaningful for active blocks.
    #[must_use]
    pub fn requested_bytes(&self, block: &Block) -> u64 {
        let tenant = self.tenants(block).first().map(|tenant| tenant.real_size);
        block.requested_size.or(tenant).unwrap_or(block.size)
    }

    /// The stack of a block's allocation: the block's own, else its newest tenant's.
    #[must_use]
    pub fn stack(&self, block: &Block) -> StackId {
        match self.tenants(block).first() {
            Some(tenant) if block.stack == StackId::ABSENT => tenant.stack,
            _ => block.stack,
        }
    }

    /// Number of blocks.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are no blocks.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}
