//! The parts of a graph that sets of nodes need.

use crate::{Graph, Lists};

/// Most bytes that a pass takes for its states, and again for the paths to them.
const MOST_BYTES: usize = 128 << 20;

/// Sizes and dependencies of a graph's nodes.
pub(super) struct Sets {
    pub(super) graph_size: usize,
    pub(super) size: Vec<i64>,
    pub(super) preds: Lists,
    pub(super) succs: Lists,
    /// Per release: bytes freed once all its members have run. Buffers that stay have no release.
    pub(super) freed: Vec<i64>,
    /// Per release: the nodes that must have run, including the buffer's writer.
    pub(super) members: Lists,
    /// Per node: the releases of which it is a member.
    pub(super) releases: Lists,
    /// Bytes live before any node has run: those of the freeable inputs.
    pub(super) at_start: i64,
    /// Bytes live after all nodes have run.
    pub(super) at_end: i64,
    /// The most bytes that a node reads and writes while it runs.
    at_work: i64,
}

impl Sets {
    pub(super) fn of(graph: &Graph) -> Self {
        let count = graph.node_count();
        let mut writer = vec![None; graph.buffer_count()];
        for (n, outputs) in (0u32..).zip(graph.outputs.iter()) {
            outputs.iter().for_each(|&b| writer[b as usize] = Some(n));
        }
        let mut freed = Vec::new();
        let mut members = Lists::default();
        for b in 0..graph.buffer_count() {
            let bytes = graph.free(b as u32);
            if graph.stays(b) || bytes == 0 {
                continue;
            }
            let readers = graph.readers.get(b).iter().copied();
            let writer = writer[b].filter(|writer| !graph.readers.get(b).contains(writer));
            freed.push(bytes);
            members.push(readers.chain(writer));
        }
        let size: Vec<i64> = (0..count as u32).map(|n| graph.node_size(n)).collect();
        let at_start = graph.input_bytes();
        Self {
            graph_size: count,
            at_end: at_start + size.iter().sum::<i64>() - freed.iter().sum::<i64>(),
            at_start,
            at_work: at_work(graph),
            size,
            preds: graph.preds.clone(),
            succs: graph.succs.clone(),
            releases: members.inverse(count),
            freed,
            members,
        }
    }

    /// A simple lower bound of every peak: the bytes at the start, the bytes at the end, and the most that a node
    /// needs to run.
    pub(super) fn least_peak(&self) -> i64 {
        self.at_start.max(self.at_work).max(self.at_end).max(0)
    }

    /// Number of 64-bit words in a set of nodes.
    pub(super) fn words(&self) -> usize {
        self.graph_size.div_ceil(64)
    }

    /// Most states that a pass may keep per number of nodes run.
    pub(super) fn most_states(&self) -> usize {
        let state_bytes = 16 * self.words() + 64;
        let way_bytes = 8 * self.graph_size.max(1);
        (MOST_BYTES / state_bytes.max(way_bytes)).clamp(super::FIRST_WIDTH, 1 << 20)
    }

    /// The change of memory if `node` runs after the nodes of `done`. `lacks_one` caches per release whether exactly one of
    /// its members is missing from `done`, so that a buffer's readers are not examined again for each reader.
    pub(super) fn change(&self, node: u32, done: &[u64], lacks_one: &mut [Option<bool>]) -> i64 {
        let releases = self.releases.get(node as usize).iter();
        let freed = releases.filter(|&&r| {
            *lacks_one[r as usize].get_or_insert_with(|| {
                let members = self.members.get(r as usize).iter();
                members.filter(|&&n| !contains(done, n)).nth(1).is_none()
            })
        });
        self.size[node as usize] - freed.map(|&r| self.freed[r as usize]).sum::<i64>()
    }

    /// Whether all nodes that must run before `node` are in `done`.
    pub(super) fn is_ready(&self, node: u32, done: &[u64]) -> bool {
        self.preds
            .get(node as usize)
            .iter()
            .all(|&n| contains(done, n))
    }
}

/// Computes [`Sets::at_work`]. Buffers that free more than they allocate may lower memory in the meantime, so their
/// difference is subtracted.
fn at_work(graph: &Graph) -> i64 {
    let there = |b: u32| match (b as usize) < graph.input_count {
        true => graph.free(b),
        false => graph.alloc(b),
    };
    let buffers = 0..graph.buffer_count() as u32;
    let freed = buffers.filter(|&b| !graph.stays(b as usize));
    let less: i64 = freed.map(|b| (there(b) - graph.free(b)).min(0)).sum();
    let at_once = (0..graph.node_count()).map(|n| {
        let own = graph.outputs.get(n);
        // A buffer that a node both reads and writes is in both lists. The list of outputs is a range.
        let is_own = |b: &u32| own.first() <= Some(b) && Some(b) <= own.last();
        let reads = graph.reads.get(n).iter().filter(|b| !is_own(b));
        reads.chain(own).map(|&b| there(b)).sum::<i64>()
    });
    at_once.max().unwrap_or(0) + less
}

pub(super) fn contains(set: &[u64], node: u32) -> bool {
    set[node as usize / 64] >> (node % 64) & 1 == 1
}

pub(super) fn insert(set: &mut [u64], node: u32) {
    set[node as usize / 64] |= 1 << (node % 64);
}

pub(super) fn remove(set: &mut [u64], node: u32) {
    set[node as usize / 64] &= !(1 << (node % 64));
}

pub(super) fn nodes(set: &[u64]) -> impl Iterator<Item = u32> {
    (0u32..).zip(set).flat_map(|(w, &word)| {
        let mut rest = word;
        std::iter::from_fn(move || {
            let bit = (rest != 0).then(|| rest.trailing_zeros())?;
            rest &= rest - 1;
            Some(w * 64 + bit)
        })
    })
}
