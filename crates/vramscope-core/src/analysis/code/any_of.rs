//! Looks for several texts in another.

use memchr::memmem::Finder;

/// Texts to look for, prepared once: there are many frames to look in.
pub(crate) struct AnyOf(Vec<Finder<'static>>);

impl AnyOf {
    pub(crate) fn new(texts: &[&'static str]) -> Self {
        Self(texts.iter().copied().map(Finder::new).collect())
    }

    /// Whether one of them is a part of `text`.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        let text = text.as_bytes();
        self.0.iter().any(|part| part.find(text).is_some())
    }
}
