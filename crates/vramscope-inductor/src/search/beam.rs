//! Decides whether a graph can run within a number of bytes, by following the sets of nodes that may have run, layer by
//! layer.
//!
//! A ready node that fits and frees at least as much as it allocates runs at once. This loses no solution, because buffers
//! only lose readers over time. The mirror image holds at the end: a node that fits as the last one, and after which there
//! is at least as much memory as before it, runs last.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use super::sets::{Sets, contains, insert, nodes, remove};

pub(super) enum Outcome {
    Found(Vec<u32>),
    Impossible,
    /// No order was found, but states were dropped.
    GaveUp,
}

/// One pass: it follows all orders at once, node by node, and keeps at most `width` states per layer.
pub(super) struct Beam {
    limit: i64,
    width: usize,
    /// The nodes fixed to run last, in reverse order.
    suffix: Vec<u32>,
    /// The nodes of `suffix` as a set.
    is_last: Vec<u64>,
    /// The states of the layer before, with one node less.
    parents: Layer,
    /// Their successors that are not in `layer` yet.
    children: std::vec::IntoIter<(Key, Child)>,
    /// The states of the current layer so far.
    layer: Layer,
    /// Their successors.
    next: HashMap<Key, Child, FixedState>,
    left_out: bool,
    /// Per layer and state: the previous state, and the node that ran.
    ways: Vec<Vec<(u32, u32)>>,
    /// A random number per node. Their combination over the nodes of a set identifies the set.
    keys: Vec<Key>,
    /// Per release: whether the last state of `layer` lacks exactly one of its members; `None` = not computed.
    lacks_one: Vec<Option<bool>>,
}

/// Identifies a set of nodes.
type Key = (u64, u64);

/// States with equally many nodes.
#[derive(Default)]
struct Layer {
    /// Per state, [`Sets::words`] words: the nodes that have run.
    done: Vec<u64>,
    /// Per state, [`Sets::words`] words: the nodes that are ready.
    ready: Vec<u64>,
    memory: Vec<i64>,
    key: Vec<Key>,
}

#[derive(Clone, Copy)]
struct Child {
    memory: i64,
    parent: u32,
    node: u32,
}

impl Beam {
    pub(super) fn new(sets: &Sets, limit: i64, width: usize) -> Self {
        let words = sets.words();
        let (suffix, is_last) = suffix(sets, limit);
        let mut layer = Layer {
            done: vec![0; words],
            ready: vec![0; words],
            memory: vec![sets.at_start],
            key: vec![(0, 0)],
        };
        for n in 0..sets.graph_size as u32 {
            if sets.preds.get(n as usize).is_empty() && !contains(&is_last, n) {
                insert(&mut layer.ready, n);
            }
        }
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        let mut draw = || {
            // splitmix64.
            random = random.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (random ^ random >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^ mixed >> 31
        };
        let mut beam = Self {
            limit,
            width,
            suffix,
            is_last,
            parents: Layer::default(),
            children: Vec::new().into_iter(),
            layer,
            next: HashMap::default(),
            left_out: false,
            ways: Vec::new(),
            keys: (0..sets.graph_size).map(|_| (draw(), draw())).collect(),
            lacks_one: vec![None; sets.freed.len()],
        };
        beam.follow(sets);
        beam
    }

    pub(super) fn limit(&self) -> i64 {
        self.limit
    }

    /// Works until `is_over` returns true or there is a result; `None` if there is none yet.
    pub(super) fn run(
        &mut self,
        sets: &Sets,
        is_over: &mut dyn FnMut() -> bool,
    ) -> Option<Outcome> {
        let layers = sets.graph_size - self.suffix.len();
        while self.ways.len() < layers {
            while let Some((key, child)) = self.children.next() {
                self.make(sets, key, child);
                self.follow(sets);
                if is_over() {
                    return None;
                }
            }
            if self.next.is_empty() {
                return Some(match self.left_out {
                    true => Outcome::GaveUp,
                    false => Outcome::Impossible,
                });
            }
            self.end_layer();
        }
        Some(Outcome::Found(self.order()))
    }

    fn make(&mut self, sets: &Sets, key: Key, child: Child) {
        let words = sets.words();
        let of_parent = child.parent as usize * words..(child.parent as usize + 1) * words;
        let start = self.layer.done.len();
        let (done, ready) = (&mut self.layer.done, &mut self.layer.ready);
        done.extend_from_slice(&self.parents.done[of_parent.clone()]);
        ready.extend_from_slice(&self.parents.ready[of_parent]);
        let (done, ready) = (&mut done[start..], &mut ready[start..]);
        insert(done, child.node);
        remove(ready, child.node);
        for &succ in sets.succs.get(child.node as usize) {
            if !contains(&self.is_last, succ) && sets.is_ready(succ, done) {
                insert(ready, succ);
            }
        }
        self.layer.memory.push(child.memory);
        self.layer.key.push(key);
    }

    /// Adds the successors of the layer's last state.
    fn follow(&mut self, sets: &Sets) {
        let Some(state) = self.layer.memory.len().checked_sub(1) else {
            return;
        };
        let words = sets.words();
        let done = &self.layer.done[state * words..];
        let ready = &self.layer.ready[state * words..];
        let memory = self.layer.memory[state];
        let room = self.limit - memory;
        let key = self.layer.key[state];
        let child = |(change, node): (i64, u32)| Child {
            memory: memory + change,
            parent: state as u32,
            node,
        };
        let lacks_one = &mut self.lacks_one;
        lacks_one.fill(None);
        let fitting = nodes(ready).filter(|&n| sets.size[n as usize] <= room);
        let changes = fitting.map(|n| (sets.change(n, done, lacks_one), n));
        let changes: Vec<(i64, u32)> = changes.collect();
        let best = changes.iter().min().copied();
        let forced = best.filter(|&(change, _)| change <= 0);
        let followed = match &forced {
            Some(forced) => std::slice::from_ref(forced),
            None => &changes[..],
        };
        for &change in followed {
            let other = self.keys[change.1 as usize];
            let key = (key.0 ^ other.0, key.1 ^ other.1);
            // All paths to a set leave the same memory, so the first one is kept.
            self.next.entry(key).or_insert_with(|| child(change));
        }
        // Children are small, but their number must stay bounded.
        if self.next.len() > 8 * self.width + 1024 {
            self.keep_best();
        }
    }

    /// Keeps the `width` states with the least memory.
    fn keep_best(&mut self) {
        if self.next.len() <= self.width {
            return;
        }
        self.left_out = true;
        let mut children: Vec<(Key, Child)> = self.next.drain().collect();
        let rank = |(key, child): &(Key, Child)| (child.memory, *key);
        children.select_nth_unstable_by_key(self.width, rank);
        children.truncate(self.width);
        self.next.extend(children);
    }

    fn end_layer(&mut self) {
        self.keep_best();
        let mut children: Vec<(Key, Child)> = self.next.drain().collect();
        // This order makes the result independent of the map's order, and visits one parent after the other.
        children.sort_unstable_by_key(|(key, child)| (child.parent, child.node, *key));
        let ways = children.iter().map(|(_, child)| (child.parent, child.node));
        self.ways.push(ways.collect());
        self.children = children.into_iter();
        self.parents = std::mem::take(&mut self.layer);
    }

    /// The order that led to the last layer.
    fn order(&self) -> Vec<u32> {
        let mut order = self.suffix.clone();
        let mut state = 0;
        for ways in self.ways.iter().rev() {
            let (parent, node) = ways[state as usize];
            order.push(node);
            state = parent;
        }
        order.reverse();
        order
    }
}

/// The nodes that can be fixed to run last, in reverse order, and the same as a set.
fn suffix(sets: &Sets, limit: i64) -> (Vec<u32>, Vec<u64>) {
    let count = sets.graph_size as u32;
    let mut is_last = vec![0; sets.words()];
    let mut memory = sets.at_end;
    let mut suffix = Vec::new();
    // Releases with a member in the suffix.
    let mut is_late = vec![false; sets.freed.len()];
    // Per node: number of successors that are not in the suffix.
    let mut left: Vec<usize> = sets.succs.iter().map(<[u32]>::len).collect();
    let mut waiting: Vec<u32> = (0..count).filter(|&n| left[n as usize] == 0).collect();
    while let Some(node) = waiting.pop() {
        let releases = sets.releases.get(node as usize);
        let freed = releases.iter().filter(|&&r| !is_late[r as usize]);
        let freed: i64 = freed.map(|&r| sets.freed[r as usize]).sum();
        let change = sets.size[node as usize] - freed;
        let before = memory - change;
        if change < 0 || before + sets.size[node as usize] > limit {
            continue;
        }
        releases.iter().for_each(|&r| is_late[r as usize] = true);
        insert(&mut is_last, node);
        suffix.push(node);
        memory = before;
        for &pred in sets.preds.get(node as usize) {
            left[pred as usize] -= 1;
            if left[pred as usize] == 0 {
                waiting.push(pred);
            }
        }
    }
    (suffix, is_last)
}
