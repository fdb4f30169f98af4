//! Searches for orders with a lower peak than inductor's own, or proves that none exists.
//!
//! Deciding whether a graph can run within a number of bytes is NP-complete, but most graphs are easy. Two facts help:
//!
//! * The memory that must be live together with a node follows from a closure problem, so it is a minimum cut. The
//!   highest of these cuts is a lower bound of every peak (`bound`).
//! * The memory after a set of nodes has run does not depend on their order. So orders are searched as paths through
//!   such sets (`beam`), in passes with an ever wider beam. A pass that dropped no state proves that what it did not find
//!   does not exist.

mod beam;
mod bound;
mod flow;
mod sets;

use std::ops::Deref;

use self::beam::{Beam, Outcome};
use self::bound::Bound;
use self::sets::Sets;
use super::{Graph, Order, Plan, Timeline};

/// Number of states that the first pass keeps per number of nodes run.
const FIRST_WIDTH: usize = 16;

/// Searches for ever better orders of one graph, borrowed or shared, in slices of work.
pub struct Search<G> {
    graph: G,
    sets: Sets,
    order: Order,
    /// The peak of `order`.
    peak: i64,
    /// The peak of the first order.
    first_peak: i64,
    stage: Stage,
    /// Lower bound of the peak of every order.
    bound: i64,
}

/// The next kind of work.
enum Stage {
    Bound(Bound),
    Passes(Box<Passes>),
    Over,
}

/// Passes of one width, with changing limits.
struct Passes {
    width: usize,
    /// Passes of this width found nothing at this limit.
    floor: i64,
    beam: Option<Beam>,
}

impl<G: Deref<Target = Graph>> Search<G> {
    /// Starts from the best order of `plan`, which must belong to this graph. Results never get worse.
    #[must_use]
    pub fn new(graph: G, plan: &Plan) -> Self {
        let sets = Sets::of(&graph);
        let chosen = plan.chosen();
        let bound = sets.least_peak();
        Self {
            graph,
            order: chosen.order.clone(),
            peak: chosen.timeline.peak as i64,
            first_peak: chosen.timeline.peak as i64,
            stage: Stage::Bound(Bound::default()),
            sets,
            bound,
        }
    }

    /// The best order so far.
    #[must_use]
    pub fn order(&self) -> &Order {
        &self.order
    }

    /// Bytes at the peak of [`order`](Self::order).
    #[must_use]
    pub fn peak(&self) -> u64 {
        self.peak as u64
    }

    /// Lower bound of the peak of every order, in bytes.
    #[must_use]
    pub fn bound(&self) -> u64 {
        self.bound.clamp(0, self.peak) as u64
    }

    /// Whether the order found is proven best.
    #[must_use]
    pub fn is_optimal(&self) -> bool {
        self.bound >= self.peak
    }

    /// The change of the peak compared with inductor's, as a share of that: -0.25 needs a quarter less.
    #[must_use]
    pub fn change(&self) -> f64 {
        (self.peak - self.first_peak) as f64 / self.first_peak.max(1) as f64
    }

    /// Works until `is_over` returns true, or until nothing better can be found. Returns whether it is done. Every call
    /// makes some progress.
    pub fn run(&mut self, is_over: &mut dyn FnMut() -> bool) -> bool {
        while !self.is_done() {
            self.step(is_over);
            if is_over() {
                break;
            }
        }
        self.is_done()
    }

    /// Whether the search has ended: nothing better exists, or it cannot be found by these means.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.is_optimal() || matches!(self.stage, Stage::Over)
    }

    /// Frees the memory of the current pass. The search can still continue; at most one pass is lost.
    pub fn rest(&mut self) {
        match &mut self.stage {
            Stage::Bound(bound) => *bound = Bound::default(),
            Stage::Passes(passes) => passes.beam = None,
            Stage::Over => {}
        }
    }

    /// Ends the search and frees its memory.
    pub fn end(&mut self) {
        self.stage = Stage::Over;
    }

    fn step(&mut self, is_over: &mut dyn FnMut() -> bool) {
        match &mut self.stage {
            Stage::Bound(bound) => {
                if bound.run(&self.sets, &mut self.bound, is_over) {
                    self.stage = Stage::Passes(Box::new(Passes {
                        width: FIRST_WIDTH,
                        floor: self.bound,
                        beam: None,
                    }));
                }
            }
            Stage::Passes(passes) => {
                let (floor, width) = (passes.floor, passes.width);
                // Half-way between the highest limit that failed and the best peak.
                let limit = floor + (self.peak - 1 - floor) / 2;
                let beam = passes
                    .beam
                    .get_or_insert_with(|| Beam::new(&self.sets, limit, width));
                if let Some(outcome) = beam.run(&self.sets, is_over) {
                    let limit = beam.limit();
                    passes.beam = None;
                    self.pass_ended(limit, outcome);
                }
            }
            Stage::Over => {}
        }
    }

    fn pass_ended(&mut self, limit: i64, outcome: Outcome) {
        let Stage::Passes(passes) = &mut self.stage else {
            return;
        };
        match outcome {
            Outcome::Found(nodes) => {
                let order = Order(nodes);
                let peak = Timeline::of(&self.graph, &order).peak as i64;
                if peak < self.peak {
                    (self.order, self.peak) = (order, peak);
                }
            }
            Outcome::Impossible => {
                self.bound = self.bound.max(limit + 1);
                passes.floor = passes.floor.max(self.bound);
            }
            Outcome::GaveUp => passes.floor = limit + 1,
        }
        if passes.floor >= self.peak && self.bound < self.peak {
            if passes.width >= self.sets.most_states() {
                self.stage = Stage::Over;
                return;
            }
            passes.width = (passes.width * 4).min(self.sets.most_states());
            passes.floor = self.bound;
        }
    }
}
