//! A snapshot to plan for: whole, and narrowed to the memory pools that were asked about last.

use vramscope_core::analysis::recording::Recording;
use vramscope_core::analysis::search::filter::Filter;
use vramscope_protocol::views::what_if::{Answer, Found, Question};
use vramscope_protocol::{Extra, to_bytes};

use super::what_if::Plans;

pub(super) struct Snapshot {
    whole: Plans,
    /// The pools, as a search.
    narrowed: Option<(String, Plans)>,
}

impl Snapshot {
    /// Replays the allocations of a snapshot.
    pub(super) fn new(snapshot: vramscope_core::Snapshot) -> Self {
        Self {
            // In the order of the worker.
            whole: Plans::new(Recording::by_peak(snapshot)),
            narrowed: None,
        }
    }

    /// The answer to a question about these pools, given as a search, or about all, with what was found for the worker; `None` if
    /// there is none.
    pub(super) fn answer(
        &mut self,
        within: Option<&str>,
        question: &Question,
        now_ms: fn() -> f64,
    ) -> Option<(Answer, Extra)> {
        let plans = match within {
            None => &mut self.whole,
            Some(pools) => self.narrow(pools)?,
        };
        let (answer, what) = plans.answer(question, now_ms)?;
        let found = what.map(|what| Found {
            within: within.map(str::to_owned),
            device: question.device(),
            what,
        });
        let extra = found.map_or(Extra::Nothing, |found| Extra::Bytes(to_bytes(&found)));
        Some((answer, extra))
    }

    /// The plans within pools; `None` if the search names none.
    fn narrow(&mut self, pools: &str) -> Option<&mut Plans> {
        let known = self.narrowed.take().filter(|(known, _)| known == pools);
        let narrowed = match known {
            Some(known) => known,
            None => {
                let pool = Filter::parse(pools).ok()?.pool()?;
                let recording = self.whole.recording();
                let within = recording.within_pools(|id| pool.matches(id));
                (pools.to_owned(), Plans::new(within))
            }
        };
        Some(&mut self.narrowed.insert(narrowed).1)
    }
}

#[cfg(test)]
mod tests;
