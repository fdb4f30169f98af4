//! What the search box has found.

use std::cell::RefCell;
use std::rc::Rc;

use vramscope_core::analysis::filter::{self, Filter, Matches};
use vramscope_core::bitset::BitSet;
use vramscope_core::model::DeviceIndex;

use super::document::{Device, Document};
use crate::protocol::FilterId;
use crate::protocol::views::filter::FilterContext;

/// The filter that the page has set last, and what it matches.
#[derive(Default)]
pub(super) struct CurrentFilter {
    id: FilterId,
    text: String,
    context: FilterContext,
    /// What it matches of the devices that have been asked for.
    found: RefCell<Vec<(DeviceIndex, Found)>>,
}

/// What a filter matches of one device.
#[derive(Clone)]
pub(super) struct Found {
    pub(super) set: Rc<BitSet>,
    /// Why some of its terms find nothing.
    pub(super) notes: Rc<Vec<String>>,
}

impl CurrentFilter {
    /// Searches for this from now on.
    pub(super) fn set(&mut self, id: FilterId, text: String, context: FilterContext) {
        if (&self.text, self.context) != (&text, context) {
            self.found.get_mut().clear();
        }
        self.id = id;
        self.text = text;
        self.context = context;
    }

    /// Whether this is the filter of now, or none.
    pub(super) fn is(&self, filter: FilterId) -> bool {
        filter == self.id || filter == FilterId::default()
    }

    /// See [`Document::matches`].
    pub(super) fn matches(
        &self,
        document: &Document,
        device: Device<'_>,
        filter: FilterId,
    ) -> Option<Rc<BitSet>> {
        Some(self.found(document, device, filter)?.set)
    }

    /// What the filter matches, and why not more; `None` if there is none, or another by now.
    pub(super) fn found(
        &self,
        document: &Document,
        device: Device<'_>,
        filter: FilterId,
    ) -> Option<Found> {
        if filter != self.id || filter == FilterId::default() {
            return None;
        }
        let number = device.history.device;
        let mut kept = self.found.borrow_mut();
        if let Some((_, found)) = kept.iter().find(|(known, _)| *known == number) {
            return Some(found.clone());
        }
        // A wrong text is the page's to complain of: it means everything.
        let filter = Filter::parse(&self.text)
            .ok()
            .filter(|filter| !filter.is_empty())?;
        let Matches { set, notes } =
            filter::matches(&filter, &document.subject(device, self.context));
        let found = Found {
            set: Rc::new(set),
            notes: Rc::new(notes),
        };
        kept.push((number, found.clone()));
        Some(found)
    }

    /// What the words of the filter refer to.
    pub(super) fn context(&self) -> FilterContext {
        self.context
    }
}
