//! Several searches of one part in turns: which order of ranks is quick, only trying tells.

use super::part::{Buffer, Part};
use super::tree::{Measure, Outcome, Tree};
use Measure::{Area, Duration, Sections, Total};

/// Nodes that the first search of a part may visit, at least.
const FIRST_NODES: u64 = 1 << 10;

/// Work between two looks at the time: nodes times buffers, up to a millisecond.
const WORK_PER_LOOK: usize = 1 << 15;

/// The orders of ranks, what is quick for most first. The first, third and fourth are MiniMalloc's.
const ORDERS: [[Measure; 3]; 5] = [
    [Total, Duration, Area],
    [Total, Sections, Area],
    [Duration, Area, Total],
    [Total, Area, Duration],
    [Sections, Area, Total],
];

/// Nodes that each order's search may visit in the first round.
pub(super) fn first_nodes(part: &Part) -> u64 {
    FIRST_NODES.max(2 * part.members.len() as u64)
}

/// What a round ended with.
pub(super) enum Ended {
    /// With the offsets of the part's buffers, in bytes.
    Solved(Vec<u64>),
    /// There is no packing.
    Impossible,
    /// No order found anything with so few nodes.
    Limit,
}

/// One round: each order once, with the same number of nodes.
pub(super) struct Round {
    /// `None` if one is too large.
    buffers: Option<Vec<Buffer>>,
    nodes: u64,
    /// Orders that were tried.
    tried: usize,
    /// The next order's search, and the nodes that it may still visit.
    current: Option<(Tree, u64)>,
}

impl Round {
    /// Nothing is searched yet.
    pub(super) fn new(part: &Part, capacity: u64, nodes: u64) -> Self {
        Self {
            buffers: part.within(capacity),
            nodes,
            tried: 0,
            current: None,
        }
    }

    /// Goes on until `is_over`, but a little in any case; `None` if it is not at its end then.
    pub(super) fn run(&mut self, part: &Part, is_over: &mut dyn FnMut() -> bool) -> Option<Ended> {
        let Some(buffers) = &self.buffers else {
            return Some(Ended::Impossible);
        };
        let step = (WORK_PER_LOOK / buffers.len().max(1)).max(1) as u64;
        while let Some(&order) = ORDERS.get(self.tried) {
            let (tree, left) = (self.current).get_or_insert_with(|| {
                (Tree::new(buffers.clone(), part.sections, order), self.nodes)
            });
            match tree.run(step.min(*left)) {
                Outcome::Solved => {
                    let offsets = tree.offsets().iter().map(|offset| offset * part.unit);
                    return Some(Ended::Solved(offsets.collect()));
                }
                Outcome::Impossible => return Some(Ended::Impossible),
                Outcome::Limit => *left = left.saturating_sub(step),
            }
            if *left == 0 {
                self.tried += 1;
                self.current = None;
            }
            if is_over() {
                return None;
            }
        }
        Some(Ended::Limit)
    }
}
