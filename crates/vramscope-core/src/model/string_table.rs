//! The distinct texts of a snapshot.

use super::interner::RowIndex;
use crate::budget::{Budget, NoRoom};
use crate::ids::StringId;

/// Interned UTF-8 strings. Row 0 is always the empty string.
///
/// One buffer and one end offset per string: a snapshot repeats few texts very often, and a
/// `Box<str>` each would cost more than the text.
#[derive(Clone)]
pub struct StringTable {
    text: String,
    /// The end of string `i` in `text`. It begins at the end of string `i - 1`.
    ends: Vec<usize>,
    index: RowIndex,
}

impl Default for StringTable {
    fn default() -> Self {
        let mut table = Self {
            text: String::new(),
            ends: Vec::new(),
            index: RowIndex::default(),
        };
        table.intern("");
        table
    }
}

impl StringTable {
    /// The id of `text`, which is added if it is new. `None` when the table is full (2^32 strings).
    pub(crate) fn try_intern(&mut self, text: &str) -> Option<StringId> {
        let hash = self.index.hash(text.as_bytes());
        if let Some(row) = self.index.find(hash, |row| {
            let (start, end) = span(&self.ends, row as usize);
            self.text.as_bytes()[start..end] == *text.as_bytes()
        }) {
            return Some(StringId(row));
        }
        let row = u32::try_from(self.ends.len()).ok()?;
        self.text.push_str(text);
        self.ends.push(self.text.len());
        self.index.insert(hash, row);
        Some(StringId(row))
    }

    pub(crate) fn make_room(&mut self, length: usize, budget: &mut Budget) -> Result<(), NoRoom> {
        budget.room_for_text(&mut self.text, length)?;
        budget.room(&mut self.ends, 1)?;
        self.index.make_room(budget)
    }

    /// Like [`try_intern`](Self::try_intern); a full table answers with the empty string.
    pub(crate) fn intern(&mut self, text: &str) -> StringId {
        self.try_intern(text).unwrap_or(StringId(0))
    }

    /// The id of `text` if the snapshot contains it.
    #[must_use]
    pub fn find(&self, text: &str) -> Option<StringId> {
        let hash = self.index.hash(text.as_bytes());
        self.index
            .find(hash, |row| self.get(StringId(row)) == text)
            .map(StringId)
    }

    /// The text of `id`; empty for an id of another snapshot.
    #[must_use]
    pub fn get(&self, id: StringId) -> &str {
        if id.index() >= self.ends.len() {
            return "";
        }
        let (start, end) = span(&self.ends, id.index());
        &self.text[start..end]
    }

    /// Number of distinct strings.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Always false, because row 0 is the empty string.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Bytes held on the heap.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.text.capacity() + self.ends.capacity() * size_of::<usize>() + self.index.heap_bytes()
    }
}

fn span(ends: &[usize], row: usize) -> (usize, usize) {
    (if row == 0 { 0 } else { ends[row - 1] }, ends[row])
}
