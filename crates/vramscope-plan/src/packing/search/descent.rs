//! Lowers a packing step by step, by searching the highest part for a lower one.

use super::super::{Method, Packed, Problem, Sections};
use super::core::Core;
use super::rounds::{Ended, Round, first_nodes};

/// Larger problems are not searched, because combining the parts again would block for too long.
const MOST_BUFFERS: usize = 1 << 17;

/// What is known about one part.
struct Level {
    offsets: Vec<u64>,
    height: u64,
    /// Proved lower bound of `height`.
    low: u64,
    /// Budget of nodes for each ranking at the next capacity.
    nodes: u64,
    /// How often the distance from `height` to `low` is halved for the next capacity; 0 tries `low` itself.
    halvings: u32,
}

/// A search for lower packings of one problem.
pub(in super::super) struct Descent {
    core: Core,
    levels: Vec<Level>,
    /// The part being searched, and the capacity to reach.
    current: Option<(usize, u64, Round)>,
}

impl Descent {
    /// Starts from `best`, a packing of the problem. `None` if there are too many buffers.
    pub(in super::super) fn new(
        problem: &Problem,
        sections: &Sections,
        best: &Packed,
    ) -> Option<Self> {
        if problem.size.len() > MOST_BUFFERS || best.packing.height == u64::MAX {
            return None;
        }
        let core = Core::new(problem, sections, best.bound);
        let levels = core.parts.iter().map(|part| {
            let lying = part.members.iter().map(|&i| best.packing.offset[i]);
            let offsets: Vec<u64> = lying.collect();
            Level {
                height: part.height(&offsets),
                offsets,
                low: best.bound,
                nodes: first_nodes(part),
                halvings: 0,
            }
        });
        Some(Self {
            levels: levels.collect(),
            core,
            current: None,
        })
    }

    /// Works until `is_over` returns true, or until nothing can become lower or the highest part cannot be searched. Returns
    /// whether it is done.
    pub(in super::super) fn run(
        &mut self,
        problem: &Problem,
        sections: &Sections,
        best: &mut Packed,
        is_over: &mut dyn FnMut() -> bool,
    ) -> bool {
        loop {
            let Some((at, capacity, round)) = &mut self.current else {
                self.complete(problem, sections, best);
                if !self.next(best) {
                    return true;
                }
                continue;
            };
            let (at, capacity) = (*at, *capacity);
            let part = &self.core.parts[at];
            let Some(ended) = round.run(part, is_over) else {
                return false;
            };
            self.current = None;
            let level = &mut self.levels[at];
            match ended {
                Ended::Solved(offsets) => {
                    level.height = part.height(&offsets);
                    level.offsets = offsets;
                }
                Ended::Impossible => {
                    level.low = part.next_above(capacity).min(level.height);
                    level.halvings = 0;
                    best.bound = best.bound.max(level.low).min(best.packing.height);
                }
                Ended::Limit if capacity == level.height - 1 => {
                    level.halvings = 0;
                    level.nodes = level.nodes.saturating_mul(2);
                }
                Ended::Limit => level.halvings += 1,
            }
            // Even if every capacity is refuted immediately, there can be very many of them.
            if is_over() {
                return false;
            }
        }
    }

    /// Frees the memory of the current round, which starts over later.
    pub(in super::super) fn rest(&mut self) {
        self.current = None;
    }

    /// Chooses the next part and capacity. Returns whether there is anything left to search.
    fn next(&mut self, best: &Packed) -> bool {
        let highest = |(_, level): &(usize, &mut Level)| level.height;
        let Some((at, level)) = self.levels.iter_mut().enumerate().max_by_key(highest) else {
            return false;
        };
        let part = &self.core.parts[at];
        let low = level.low.max(best.bound);
        if level.height <= low || part.is_too_large(level.height) {
            return false;
        }
        // First the whole distance, then half of it, a quarter, … and finally the smallest step.
        let step = (level.height - low)
            .checked_shr(level.halvings)
            .unwrap_or(0);
        let capacity = level.height - if step <= part.unit { 1 } else { step };
        // The bound can usually be reached, so it gets the largest budget.
        let nodes = level
            .nodes
            .saturating_mul(if level.halvings == 0 { 4 } else { 1 });
        self.current = Some((at, capacity, Round::new(part, capacity, nodes)));
        true
    }

    /// Combines the parts if that gives a lower packing than the best.
    fn complete(&self, problem: &Problem, sections: &Sections, best: &mut Packed) {
        let heights = self.levels.iter().map(|level| level.height);
        if heights.fold(best.bound, u64::max) < best.packing.height {
            let offsets = self.levels.iter().map(|level| level.offsets.as_slice());
            let packing = self.core.complete(problem, sections, offsets);
            if packing.height < best.packing.height {
                best.packing = packing;
                best.method = Method::Search;
            }
        }
    }
}
