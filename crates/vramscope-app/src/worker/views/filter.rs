//! Answers to [`protocol::views::filter`](crate::protocol::views::filter).

use vramscope_core::analysis::filter::{Completions, Totals, Vocabulary, completions, totals};
use vramscope_core::bitset::BitSet;
use vramscope_core::ids::AllocationId;
use vramscope_core::model::DeviceIndex;

use super::super::document::{Device, Document};
use crate::protocol::views::filter::{Answer, FilterContext, Found, NextMatch, Question};
use crate::protocol::{Extra, FilterId};

/// What is kept from one question to the next.
#[derive(Default)]
pub(super) struct Cache {
    vocabulary: Option<(DeviceIndex, Vocabulary)>,
    totals: Option<((DeviceIndex, FilterId, u32), Totals)>,
}

/// The answer, with what travels beside it; `None` if there is nothing to say.
pub(super) fn answer(
    question: &Question,
    document: &Document,
    cache: &mut Cache,
) -> Option<(Answer, Extra)> {
    let answer = match question {
        Question::Found {
            device,
            filter,
            moment,
        } => {
            let device = document.device(*device)?;
            Answer::Found(cache.found(document, device, *filter, *moment)?)
        }
        Question::Complete {
            device,
            text,
            caret,
        } => {
            let device = document.device(*device)?;
            Answer::Completions(cache.completions(document, device, text, *caret))
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
            let set = document.matches(device, *filter)?;
            let next = next(device, &set, *from, *moment, *is_forward);
            Answer::Next(next.map(|row| NextMatch {
                allocation: AllocationId::from_index(row),
                moment: device.history.allocations.born[row],
                place: set.iter().take_while(|&other| other <= row).count() as u64,
            }))
        }
    };
    Some((answer, Extra::Nothing))
}

impl Cache {
    fn found(
        &mut self,
        document: &Document,
        device: Device<'_>,
        filter: FilterId,
        moment: Option<u32>,
    ) -> Option<Found> {
        let found = document.filter.found(document, device, filter)?;
        let history = device.history;
        let moment = moment
            .unwrap_or(history.peak_moment)
            .min(history.event_count);
        let key = (history.device, filter, moment);
        let matches = match &self.totals {
            Some((known, totals)) if *known == key => *totals,
            _ => totals(history, Some(&found.set), moment),
        };
        self.totals = Some((key, matches));
        Some(Found {
            matches,
            all_count: history.allocations.len() as u64,
            all_live_bytes: history.active_bytes_at(moment),
            moment,
            notes: found.notes.to_vec(),
        })
    }

    fn completions(
        &mut self,
        document: &Document,
        device: Device<'_>,
        text: &str,
        caret: usize,
    ) -> Completions {
        let number = device.history.device;
        let known = self.vocabulary.take().filter(|(known, _)| *known == number);
        let (_, vocabulary) = self.vocabulary.insert(known.unwrap_or_else(|| {
            let subject = document.subject(device, FilterContext::default());
            (number, Vocabulary::of(&subject, &document.words().classes))
        }));
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
