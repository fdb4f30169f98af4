//! A lower bound: the memory that must be live while a node runs, whatever the order. It is a minimum cut per node.
//!
//! When a node runs, all nodes that it depends on have run, and no node that depends on it has. Any of the others may have
//! run; in the best case those after which least memory remains. Running a node costs its allocated bytes, and a buffer's
//! bytes are gained once its writer and all its readers have run. This is the project selection problem, which a minimum cut
//! solves exactly.

use super::flow::Network;
use super::sets::{Sets, contains, insert};

/// Most nodes and releases; with more, a cut takes too long.
const MOST_VERTICES: usize = 6_000;

/// Most dependencies and members of releases; with more, a cut takes too long.
const MOST_EDGES: usize = 100_000;

/// Computes the bound node by node.
#[derive(Default)]
pub(super) struct Bound {
    /// Per node: the set of nodes that must have run before it, in [`Sets::words`] words.
    before: Vec<u64>,
    /// Number of nodes processed so far.
    looked_at: u32,
    /// The nodes still to process, each with an upper limit of its bound; the highest last.
    left: Vec<(i64, u32)>,
}

impl Bound {
    fn before(&self, sets: &Sets, node: u32) -> &[u64] {
        &self.before[node as usize * sets.words()..][..sets.words()]
    }

    /// Memory if only the nodes that must run before `node` have run.
    fn least_memory(&self, sets: &Sets, node: u32) -> i64 {
        let before = self.before(sets, node);
        let allocated = super::sets::nodes(before).map(|n| sets.size[n as usize]);
        let is_free = |r: usize| sets.members.get(r).iter().all(|&n| contains(before, n));
        let freed = (0..sets.freed.len())
            .filter(|&r| is_free(r))
            .map(|r| sets.freed[r]);
        sets.at_start + allocated.sum::<i64>() - freed.sum::<i64>()
    }

    /// Raises `bound` until `is_over` returns true or nothing is left to do. Returns whether nothing is left, which is
    /// immediately so for graphs too large for this bound.
    pub(super) fn run(
        &mut self,
        sets: &Sets,
        bound: &mut i64,
        is_over: &mut dyn FnMut() -> bool,
    ) -> bool {
        let edges = sets.preds.items() + sets.members.items();
        if sets.graph_size + sets.freed.len() > MOST_VERTICES || edges > MOST_EDGES {
            return true;
        }
        if self.before.is_empty() {
            self.before = all_before(sets);
        }
        while (self.looked_at as usize) < sets.graph_size {
            let node = self.looked_at;
            let highest = self.least_memory(sets, node) + sets.size[node as usize];
            self.left.push((highest, node));
            self.looked_at += 1;
            if self.looked_at as usize == sets.graph_size {
                self.left.sort_unstable();
            }
            if is_over() {
                return false;
            }
        }
        while let Some((highest, node)) = self.left.pop() {
            if highest <= *bound {
                break;
            }
            *bound = (*bound).max(highest - self.gain(sets, node));
            if is_over() {
                return false;
            }
        }
        true
    }

    /// How much lower memory can be while `node` runs, if further nodes run before it.
    fn gain(&self, sets: &Sets, node: u32) -> i64 {
        let before = self.before(sets, node);
        let is_after = |n: u32| n == node || contains(self.before(sets, n), node);
        let count = sets.graph_size;
        let (source, sink) = (count + sets.freed.len(), count + sets.freed.len() + 1);
        let mut network = Network::new(sink + 1);
        for n in 0..count as u32 {
            if contains(before, n) || is_after(n) {
                continue;
            }
            network.add(n as usize, sink, sets.size[n as usize]);
            for &pred in sets.preds.get(n as usize) {
                if !contains(before, pred) {
                    network.add(n as usize, pred as usize, i64::MAX);
                }
            }
        }
        let mut gained = 0;
        for (r, &bytes) in sets.freed.iter().enumerate() {
            let members = sets.members.get(r);
            let is_freed = members.iter().all(|&n| contains(before, n));
            if is_freed || members.iter().any(|&n| is_after(n)) {
                continue;
            }
            gained += bytes;
            network.add(source, count + r, bytes);
            for &n in members.iter().filter(|&&n| !contains(before, n)) {
                network.add(count + r, n as usize, i64::MAX);
            }
        }
        gained - network.flow(source, sink)
    }
}

/// Computes [`Bound::before`].
fn all_before(sets: &Sets) -> Vec<u64> {
    let words = sets.words();
    let mut before = vec![0; words * sets.graph_size];
    for node in topological(sets) {
        for &pred in sets.preds.get(node as usize) {
            for w in 0..words {
                before[node as usize * words + w] |= before[pred as usize * words + w];
            }
            insert(&mut before[node as usize * words..][..words], pred);
        }
    }
    before
}

fn topological(sets: &Sets) -> Vec<u32> {
    let mut waiting: Vec<usize> = sets.preds.iter().map(<[u32]>::len).collect();
    let mut order: Vec<u32> = (0..sets.graph_size as u32)
        .filter(|&n| waiting[n as usize] == 0)
        .collect();
    let mut next = 0;
    while let Some(&node) = order.get(next) {
        next += 1;
        for &succ in sets.succs.get(node as usize) {
            waiting[succ as usize] -= 1;
            if waiting[succ as usize] == 0 {
                order.push(succ);
            }
        }
    }
    order
}
