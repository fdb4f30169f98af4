//! Searches one part under several rankings, in turns, because it cannot be known in advance which ranking is fast.

use super::part::{Buffer, Part};
use super::tree::{Measure, Outcome, Tree};
use Measure::{Area, Duration, Sections, Total};

/// Nodes that the first search of a part may visit, as a minimum.
const FIRST_NODES: u64 = 1 << 10;

/// Work between two checks of the clock, as nodes times buffers; up to a millisecond.
const WORK_PER_LOOK: usize = 1 << 15;

/// The rankings, as measures in order of importance. Those that are fast on most problems come first. The first, third and
/// fourth are MiniMalloc's.
const ORDERS: [[Measure; 3]; 5] = [
    [Total, Duration, Area],
    [Total, Sections, Area],
    [Duration, Area, Total],
    [Total, Area, Duration],
    [Sections, Area, Total],
];

/// Nodes that the search under each ranking may visit in the first round.
pub(super) fn first_nodes(part: &Part) -> u64 {
    FIRST_NODES.max(2 * part.members.len() as u64)
}

pub(super) enum Ended {
    /// A packing was found: the offsets of the part's buffers in bytes.
    Solved(Vec<u64>),
    Impossible,
    /// No ranking reached a result within its budget of nodes.
    Limit,
}

/// One round: a search under each ranking, with the same budget of nodes.
pub(super) struct Round {
    /// `None` if a buffer is larger than the capacity.
    buffers: Option<Vec<Buffer>>,
    nodes: u64,
    tried: usize,
    /// The current ranking's search, and the nodes that it may still visit.
    current: Option<(Tree, u64)>,
}

impl Round {
    pub(super) fn new(part: &Part, capacity: u64, nodes: u64) -> Self {
        Self {
            buffers: part.within(capacity),
            nodes,
            tried: 0,
            current: None,
        }
    }

    /// Works until `is_over` returns true; `None` if the round has not ended by then. Every call makes some progress.
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
