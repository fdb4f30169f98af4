//! What filters match.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use vramscope_core::analysis::search::filter::{self, Filter, Matches, Pointed};
use vramscope_core::bitset::BitSet;
use vramscope_core::model::DeviceIndex;

use super::document::Device;
use crate::protocol::views::filter::FilterText;

/// Matches that are kept: of the filter of now on all devices that are looked at, and of the one before.
const KEPT: usize = 8;

/// What the filters that were asked for last match, the newest first.
#[derive(Default)]
pub(super) struct Filters {
    known: RefCell<VecDeque<((DeviceIndex, FilterText), Found)>>,
}

/// What a filter matches of one device.
#[derive(Clone)]
pub(super) struct Found {
    pub(super) set: Rc<BitSet>,
    /// Why some of its terms find nothing.
    pub(super) notes: Rc<Vec<String>>,
}

impl Filters {
    /// What the filter matches, and why not more; `None` for a text that everything matches.
    pub(super) fn found(&self, device: Device<'_>, filter: &FilterText) -> Option<Found> {
        let key = (device.history.device, filter.clone());
        let mut kept = self.known.borrow_mut();
        if let Some((_, found)) = kept.iter().find(|(known, _)| *known == key) {
            return Some(found.clone());
        }
        let parsed = Filter::parse(&filter.text).ok()?;
        let pointed = Pointed {
            cursor: filter.cursor,
            range: filter.range,
        };
        let Matches { set, notes } = filter::matches(&parsed, *device, pointed);
        let found = Found {
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

    const FIXTURE: &[u8] =
        include_bytes!("../../../../tests/fixtures/synth/torch-2.10-py-p4.pickle");

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
        // One after the other, and the first again: nothing depends on what was asked before.
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

    #[test]
    fn a_filter_says_only_what_its_words_refer_to() {
        let of = |text| FilterText::of(text, Some(3), Some((1, 2))).unwrap();
        assert_eq!((of("size>1").cursor, of("size>1").range), (None, None));
        assert_eq!(of("live@cursor").cursor, Some(3));
        assert_eq!(of("live@cursor").range, None);
    }
}
