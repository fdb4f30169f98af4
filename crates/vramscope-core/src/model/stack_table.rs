//! Distinct stacks and other short lists, in one buffer.

use super::interner::RowIndex;
use crate::budget::{Budget, NoRoom};
use crate::ids::{FrameId, StackId, StringId};

impl StackId {
    /// The record had no key `frames`: no stack was recorded.
    pub const ABSENT: Self = Self(u32::MAX);
    /// The record had an empty list of frames. Always row 0 of the table.
    pub const EMPTY: Self = Self(0);

    /// Whether the stack has at least one frame.
    #[must_use]
    pub fn has_frames(self) -> bool {
        self != Self::ABSENT && self != Self::EMPTY
    }
}

/// Interned stacks, innermost frame first, as the file has them. Row 0 is the empty stack.
///
/// Equal ids mean equal frames, although a file holds the same stack as thousands of separate list
/// objects.
#[derive(Clone)]
pub struct StackTable {
    lists: ListTable,
}

impl Default for StackTable {
    fn default() -> Self {
        let mut lists = ListTable::default();
        lists.intern(&[]);
        Self { lists }
    }
}

impl StackTable {
    /// The id of this list of frames, which is added if it is new.
    pub(crate) fn intern(&mut self, frames: &[u32]) -> StackId {
        StackId(self.lists.intern(frames))
    }

    pub(crate) fn make_room(&mut self, length: usize, budget: &mut Budget) -> Result<(), NoRoom> {
        self.lists.make_room(length, budget)
    }

    /// The frames of `id`, innermost first; empty for [`StackId::ABSENT`].
    pub fn frames(
        &self,
        id: StackId,
    ) -> impl DoubleEndedIterator<Item = FrameId> + ExactSizeIterator {
        self.lists.get(id.0).iter().map(|&frame| FrameId(frame))
    }

    /// Number of distinct stacks, the empty one included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lists.len()
    }

    /// Always false, because row 0 is the empty stack.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lists.len() == 0
    }

    /// Bytes held on the heap.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.lists.heap_bytes()
    }
}

/// A list of lines in a snapshot.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LinesId(u32);

impl LinesId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }

    /// The list in an existing row.
    pub(crate) fn of_row(row: u32) -> Self {
        Self(row)
    }
}

/// Interned lists of strings: the preformatted lines of `forward_frames`.
#[derive(Clone, Default)]
pub(crate) struct LineListTable {
    lists: ListTable,
}

impl LineListTable {
    /// The id of a list of strings, given by row, which is added if it is new.
    pub(crate) fn intern(&mut self, lines: &[u32]) -> LinesId {
        LinesId(self.lists.intern(lines))
    }

    pub(crate) fn make_room(&mut self, length: usize, budget: &mut Budget) -> Result<(), NoRoom> {
        self.lists.make_room(length, budget)
    }

    pub(crate) fn len(&self) -> usize {
        self.lists.len()
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.lists.heap_bytes()
    }

    /// The lines of a list; empty for `None`.
    pub(crate) fn lines(&self, id: Option<LinesId>) -> impl ExactSizeIterator<Item = StringId> {
        let lines = id.map_or(&[][..], |id| self.lists.get(id.0));
        lines.iter().map(|&line| StringId(line))
    }
}

/// Interned lists of row numbers.
#[derive(Clone, Default)]
struct ListTable {
    items: Vec<u32>,
    /// The end of list `i` in `items`.
    ends: Vec<usize>,
    index: RowIndex,
}

impl ListTable {
    fn intern(&mut self, items: &[u32]) -> u32 {
        let hash = self.index.hash(items);
        if let Some(row) = self.index.find(hash, |row| self.get(row) == items) {
            return row;
        }
        let row = self.ends.len() as u32;
        self.items.extend_from_slice(items);
        self.ends.push(self.items.len());
        self.index.insert(hash, row);
        row
    }

    fn make_room(&mut self, length: usize, budget: &mut Budget) -> Result<(), NoRoom> {
        budget.room(&mut self.items, length)?;
        budget.room(&mut self.ends, 1)?;
        self.index.make_room(budget)
    }

    fn get(&self, row: u32) -> &[u32] {
        let row = row as usize;
        let Some(&end) = self.ends.get(row) else {
            return &[];
        };
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.items[start..end]
    }

    fn len(&self) -> usize {
        self.ends.len()
    }

    fn heap_bytes(&self) -> usize {
        self.items.capacity() * 4
            + self.ends.capacity() * size_of::<usize>()
            + self.index.heap_bytes()
    }
}
