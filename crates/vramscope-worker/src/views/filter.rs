//! Answers to [`protocol::views::filter`](vramscope_protocol::views::filter).

use vramscope_core::analysis::report::pool_lines::pool_lines;
use vramscope_core::analysis::search::filter::{
    Completions, Totals, Vocabulary, completions, next_match, totals,
};
use vramscope_core::model::DeviceIndex;
use vramscope_protocol::views::filter::{Answer, FilterText, Question, SearchResult};

use super::super::document::{Device, Document};

/// The data kept from one question to the next.
#[derive(Default)]
pub(super) struct Cache {
    vocabulary: Option<(DeviceIndex, Vocabulary)>,
    totals: Option<((DeviceIndex, FilterText, u32), Totals)>,
}

/// The answer; `None` if there is no such device, or the filter cannot be parsed.
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
        Question::Pools { device } => Answer::Pools(pool_lines(*document.device(*device)?)),
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
            let born = &device.history.allocations.born;
            Answer::Next(next_match(born, &set, *from, *moment, *is_forward))
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
        completions(text, caret, self.vocabulary(device))
    }

    /// The words that a search on a device may use.
    pub(super) fn vocabulary(&mut self, device: Device<'_>) -> &Vocabulary {
        let number = device.history.device;
        let known = self.vocabulary.take().filter(|(known, _)| *known == number);
        let known = known.unwrap_or_else(|| (number, Vocabulary::of(*device)));
        &self.vocabulary.insert(known).1
    }
}
