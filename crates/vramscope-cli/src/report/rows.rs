//! Rows and lines that are made when they are written: an answer may have more of them than fit into memory.

use std::borrow::Cow;
use std::ops::Range;

use super::Cell;

/// The rows of a table. Text asks for them twice, first for the widths of columns.
pub(crate) trait Rows: Send {
    /// Number of rows.
    fn count(&self) -> usize;

    /// The rows with these numbers, which are below [`Self::count`].
    fn range(&self, range: Range<usize>) -> Box<dyn Iterator<Item = Cow<'_, [Cell]>> + '_>;
}

impl dyn Rows {
    /// All rows.
    pub(super) fn all(&self) -> impl Iterator<Item = Cow<'_, [Cell]>> {
        self.range(0..self.count())
    }
}

impl Rows for Vec<Vec<Cell>> {
    fn count(&self) -> usize {
        self.len()
    }

    fn range(&self, range: Range<usize>) -> Box<dyn Iterator<Item = Cow<'_, [Cell]>> + '_> {
        Box::new(self[range].iter().map(Cow::from))
    }
}

/// One row for each value.
impl<T: Send, F: Fn(&T) -> Vec<Cell> + Send> Rows for (Vec<T>, F) {
    fn count(&self) -> usize {
        self.0.len()
    }

    fn range(&self, range: Range<usize>) -> Box<dyn Iterator<Item = Cow<'_, [Cell]>> + '_> {
        let (values, row) = self;
        Box::new(values[range].iter().map(|value| row(value).into()))
    }
}

/// The lines of one cell, such as the frames of a stack.
pub(crate) trait Lines: Send + Sync {
    /// All lines, in their order.
    fn lines(&self) -> Box<dyn Iterator<Item = Cow<'_, str>> + '_>;
}

impl Lines for Vec<String> {
    fn lines(&self) -> Box<dyn Iterator<Item = Cow<'_, str>> + '_> {
        Box::new(self.iter().map(Cow::from))
    }
}
