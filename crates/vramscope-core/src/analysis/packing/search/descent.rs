//! From a packing to ever lower ones, by searching the part that is the highest.

use super::super::{Method, Packed, Problem, Sections};
use super::core::Core;
use super::rounds::{Ended, Round, first_nodes};

/// Most buffers of a problem of which anything is searched: for more, putting the parts together again
/// would take too long at once.
const MOST_BUFFERS: usize = 1 << 17;

/// What is known of one part.
struct Level {
    /// Where its buffers lie, in bytes.
    offsets: Vec<u64>,
    /// Where the highest of them ends.
    height: u64,
    /// It cannot be lower.
    low: u64,
    /// Nodes for each order at the next capacity.
    nodes: u64,
    /// How often the way from `low` to `height` is halved for the next capacity: 0 is to try `low`.
    halvings: u32,
}

/// A search for lower packings of one problem.
pub(in super::super) struct Descent {
    core: Core,
    levels: Vec<Level>,
    /// What is searched now: a part, within a capacity.
    current: Option<(usize, u64, Round)>,
}

impl Descent {
    /// Nothing is searched yet. `best` is a packing of the problem. `None` if there are too many buffers.
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

    /// Goes on until `is_over` or until nothing can be lower or searched; whether it is done.
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
            // What is refuted at a glance, height by height, takes its time, too.
            if is_over() {
                return false;
            }
        }
    }

    /// Gives back the memory of what is being searched: that begins anew when it goes on.
    pub(in super::super) fn rest(&mut self) {
        self.current = None;
    }

    /// Chooses what to search next; whether there is anything.
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
        // First the whole way down at once, then half of it, a quarter, … and at last the least step.
        let step = (level.height - low)
            .checked_shr(level.halvings)
            .unwrap_or(0);
        let capacity = level.height - if step <= part.unit { 1 } else { step };
        // Mostly the bound can be reached, so that is tried hardest.
        let nodes = level
            .nodes
            .saturating_mul(if level.halvings == 0 { 4 } else { 1 });
        self.current = Some((at, capacity, Round::new(part, capacity, nodes)));
        true
    }

    /// Makes a packing of what is known if it is lower than the best.
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
