//! Exact search for a packing within a given height.
//!
//! * `core` sets aside the buffers that fit wherever all others lie, judged by the sizes of those that overlap them. They
//!   are placed last. For a training run this leaves little to search.
//! * The rest falls into parts (`part`) that share no moment, and each part is searched by itself. Parts of more than
//!   2,048 buffers are not: nothing could be proved about them in reasonable time, and greedy packers come close to
//!   the bound on them.
//! * `tree` searches one part for a packing within a capacity. It places buffers by rising offset, so a state is only
//!   the list of remaining buffers with their least offsets. Nothing is ever undone. A section is too full if its
//!   buffers, taken by least offset, end above the capacity.
//! * The time of a search depends on how equal offsets are ranked, and no ranking is best for all problems. So five
//!   rankings take turns with a growing budget of nodes (`rounds`).
//! * `descent` does the same for capacities between the bound and the best known height.
//!
//! The clock decides only when a search pauses, never what it finds.

mod core;
mod descent;
mod failed;
mod keys;
mod part;
mod rounds;
mod tree;

use std::sync::Arc;

use self::core::Core;
pub(super) use self::descent::Descent;
use self::rounds::{Ended, Round, first_nodes};
use super::{Packing, Problem, Sections, lower_bound};

/// The result of a search so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SearchResult {
    /// A packing within the capacity.
    Packing(Packing),
    /// No packing fits the capacity.
    Impossible,
    /// Neither is known yet; the search can continue.
    NotYet,
    /// A part has too many buffers to search.
    TooLarge,
}

/// A search for a packing of one problem within a capacity.
pub struct Search {
    problem: Arc<Problem>,
    sections: Sections,
    capacity: u64,
    /// `None` if the lower bound already rules a packing out.
    core: Option<Core>,
    /// By solved part: the offsets of its buffers in bytes.
    solved: Vec<Vec<u64>>,
    /// The current round of the part being searched, and its budget of nodes.
    current: Option<(Round, u64)>,
    is_impossible: bool,
}

impl Search {
    /// A search that has not begun.
    #[must_use]
    pub fn new(problem: Arc<Problem>, capacity: u64) -> Self {
        let sections = Sections::of(&problem);
        let is_impossible = lower_bound(&problem) > capacity;
        let core = (!is_impossible).then(|| Core::new(&problem, &sections, capacity));
        Self {
            problem,
            sections,
            capacity,
            core,
            solved: Vec::new(),
            current: None,
            is_impossible,
        }
    }

    /// Searches until `is_over` returns true. Every call makes some progress.
    pub fn run(&mut self, is_over: &mut dyn FnMut() -> bool) -> SearchResult {
        let Some(core) = self.core.as_ref().filter(|_| !self.is_impossible) else {
            return SearchResult::Impossible;
        };
        while let Some(part) = core.parts.get(self.solved.len()) {
            if part.is_too_large(self.capacity) {
                return SearchResult::TooLarge;
            }
            let (round, nodes) = self.current.get_or_insert_with(|| {
                let nodes = first_nodes(part);
                (Round::new(part, self.capacity, nodes), nodes)
            });
            match round.run(part, is_over) {
                None => return SearchResult::NotYet,
                Some(Ended::Limit) => {
                    let nodes = nodes.saturating_mul(2);
                    self.current = Some((Round::new(part, self.capacity, nodes), nodes));
                }
                Some(Ended::Impossible) => {
                    self.is_impossible = true;
                    return SearchResult::Impossible;
                }
                Some(Ended::Solved(offsets)) => {
                    self.solved.push(offsets);
                    self.current = None;
                }
            }
        }
        let offsets = self.solved.iter().map(Vec::as_slice);
        SearchResult::Packing(core.complete(&self.problem, &self.sections, offsets))
    }
}

#[cfg(test)]
mod tests;
