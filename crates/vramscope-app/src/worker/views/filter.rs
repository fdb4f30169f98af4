//! Answers to [`protocol::views::filter`](crate::protocol::views::filter).

use vramscope_core::analysis::search::filter::{
    Completions, Totals, Vocabulary, completions, totals,
};
use vramscope_core::bitset::BitSet;
use vramscope_core::ids::AllocationId;
use vramscope_core::model::DeviceIndex;

use super::super::document::{Device, Document};
use crate::protocol::views::filter::{Answer, FilterText, NextMatch, Question, SearchResult};

/// What is kept from one question to the next.
#[derive(Default)]
pub(super) struct Cache {
    vocabulary: Option<(DeviceIndex, Vocabulary)>,
    totals: Option<((DeviceIndex, FilterText, u32), Totals)>,
}

/// The answer; `None` if there is nothing to say.
pub(super) fn answer(
    question: &Question,
    document: &Document,
    cache: &mut Cache,
) -> Option<Answer> {
    Some(match question {
        Question::Matches {
            device,
            filter,
            moment,
        } => {
            let device = document.device(*device)?;
            Answer::Matches(cache.found(document, device, filter, *moment)?)
        }
        Question::Complete {
            device,
            text,
            caret,
        } => {
            let device = document.device(*device)?;
            Answer::Completions(cache.completions(device, text, *caret))
        }
        Question::Next {
            device,
            filter,
            from,
            moment,
            is_forward,
            ..
        } => {
            let device = document.device(*device)?;
            let set = document.matches(device, Some(filter))?;
            let next = next(device, &set, *from, *moment, *is_forward);
            Answer::Next(next.map(|row| NextMatch {
                allocation: AllocationId::from_index(row),
                moment: device.history.allocations.born[row],
                place: set.iter().take_while(|&other| other <= row).count() as u64,
            }))
        }
    })
}

impl Cache {
    fn found(
        &mut self,
        document: &Document,
        device: Device<'_>,
        filter: &FilterText,
        moment: Option<u32>,
    ) -> Option<SearchResult> {
        let found = document.filters.found(device, filter)?;
        let history = device.history;
        let moment = moment
            .unwrap_or(history.peak_moment)
            .min(history.event_count);
        let key = (history.device, filter.clone(), moment);
        let matches = match &self.totals {
            Some((known, totals)) if *known == key => *totals,
            _ => totals(history, Some(&found.set), moment),
        };
        self.totals = Some((key, matches));
        Some(SearchResult {
            matches,
            all_count: history.allocations.len() as u64,
            all_live_bytes: history.active_bytes_at(moment),
            moment,
            notes: found.notes.to_vec(),
        })
    }

    fn completions(&mut self, device: Device<'_>, text: &str, caret: usize) -> Completions {
        let number = device.history.device;
        let known = self.vocabulary.take().filter(|(known, _)| *known == number);
        let (_, vocabulary) = self
            .vocabulary
            .insert(known.unwrap_or_else(|| (number, Vocabulary::of(*device))));
        completions(text, caret, vocabulary)
    }
}

/// The match after `from`, or before it; else the first born after the moment. Goes round at the ends.
fn next(
    device: Device<'_>,
    set: &BitSet,
    from: Option<AllocationId>,
    moment: Option<u32>,
    is_forward: bool,
) -> Option<usize> {
    // Allocations are numbered by birth.
    let born = &device.history.allocations.born;
    let start = from.map(AllocationId::index).or_else(|| {
        let first = born.partition_point(|&born| born < moment.unwrap_or(0));
        if is_forward {
            first.checked_sub(1)
        } else {
            Some(first)
        }
    });
    if is_forward {
        let after = set
            .iter()
            .find(|&row| start.is_none_or(|start| row > start));
        after.or_else(|| set.iter().next())
    } else {
        let before = set
            .iter()
            .take_while(|&row| start.is_none_or(|start| row < start))
            .last();
        before.or_else(|| set.iter().last())
    }
}
