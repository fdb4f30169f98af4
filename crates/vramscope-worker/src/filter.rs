//! The matches of filters, kept for the next questions.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use vramscope_core::analysis::search::filter::{self, Filter, FilterText, Matches};
use vramscope_core::bitset::BitSet;
use vramscope_core::model::DeviceIndex;

use super::document::Device;

/// The most matches kept: those of the current filter on several devices, and those of the filter before.
const KEPT: usize = 8;

/// The matches of the last filters, the newest first.
#[derive(Default)]
pub(super) struct Filters {
    known: RefCell<VecDeque<((DeviceIndex, FilterText), SharedMatches)>>,
}

/// The matches of a filter on one device, cheap to clone.
#[derive(Clone)]
pub(super) struct SharedMatches {
    pub(super) set: Rc<BitSet>,
    /// The reasons why some of its terms match nothing.
    pub(super) notes: Rc<Vec<String>>,
}

impl Filters {
    /// The matches of a filter; `None` if its text cannot be parsed.
    pub(super) fn found(&self, device: Device<'_>, asked: &FilterText) -> Option<SharedMatches> {
        let key = (device.history.device, asked.clone());
        let mut kept = self.known.borrow_mut();
        if let Some((_, found)) = kept.iter().find(|(known, _)| *known == key) {
            return Some(found.clone());
        }
        let parsed = Filter::parse(&asked.text).ok()?;
        let Matches { set, notes } = filter::matches(&parsed, *device, asked.pointed());
        let found = SharedMatches {
            set: Rc::new(set),
            notes: Rc::new(notes),
        };
        kept.truncate(KEPT - 1);
        kept.push_front((key, found.clone()));
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::super::document::Document;
    use super::*;

    const FIXTURE: &[u8] = include_bytes!("../../../tests/fixtures/synth/torch-2.10-py-p4.pickle");

    fn matched(document: &Document, text: &str, cursor: Option<u32>) -> Option<usize> {
        let device = document.devices().next().unwrap();
        let filter = FilterText::of(text, cursor, None);
        let set = document.matches(device, filter.as_ref())?;
        Some(set.iter().count())
    }

    #[test]
    fn a_question_says_itself_what_is_searched_for() {
        let document = Document::new(vramscope_core::decode(FIXTURE).unwrap());
        let all = document.histories[0].allocations.len();
        // Twice, so that each is asked after every other: answers must not depend on earlier questions.
        for _ in 0..2 {
            assert_eq!(matched(&document, "size>0", None), Some(all));
            assert_eq!(matched(&document, "size<0", None), Some(0));
            assert_eq!(matched(&document, "size>", None), None);
            assert_eq!(matched(&document, "", None), None);
        }
        let live = |cursor| matched(&document, "live@cursor", Some(cursor)).unwrap();
        let history = &document.histories[0];
        for moment in 0..=history.event_count {
            let expected =
                vramscope_core::analysis::groups::live_at::live_at(history, moment).count();
            assert_eq!(live(moment), expected, "{moment}");
        }
        assert!(document.filters.known.borrow().len() <= KEPT);
    }
}
