//! Segments as the final snapshot lists them: memory the allocator holds from the device.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::context_table::PoolId;
use crate::ids::{BlockId, SegmentId, StackId, StringId};

/// The size class that a segment serves.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SegmentKind {
    /// Requests up to 1 MiB.
    Small,
    /// Everything else.
    Large,
    /// Another word.
    Other(StringId),
}

/// One segment. `None` stands for an absent key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Segment {
    /// Device index; -1 for pinned host memory.
    pub device: i32,
    /// Start address.
    pub address: u64,
    /// Bytes held from the device: for an expandable segment, of this contiguous mapped range.
    pub total_size: u64,
    /// Bytes of blocks in use, as stated in the file.
    pub allocated_size: Option<u64>,
    /// Bytes of blocks in use or pending free, as stated in the file.
    pub active_size: Option<u64>,
    /// Requested bytes of active blocks, as stated in the file.
    pub requested_size: Option<u64>,
    /// The `cudaStream_t` as a number. Since torch 1.13.
    pub stream: Option<i64>,
    /// Its size class.
    pub kind: Option<SegmentKind>,
    /// Since torch 2.1.
    pub pool: Option<PoolId>,
    /// Since torch 2.1.
    pub is_expandable: Option<bool>,
    /// The stack of the request for which the allocator got the segment from the device.
    pub stack: StackId,
    /// Its blocks in address order: rows of the block table.
    pub blocks: Range<u32>,
}

impl Segment {
    /// Its blocks.
    pub fn block_ids(&self) -> impl ExactSizeIterator<Item = BlockId> + use<> {
        self.blocks.clone().map(BlockId)
    }

    /// The address after its last byte, saturating.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.address.saturating_add(self.total_size)
    }
}

/// Segments in the order of the file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SegmentTable {
    /// The segments.
    pub rows: Vec<Segment>,
}

impl SegmentTable {
    /// The segment of `id`.
    ///
    /// # Panics
    /// If `id` comes from another table.
    #[must_use]
    pub fn get(&self, id: SegmentId) -> &Segment {
        &self.rows[id.index()]
    }

    /// The segments of one device in file order.
    pub fn of_device(&self, device: i32) -> impl Iterator<Item = (SegmentId, &Segment)> {
        let rows = self.rows.iter().enumerate();
        rows.filter(move |(_, segment)| segment.device == device)
            .map(|(row, segment)| (SegmentId::from_index(row), segment))
    }

    /// Number of segments.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are no segments.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}
