//! The allocation tree of a pool: nodes either use the same bytes at different times or lie side by side.

use super::{ALIGN_BYTES, Node, PoolOffset};
use crate::ranges::{Range, Ranges, insert};

#[derive(Clone, Copy)]
pub(super) struct Block {
    pub(super) buffer: usize,
    pub(super) size: u64,
    pub(super) life: Range,
}

/// A pool while it is planned. Nodes are named by their index in `nodes`.
pub(super) struct Tree {
    nodes: Vec<Growing>,
    /// Always temporal.
    root: usize,
}

struct Growing {
    kind: Kind,
    parent: Option<usize>,
    /// Bytes available in it.
    hint: u64,
    /// The times at which something in it is live.
    live: Ranges,
}

enum Kind {
    Leaf(usize),
    Empty,
    /// Children that use the same bytes at different times.
    Temporal(Vec<usize>),
    /// Children that lie side by side. Both are temporal while the tree grows.
    Spatial([usize; 2]),
}

impl Tree {
    pub(super) fn new(block: Block) -> Self {
        let mut tree = Self {
            nodes: Vec::new(),
            root: 0,
        };
        let leaf = tree.leaf(block);
        tree.root = tree.temporal(leaf);
        tree
    }

    /// The times at which something in it is live.
    pub(super) fn live(&self) -> &Ranges {
        &self.nodes[self.root].live
    }

    /// Looks for a place for a block, and returns whether there was one. If the tree may grow (`is_last`), its last
    /// slot is enlarged where needed.
    pub(super) fn allocate(&mut self, block: Block, is_last: bool) -> bool {
        let mut open = vec![(self.root, is_last)];
        while let Some((at, is_last)) = open.pop() {
            let node = &self.nodes[at];
            match &node.kind {
                Kind::Leaf(_) | Kind::Empty => {}
                Kind::Spatial([left, right]) => open.extend([(*right, is_last), (*left, false)]),
                Kind::Temporal(_) if block.size > node.hint && !is_last => {}
                Kind::Temporal(children) => {
                    let is_hit = |child: &&usize| overlaps(&self.nodes[**child].live, block.life);
                    let mut hits = children.iter().filter(is_hit);
                    match (hits.next(), hits.next()) {
                        (None, _) => {
                            self.take_turns(at, block);
                            return true;
                        }
                        (Some(&hit), None) => open.push((hit, is_last)),
                        // PyTorch does not try further here either.
                        (Some(_), Some(_)) => {}
                    }
                }
            }
        }
        false
    }

    /// Appends a block after everything else.
    pub(super) fn append(&mut self, block: Block) {
        let leaf = self.leaf(block);
        let right = self.temporal(leaf);
        let both = self.spatial(self.root, right);
        self.root = self.temporal(both);
    }

    /// Adds a block to a temporal node with no child that is live at the same time.
    fn take_turns(&mut self, at: usize, block: Block) {
        let slot = self.nodes[at].hint;
        let mut children = match &mut self.nodes[at].kind {
            Kind::Temporal(children) => std::mem::take(children),
            _ => Vec::new(),
        };
        if let [only] = children[..]
            && matches!(self.nodes[only].kind, Kind::Empty)
        {
            children.clear();
        }
        if block.size > slot {
            for child in &mut children {
                *child = self.beside_empty(*child, block.size - slot);
            }
        }
        let mut child = self.leaf(block);
        if block.size < slot {
            child = self.beside_empty(child, slot - block.size);
        }
        children.push(child);
        for &child in &children {
            self.nodes[child].parent = Some(at);
        }
        let hints = children.iter().map(|&child| self.nodes[child].hint);
        self.nodes[at].hint = hints.max().unwrap_or(0);
        self.nodes[at].kind = Kind::Temporal(children);
        self.carry_up(at, block.life);
    }

    /// Updates size and life of all ancestors after a change.
    fn carry_up(&mut self, from: usize, life: Range) {
        let mut next = Some(from);
        while let Some(at) = next {
            let hint = match &self.nodes[at].kind {
                Kind::Spatial([left, right]) => {
                    side_by_side(self.nodes[*left].hint, self.nodes[*right].hint)
                }
                _ => self.nodes[at].hint,
            };
            let node = &mut self.nodes[at];
            node.hint = hint;
            insert(&mut node.live, life);
            next = node.parent;
            // Slots never shrink.
            if let Some(parent) = next {
                let above = &mut self.nodes[parent];
                above.hint = above.hint.max(hint);
            }
        }
    }

    fn add(&mut self, kind: Kind, hint: u64, live: Ranges) -> usize {
        self.nodes.push(Growing {
            kind,
            parent: None,
            hint,
            live,
        });
        self.nodes.len() - 1
    }

    fn leaf(&mut self, block: Block) -> usize {
        self.add(Kind::Leaf(block.buffer), block.size, vec![block.life])
    }

    fn temporal(&mut self, child: usize) -> usize {
        let node = &self.nodes[child];
        let (hint, live) = (node.hint, node.live.clone());
        let temporal = self.add(Kind::Temporal(vec![child]), hint, live);
        self.nodes[child].parent = Some(temporal);
        temporal
    }

    fn spatial(&mut self, left: usize, right: usize) -> usize {
        let hint = side_by_side(self.nodes[left].hint, self.nodes[right].hint);
        let mut live = self.nodes[left].live.clone();
        for &range in &self.nodes[right].live {
            insert(&mut live, range);
        }
        let spatial = self.add(Kind::Spatial([left, right]), hint, live);
        self.nodes[left].parent = Some(spatial);
        self.nodes[right].parent = Some(spatial);
        spatial
    }

    fn beside_empty(&mut self, child: usize, bytes: u64) -> usize {
        let left = self.temporal(child);
        let empty = self.add(Kind::Empty, bytes, Ranges::new());
        let right = self.temporal(empty);
        self.spatial(left, right)
    }
}

/// Whether a block's life overlaps one of these ranges. An empty life overlaps a range around it, and also one that begins
/// with it, as in PyTorch, which tests from the tree's side.
fn overlaps(ranges: &[Range], life: Range) -> bool {
    let behind = ranges.partition_point(|range| range.start <= life.start);
    let before = ranges[..behind]
        .last()
        .is_some_and(|range| range.end > life.start);
    before
        || ranges
            .get(behind)
            .is_some_and(|range| range.start < life.end)
}

fn side_by_side(left: u64, right: u64) -> u64 {
    aligned(left).saturating_add(right)
}

fn aligned(bytes: u64) -> u64 {
    bytes
        .checked_next_multiple_of(ALIGN_BYTES)
        .unwrap_or(u64::MAX)
}

/// A finished pool: a [`Tree`] without the nodes that only mattered while it grew.
pub(super) struct Finished {
    pub(super) size: u64,
    pub(super) size_hint: u64,
    /// The root first.
    pub(super) nodes: Vec<Node>,
}

impl Tree {
    /// Drops empty nodes and nodes with a single child, and lays out the rest. `tell` receives each buffer and its
    /// offset.
    pub(super) fn finish(mut self, mut tell: impl FnMut(usize, u64)) -> Finished {
        let sizes = self.collapse();
        let mut nodes = Vec::new();
        // Nodes to lay out: the node, its offset, and its parent with its index there.
        let mut open = vec![(self.root, 0_u64, None)];
        while let Some((at, offset, above)) = open.pop() {
            let place = nodes.len();
            if let Some((parent, child)) = above
                && let Node::Temporal(children) | Node::Spatial(children) = &mut nodes[parent]
            {
                children[child] = place;
            }
            let mut add = |child: usize, number: usize, offset| {
                open.push((child, offset, Some((place, number))))
            };
            nodes.push(match &self.nodes[at].kind {
                Kind::Leaf(buffer) => {
                    tell(*buffer, offset);
                    Node::Buffer(*buffer)
                }
                Kind::Empty => Node::Temporal(Vec::new()),
                Kind::Temporal(children) => {
                    for (number, &child) in children.iter().enumerate() {
                        add(child, number, offset);
                    }
                    Node::Temporal(vec![0; children.len()])
                }
                Kind::Spatial([left, right]) => {
                    add(*left, 0, offset);
                    add(*right, 1, offset.saturating_add(aligned(sizes[*left])));
                    Node::Spatial(vec![0; 2])
                }
            });
        }
        Finished {
            size: sizes[self.root],
            size_hint: self.nodes[self.root].hint,
            nodes,
        }
    }

    /// Replaces temporal nodes with one child, and spatial nodes with an empty side, by that child. Returns the bytes
    /// that each node really needs.
    fn collapse(&mut self) -> Vec<u64> {
        let mut sizes = vec![0; self.nodes.len()];
        // The replacement of each node.
        let mut now: Vec<usize> = (0..self.nodes.len()).collect();
        for at in self.leaves_first() {
            let mut node = std::mem::replace(&mut self.nodes[at].kind, Kind::Empty);
            let (size, hint) = match &mut node {
                Kind::Leaf(_) => (self.nodes[at].hint, self.nodes[at].hint),
                Kind::Empty => (0, self.nodes[at].hint),
                Kind::Temporal(children) => {
                    children.iter_mut().for_each(|child| *child = now[*child]);
                    if let [only] = children[..]
                        && at != self.root
                    {
                        now[at] = only;
                    }
                    let most =
                        |of: &dyn Fn(usize) -> u64| children.iter().map(|&child| of(child)).max();
                    let size = most(&|child| sizes[child]).unwrap_or(0);
                    (size, most(&|child| self.nodes[child].hint).unwrap_or(0))
                }
                Kind::Spatial(sides) => {
                    *sides = sides.map(|side| now[side]);
                    let [left, right] = *sides;
                    if matches!(self.nodes[right].kind, Kind::Empty) {
                        now[at] = left;
                    }
                    let size = side_by_side(sizes[left], sizes[right]);
                    (
                        size,
                        side_by_side(self.nodes[left].hint, self.nodes[right].hint),
                    )
                }
            };
            sizes[at] = size;
            self.nodes[at].hint = hint;
            self.nodes[at].kind = node;
        }
        sizes
    }

    /// All nodes, children before parents.
    fn leaves_first(&self) -> Vec<usize> {
        let (mut order, mut open) = (Vec::new(), vec![self.root]);
        while let Some(at) = open.pop() {
            order.push(at);
            match &self.nodes[at].kind {
                Kind::Temporal(children) => open.extend(children),
                Kind::Spatial(sides) => open.extend(sides),
                Kind::Leaf(_) | Kind::Empty => {}
            }
        }
        order.reverse();
        order
    }
}

/// A closure that writes the places of one pool's buffers.
pub(super) fn tell_into(offsets: &mut [PoolOffset], pool: usize) -> impl FnMut(usize, u64) + '_ {
    move |buffer, offset| offsets[buffer] = PoolOffset { pool, offset }
}
