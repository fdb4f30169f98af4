//! What the search box has found.

use std::rc::Rc;

use vramscope_core::bitset::BitSet;

use super::document::{Device, Document};
use crate::protocol::FilterId;
use crate::protocol::views::filter::FilterContext;

/// The filter that the page has set last, and what it matches.
#[derive(Default)]
pub(super) struct CurrentFilter {
    id: FilterId,
    text: String,
    context: FilterContext,
}

impl CurrentFilter {
    /// Searches for this from now on.
    pub(super) fn set(&mut self, id: FilterId, text: String, context: FilterContext) {
        *self = Self { id, text, context };
    }

    /// See [`Document::matches`].
    pub(super) fn matches(
        &self,
        _document: &Document,
        _device: Device<'_>,
        filter: FilterId,
    ) -> Option<Rc<BitSet>> {
        let _ = (&self.text, &self.context, filter == self.id);
        None
    }
}
