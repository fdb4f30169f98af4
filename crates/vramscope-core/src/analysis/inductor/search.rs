//! Orders with a lower peak than inductor's own, and proof that there is none lower.
//!
//! Deciding whether a graph can run within so many bytes is NP-complete, but most graphs are kind. Two things are known
//! about every order. What must be live together with a node is a closure problem, hence a minimum cut: the highest of
//! these cuts is a lower bound (`bound`). And a set of nodes that have run leaves the same memory whatever their
//! order was, so orders are searched as paths through such sets (`beam`), a wider and wider beam of them. A pass that
//! left nothing out proves what it did not find.

mod beam;
mod bound;
mod flow;
mod sets;

use std::ops::Deref;

use self::beam::{Beam, Outcome};
use self::bound::Bound;
use self::sets::Sets;
use super::{Graph, Order, Plan, Timeline};

/// States that the first pass keeps of those with equally many nodes run.
const FIRST_WIDTH: usize = 16;

/// Looks for ever better orders of one graph, borrowed or shared; can be stopped and asked to go on.
pub struct Search<G> {
    graph: G,
    sets: Sets,
    order: Order,
    /// The peak of `order`.
    peak: i64,
    /// The peak that it started from.
    first_peak: i64,
    stage: Stage,
    /// No order has a lower peak.
    bound: i64,
}

/// What comes next.
enum Stage {
    Bound(Bound),
    Passes(Box<Passes>),
    Over,
}

/// Passes of one width, at ever other limits.
struct Passes {
    width: usize,
    /// With this width, nothing was found below.
    floor: i64,
    /// The pass that is under way.
    beam: Option<Beam>,
}

impl<G: Deref<Target = Graph>> Search<G> {
    /// Starts from the best order of `plan`, which must be one of this graph; nothing ever gets worse.
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

    /// No order has a lower peak than this.
    #[must_use]
    pub fn bound(&self) -> u64 {
        self.bound.clamp(0, self.peak) as u64
    }

    /// Whether no order is better than the one that was found.
    #[must_use]
    pub fn is_optimal(&self) -> bool {
        self.bound >= self.peak
    }

    /// By how much of inductor's peak the best order so far is below it, as a change: -0.25 needs a quarter less.
    #[must_use]
    pub fn change(&self) -> f64 {
        (self.peak - self.first_peak) as f64 / self.first_peak.max(1) as f64
    }

    /// Goes on until `is_over`, or until nothing better can be found; whether it is done. Each call does something, be it over or not.
    pub fn run(&mut self, is_over: &mut dyn FnMut() -> bool) -> bool {
        while !self.is_done() {
            self.step(is_over);
            if is_over() {
                break;
            }
        }
        self.is_done()
    }

    /// Whether nothing better can be found, by these means or any.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.is_optimal() || matches!(self.stage, Stage::Over)
    }

    /// Gives back the memory that searching takes, to go on later: at most a pass is lost.
    pub fn rest(&mut self) {
        match &mut self.stage {
            Stage::Bound(bound) => *bound = Bound::default(),
            Stage::Passes(passes) => passes.beam = None,
            Stage::Over => {}
        }
    }

    /// Looks for nothing more, and lets go of the memory that it takes to.
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
                // In the middle between what is known to be possible and what is not.
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
