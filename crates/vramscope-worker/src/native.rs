//! The worker without a browser: a snapshot that answers questions, for tests of those who ask.

use vramscope_core::Snapshot;
use vramscope_core::analysis::recording::Recording;
use vramscope_core::analysis::search::filter::Filter;
use vramscope_protocol::views::what_if::Found;
use vramscope_protocol::{Answer, DevicesOfPools, DevicesWithin, Extra, Opened, Question};

use super::document::Document;
use super::opened;
use super::painter::Painter;
use super::views::{self, Caches};

/// An open snapshot.
pub struct Native {
    document: Document,
    painter: Painter,
    caches: Caches,
}

impl Native {
    /// Replays the allocations of a snapshot.
    #[must_use]
    pub fn new(snapshot: Snapshot) -> Self {
        Self {
            document: Document::new(snapshot),
            painter: Painter::default(),
            caches: Caches::default(),
        }
    }

    /// It, prepared for questions.
    #[must_use]
    pub fn recording(&self) -> &Recording {
        &self.document
    }

    /// The facts about it.
    #[must_use]
    pub fn opened(&self, name: &str) -> Opened {
        opened::opened(&self.document, name, 0, 0.0)
    }

    /// The answer to a question, with its attachment; `None` if there is none, as to those for pictures of pixels.
    pub fn answer(&mut self, question: &Question) -> Option<(Answer, Extra)> {
        views::answer(
            question,
            &self.document,
            &mut self.painter,
            &mut self.caches,
        )
    }

    /// Keeps what the planner found.
    pub fn take(&mut self, found: Found) {
        views::take(found, &self.document, &mut self.caches);
    }

    /// Narrows it to memory pools, given as a search; `None` if that names none.
    pub fn narrow(&mut self, pools: &str) -> Option<DevicesOfPools> {
        let pool = Filter::parse(pools).ok()?.pool()?;
        self.document = self.document.within_pools(|id| pool.matches(id));
        let pools = pools.to_owned();
        Some(opened::devices_of_pools(
            &self.document,
            &DevicesWithin { pools },
        ))
    }
}
