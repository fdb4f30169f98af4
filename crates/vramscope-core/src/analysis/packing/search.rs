//! Exact search for a packing within a given height.

use std::sync::Arc;

use super::{Packing, Problem};

/// What a search knows by now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// A packing within the capacity.
    Packing(Packing),
    /// There is none.
    Impossible,
    /// The time was over before either was known; the search can go on.
    NotYet,
}

/// A search for a packing of `problem` that is no higher than `capacity`.
pub struct Search {
    problem: Arc<Problem>,
    capacity: u64,
}

impl Search {
    /// Nothing is searched yet.
    #[must_use]
    pub fn new(problem: Arc<Problem>, capacity: u64) -> Self {
        Self { problem, capacity }
    }

    /// Searches on until `is_over`.
    pub fn run(&mut self, _is_over: &mut dyn FnMut() -> bool) -> Found {
        if super::lower_bound(&self.problem) > self.capacity {
            return Found::Impossible;
        }
        Found::NotYet
    }
}
