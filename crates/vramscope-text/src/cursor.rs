//! Walks through a text without white space, word by word.

use memchr::memmem;

use crate::figure::Figure;

/// A position in a text without white space.
#[derive(Clone, Copy)]
pub(crate) struct Cursor<'a> {
    text: &'a [u8],
    pub(crate) at: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0 }
    }

    /// After the first occurrence of a word.
    pub(crate) fn behind(text: &'a [u8], word: &str) -> Option<Self> {
        let at = memmem::find(text, word.as_bytes())? + word.len();
        Some(Self { text, at })
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        &self.text[self.at..]
    }

    /// Ends the text before the first of these words after the cursor.
    pub(crate) fn end_before(&mut self, words: &[&str]) {
        let found = words.iter();
        let found = found.filter_map(|word| memmem::find(self.rest(), word.as_bytes()));
        if let Some(length) = found.min() {
            self.text = &self.text[..self.at + length];
        }
    }

    /// Moves past a word, if it comes next.
    pub(crate) fn eat(&mut self, word: &str) -> Option<()> {
        self.rest().starts_with(word.as_bytes()).then(|| {
            self.at += word.len();
        })
    }

    /// Moves past the first of these words that comes next.
    pub(crate) fn any(&mut self, words: &[&str]) -> Option<()> {
        words.iter().find_map(|word| self.eat(word))
    }

    /// Moves past the next occurrence of a word that begins within so many bytes.
    pub(crate) fn seek(&mut self, word: &str, within: usize) -> Option<()> {
        let rest = self.rest();
        let rest = &rest[..rest.len().min(within.saturating_add(word.len()))];
        self.at += memmem::find(rest, word.as_bytes())? + word.len();
        Some(())
    }

    pub(crate) fn figure(&mut self) -> Option<Figure> {
        let (figure, length) = Figure::at(self.rest())?;
        self.at += length;
        Some(figure)
    }

    pub(crate) fn short_figure(&mut self) -> Option<Figure> {
        let (figure, length) = Figure::short_at(self.rest())?;
        self.at += length;
        Some(figure)
    }

    /// Reads a number whose unit is known.
    pub(crate) fn figure_in(&mut self, unit: &'static str) -> Option<Figure> {
        let (figure, length) = Figure::plain_at(self.rest(), unit)?;
        self.at += length;
        Some(figure)
    }

    pub(crate) fn number(&mut self) -> Option<u64> {
        let rest = self.rest();
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let number = str::from_utf8(&rest[..digits]).ok()?.parse().ok()?;
        self.at += digits;
        Some(number)
    }
}
