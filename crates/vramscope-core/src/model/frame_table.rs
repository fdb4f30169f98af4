//! Distinct stack frames: function, file and line, with torch.fx details where a file has them.

use super::interner::RowIndex;
use crate::budget::{Budget, NoRoom};
use crate::ids::{FrameId, StringId};

/// One frame of a stack.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Frame {
    /// Function name; for C++ the demangled signature.
    pub name: StringId,
    /// Source file as the producer wrote it; often `??` for C++.
    pub filename: StringId,
    /// Line in that file, from 1; 0 = unknown.
    pub line: u32,
    /// The torch.fx node of generated code (torch ≥ 2.10 with `augment_with_fx_traces`).
    pub fx: Option<FxNode>,
}

/// The `fx_*` keys of a frame. The empty string stands for an absent key.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FxNode {
    /// `fx_node_op`, e.g. `call_function`.
    pub op: StringId,
    /// `fx_node_name`.
    pub name: StringId,
    /// `fx_node_target`.
    pub target: StringId,
    /// `fx_original_trace`: the lines of the model's own code, many lines of text.
    pub original_trace: StringId,
}

/// Interned frames: equal ids mean equal name, file, line and fx node.
#[derive(Clone, Default)]
pub struct FrameTable {
    rows: Vec<Frame>,
    index: RowIndex,
}

impl FrameTable {
    /// The id of `frame`, which is added if it is new.
    pub(crate) fn intern(&mut self, frame: Frame) -> FrameId {
        let hash = self.index.hash(frame);
        if let Some(row) = self
            .index
            .find(hash, |row| self.rows[row as usize] == frame)
        {
            return FrameId(row);
        }
        let id = FrameId::from_index(self.rows.len());
        self.rows.push(frame);
        self.index.insert(hash, id.0);
        id
    }

    pub(crate) fn make_room(&mut self, budget: &mut Budget) -> Result<(), NoRoom> {
        budget.room(&mut self.rows, 1)?;
        self.index.make_room(budget)
    }

    /// The frame of `id`.
    ///
    /// # Panics
    /// If `id` comes from another snapshot.
    #[must_use]
    pub fn get(&self, id: FrameId) -> &Frame {
        &self.rows[id.index()]
    }

    /// Number of distinct frames.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether no stack was recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Bytes held on the heap.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.rows.capacity() * size_of::<Frame>() + self.index.heap_bytes()
    }
}
