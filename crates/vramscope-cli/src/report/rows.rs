//! Rows and lines that are made while they are written: an answer may have more of them than fit into memory.

use std::borrow::Cow;
use std::ops::Range;

use super::Cell;

/// The rows of a table. Text iterates over them twice, first for the widths of columns.
pub(crate) trait Rows: Send {
    fn count(&self) -> usize;

    /// The rows with these numbers, which are below [`Self::count`].
    fn range(&self, range: Range<usize>) -> Box<dyn Iterator<Item = Cow<'_, [Cell]>> + '_>;

    /// A row in words, for text; `None` if text shows its cells.
    fn words(&self, _row: usize) -> Option<Vec<Said>> {
        None
    }
}

/// A piece of a row in words.
pub(crate) enum Said {
    /// The text before the first line, and a text that is wrapped after it.
    Paragraph(String, String),
    /// A line in one piece, for copying.
    Whole(String),
}

impl Said {
    pub(crate) fn new(first: impl Into<String>, text: impl Into<String>) -> Self {
        Self::Paragraph(first.into(), text.into())
    }
}

/// Values that JSON and CSV show as rows, and text in words.
pub(crate) struct Told<T> {
    pub(crate) values: Vec<T>,
    pub(crate) row: fn(&T) -> Vec<Cell>,
    pub(crate) words: fn(&T) -> Vec<Said>,
}

impl<T: Send> Rows for Told<T> {
    fn count(&self) -> usize {
        self.values.len()
    }

    fn range(&self, range: Range<usize>) -> Box<dyn Iterator<Item = Cow<'_, [Cell]>> + '_> {
        let rows = self.values[range].iter();
        Box::new(rows.map(|value| (self.row)(value).into()))
    }

    fn words(&self, row: usize) -> Option<Vec<Said>> {
        self.values.get(row).map(self.words)
    }
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
