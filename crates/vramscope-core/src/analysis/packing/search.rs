//! Exact search for a packing within a given height.
//!
//! What fits wherever everything else lies is left out until the end; the rest falls apart where nothing of it is
//! live. Parts of more than 2,048 buffers are not searched: nothing could be proved about them in a
//! lifetime, and greedy packers are near the bound then.

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

/// What a search knows by now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// A packing within the capacity.
    Packing(Packing),
    /// There is none.
    Impossible,
    /// The time was over before either was known; the search can go on.
    NotYet,
    /// There is too much of it to search.
    TooLarge,
}

/// A search for a packing of a problem that is no higher than a capacity.
pub struct Search {
    problem: Arc<Problem>,
    sections: Sections,
    capacity: u64,
    /// `None` if the bound tells that there is no packing.
    core: Option<Core>,
    /// By part, where its buffers lie, in bytes; for the parts that are solved.
    solved: Vec<Vec<u64>>,
    /// A round of the part that is searched, and its nodes.
    current: Option<(Round, u64)>,
    is_impossible: bool,
}

impl Search {
    /// Nothing is searched yet.
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

    /// Searches on until `is_over`, but a little in any case.
    pub fn run(&mut self, is_over: &mut dyn FnMut() -> bool) -> Found {
        let Some(core) = self.core.as_ref().filter(|_| !self.is_impossible) else {
            return Found::Impossible;
        };
        while let Some(part) = core.parts.get(self.solved.len()) {
            if part.is_too_large(self.capacity) {
                return Found::TooLarge;
            }
            let (round, nodes) = self.current.get_or_insert_with(|| {
                let nodes = first_nodes(part);
                (Round::new(part, self.capacity, nodes), nodes)
            });
            match round.run(part, is_over) {
                None => return Found::NotYet,
                Some(Ended::Limit) => {
                    let nodes = nodes.saturating_mul(2);
                    self.current = Some((Round::new(part, self.capacity, nodes), nodes));
                }
                Some(Ended::Impossible) => {
                    self.is_impossible = true;
                    return Found::Impossible;
                }
                Some(Ended::Solved(offsets)) => {
                    self.solved.push(offsets);
                    self.current = None;
                }
            }
        }
        let offsets = self.solved.iter().map(Vec::as_slice);
        Found::Packing(core.complete(&self.problem, &self.sections, offsets))
    }
}

#[cfg(test)]
mod tests;
