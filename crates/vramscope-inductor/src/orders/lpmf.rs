//! Least peak memory first.

use std::collections::BTreeSet;

use super::{Order, Settings};
use crate::Graph;

/// `topological_sort_lpmf`: of the ready nodes that would not raise the peak, the one that leaves least memory; if
/// there is none, the smallest ready node. O(n log n), where PyTorch looks at all ready nodes at every step.
#[must_use]
pub fn lpmf(graph: &Graph, settings: Settings) -> Order {
    let mut state = State::of(graph);
    let mut ready = Ready::of(graph, settings);
    let mut waiting: Vec<usize> = graph.preds.iter().map(<[u32]>::len).collect();
    for (node, _) in (0u32..).zip(&waiting).filter(|&(_, &waiting)| waiting == 0) {
        ready.insert(node, state.change(node));
    }
    let mut order = Vec::with_capacity(graph.node_count());
    while let Some(node) = ready.pick(state.gap()) {
        ready.remove(node);
        order.push(node);
        state.run(node);
        for &succ in graph.succs.get(node as usize) {
            waiting[succ as usize] -= 1;
            if waiting[succ as usize] == 0 {
                ready.insert(succ, state.change(succ));
            }
        }
        for freer in state.read(node) {
            ready.update(freer, state.change(freer));
        }
    }
    Order(order)
}

/// The state of a graph while its nodes run.
struct State<'a> {
    graph: &'a Graph,
    size: Vec<i64>,
    /// Per node: bytes that would be freed if it ran now.
    to_free: Vec<i64>,
    /// Per buffer: number of readers that have not run, plus one for a result of the graph.
    left: Vec<u32>,
    live: i64,
    most: i64,
}

impl<'a> State<'a> {
    fn of(graph: &'a Graph) -> Self {
        let buffers = 0..graph.buffer_count();
        let left = |b: usize| graph.readers.get(b).len() as u32 + u32::from(graph.is_output[b]);
        let left: Vec<u32> = buffers.clone().map(left).collect();
        let freed = |n: usize| {
            let last = graph
                .reads
                .get(n)
                .iter()
                .filter(|&&b| left[b as usize] == 1);
            let unread = graph.outputs.get(n).iter();
            let unread = unread.filter(|&&b| left[b as usize] == 0);
            last.chain(unread).map(|&b| graph.free(b)).sum()
        };
        let results = buffers.filter(|&b| graph.is_output[b]);
        let result_bytes: i64 = results.map(|b| graph.free(b as u32)).sum();
        let live = graph.input_bytes();
        Self {
            graph,
            size: (0..graph.node_count() as u32)
                .map(|n| graph.node_size(n))
                .collect(),
            to_free: (0..graph.node_count()).map(freed).collect(),
            left,
            live,
            most: live.max(result_bytes),
        }
    }

    /// Bytes that can be allocated without a new peak.
    fn gap(&self) -> i64 {
        self.most - self.live
    }

    /// The change of memory if the node ran now.
    fn change(&self, node: u32) -> i64 {
        self.size[node as usize] - self.to_free[node as usize]
    }

    fn run(&mut self, node: u32) {
        self.live += self.size[node as usize];
        self.most = self.most.max(self.live);
        self.live -= self.to_free[node as usize];
    }

    /// Counts a node's reads as done. Returns the nodes that would free more now, some of which may have run already.
    fn read(&mut self, node: u32) -> Vec<u32> {
        let mut freers = Vec::new();
        for &b in self.graph.reads.get(node as usize) {
            self.left[b as usize] -= 1;
            if self.left[b as usize] == 1 {
                for &reader in self.graph.readers.get(b as usize) {
                    self.to_free[reader as usize] += self.graph.free(b);
                    freers.push(reader);
                }
            }
        }
        freers
    }
}

/// The change of memory if a node runs, and the node. The least key is best.
type Key = (i64, u32);
const NONE: Key = (i64::MAX, u32::MAX);

/// The ready nodes, in a tree of minima over all nodes sorted by size. The nodes that fit are a prefix.
struct Ready<'a> {
    graph: &'a Graph,
    /// Sizes of all nodes, ascending.
    sizes: Vec<i64>,
    /// Per node: its index in `sizes`.
    place: Vec<usize>,
    /// From index `leaves` on, the leaves: a node's key while it is ready, else [`NONE`].
    tree: Vec<Key>,
    leaves: usize,
    threshold: i64,
    /// Only with a threshold: ready nodes as (lowest number of a successor, number of nodes that became ready before,
    /// node).
    by_succ: BTreeSet<(u32, u32, u32)>,
    /// Per node: its entry in `by_succ`.
    entry: Vec<(u32, u32, u32)>,
    came: u32,
}

impl<'a> Ready<'a> {
    fn of(graph: &'a Graph, settings: Settings) -> Self {
        let count = graph.node_count();
        let mut nodes: Vec<(i64, u32)> =
            (0..count as u32).map(|n| (graph.node_size(n), n)).collect();
        nodes.sort_unstable();
        let mut place = vec![0; count];
        for (i, &(_, n)) in nodes.iter().enumerate() {
            place[n as usize] = i;
        }
        let leaves = count.next_power_of_two();
        let threshold = settings.size_threshold_for_succ_based_strategy;
        Self {
            graph,
            sizes: nodes.into_iter().map(|(size, _)| size).collect(),
            place,
            tree: vec![NONE; 2 * leaves],
            leaves,
            threshold: i64::try_from(threshold).unwrap_or(i64::MAX),
            by_succ: BTreeSet::new(),
            entry: vec![(0, 0, 0); if threshold > 0 { count } else { 0 }],
            came: 0,
        }
    }

    fn insert(&mut self, node: u32, change: i64) {
        self.set(node, (change, node));
        if let Some(entry) = self.entry.get_mut(node as usize) {
            let succs = self.graph.succs.get(node as usize).iter();
            let first = succs.min().copied().unwrap_or(self.place.len() as u32);
            *entry = (first, self.came, node);
            self.by_succ.insert(*entry);
            self.came += 1;
        }
    }

    fn remove(&mut self, node: u32) {
        self.set(node, NONE);
        if let Some(entry) = self.entry.get(node as usize) {
            self.by_succ.remove(entry);
        }
    }

    fn update(&mut self, node: u32, change: i64) {
        if self.tree[self.leaves + self.place[node as usize]] != NONE {
            self.set(node, (change, node));
        }
    }

    fn set(&mut self, node: u32, key: Key) {
        let mut i = self.leaves + self.place[node as usize];
        self.tree[i] = key;
        while i > 1 {
            i /= 2;
            self.tree[i] = self.tree[2 * i].min(self.tree[2 * i + 1]);
        }
    }

    fn pick(&self, gap: i64) -> Option<u32> {
        let smallest = self.smallest()?;
        let size = self.sizes[smallest];
        if self.threshold > 0 && size > self.threshold {
            return self.by_succ.first().map(|&(_, _, node)| node);
        }
        let range = if size <= gap {
            0..self.sizes.partition_point(|&size| size <= gap)
        } else {
            smallest..self.sizes.partition_point(|&other| other <= size)
        };
        Some(self.least(range).1)
    }

    /// The place of the smallest ready node.
    fn smallest(&self) -> Option<usize> {
        if self.tree[1] == NONE {
            return None;
        }
        let mut i = 1;
        while i < self.leaves {
            i *= 2;
            i += usize::from(self.tree[i] == NONE);
        }
        Some(i - self.leaves)
    }

    /// The least key in a range of places.
    fn least(&self, range: std::ops::Range<usize>) -> Key {
        let (mut from, mut to) = (range.start + self.leaves, range.end + self.leaves);
        let mut least = NONE;
        while from < to {
            if from % 2 == 1 {
                least = least.min(self.tree[from]);
                from += 1;
            }
            if to % 2 == 1 {
                to -= 1;
                least = least.min(self.tree[to]);
            }
            (from, to) = (from / 2, to / 2);
        }
        least
    }
}
