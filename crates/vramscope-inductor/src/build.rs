//! Builds a [`Graph`] from its nodes and buffers (`prepare_planning_info`).

use std::collections::HashMap;

use super::lists::Seen;
use super::{Graph, Invalid, Lists};

/// The parts of a [`Graph`]. Nodes are given by their index in `nodes`.
#[derive(Clone, Default, Debug)]
pub struct Parts {
    /// The freeable inputs.
    pub inputs: Vec<BufferPart>,
    /// The nodes in inductor's order.
    pub nodes: Vec<NodePart>,
}

/// A node of [`Parts`].
#[derive(Clone, Default, Debug)]
pub struct NodePart {
    /// The name in the export.
    pub name: String,
    /// The buffers that it writes.
    pub outputs: Vec<BufferPart>,
    /// The nodes that wrote its inputs, by the names under which it reads them (`unmet_dependencies`).
    pub unmet: Vec<u32>,
}

/// A buffer of [`Parts`].
#[derive(Clone, Default, Debug)]
pub struct BufferPart {
    /// The name in the export.
    pub name: String,
    /// Bytes allocated with it.
    pub size_alloc: u64,
    /// Bytes freed with it.
    pub size_free: u64,
    /// Whether it is a result of the graph.
    pub is_output: bool,
    /// The nodes for which it must live (`succ_nodes`).
    pub readers: Vec<u32>,
    /// Further nodes that must run after it was written (those of `succ_nodes_for_ordering` that are not readers).
    pub followers: Vec<u32>,
}

/// The sum of the sizes would overflow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the buffers' sizes add up to 2^62 bytes or more")]
pub struct TooLarge;

impl Graph {
    /// Builds the graph. Numbers of nodes that do not exist are ignored.
    ///
    /// # Errors
    /// If sums of sizes would overflow.
    pub fn new(parts: Parts) -> Result<Self, TooLarge> {
        check_sizes(&parts)?;
        let node_count = parts.nodes.len();
        let mut graph = Self {
            input_count: parts.inputs.len(),
            name_fault: name_fault(&parts),
            ..Self::default()
        };
        let mut follow = Followers::new(node_count);
        for input in parts.inputs {
            follow.readers(&input.readers);
            graph.push_buffer(input);
        }
        for (n, node) in parts.nodes.into_iter().enumerate() {
            let first = graph.buffer_names.len() as u32;
            graph.node_names.push(node.name);
            follow.unmet(n as u32, &node.unmet);
            for output in node.outputs {
                follow.readers(&output.readers);
                follow.succs(n as u32, &output);
                graph.push_buffer(output);
            }
            follow.end_of_node();
            graph.outputs.push(first..graph.buffer_names.len() as u32);
        }
        graph.reads = follow.readers.inverse(node_count);
        graph.preds = follow.succs.inverse(node_count);
        graph.readers = follow.readers;
        graph.succs = follow.succs;
        graph.unmet = follow.unmet;
        graph.origin = origins(&graph);
        Ok(graph)
    }

    fn push_buffer(&mut self, part: BufferPart) {
        self.buffer_names.push(part.name);
        self.size_alloc.push(part.size_alloc);
        self.size_free.push(part.size_free);
        self.is_output.push(part.is_output);
    }
}

/// Checks that the sums of allocated and of freed bytes, inputs included, fit into an `i64` with room for differences.
fn check_sizes(parts: &Parts) -> Result<(), TooLarge> {
    let outputs = parts.nodes.iter().flat_map(|node| &node.outputs);
    let mut sums = (0u64, 0u64);
    for buffer in parts.inputs.iter().chain(outputs) {
        sums.0 = sums.0.saturating_add(buffer.size_alloc);
        sums.1 = sums.1.saturating_add(buffer.size_free);
    }
    if sums.0.max(sums.1) >= 1 << 62 {
        return Err(TooLarge);
    }
    Ok(())
}

/// Collects each node's successors, without repetitions.
struct Followers {
    node_count: u32,
    seen: Seen,
    /// Number of lists that `seen` has handled.
    lists: u32,
    readers: Lists,
    succs: Lists,
    unmet: Lists,
    succs_of_node: Vec<u32>,
    seen_succs: Seen,
}

impl Followers {
    fn new(node_count: usize) -> Self {
        Self {
            node_count: node_count as u32,
            seen: Seen::new(node_count),
            lists: 0,
            readers: Lists::default(),
            succs: Lists::default(),
            unmet: Lists::default(),
            succs_of_node: Vec::new(),
            seen_succs: Seen::new(node_count),
        }
    }

    fn distinct(&mut self, nodes: &[u32]) -> Vec<u32> {
        let list = self.lists;
        self.lists += 1;
        let nodes = nodes.iter().copied().filter(|&n| n < self.node_count);
        nodes.filter(|&n| self.seen.is_new(list, n)).collect()
    }

    fn readers(&mut self, readers: &[u32]) {
        let readers = self.distinct(readers);
        self.readers.push(readers);
    }

    fn unmet(&mut self, node: u32, unmet: &[u32]) {
        let mut unmet = self.distinct(unmet);
        unmet.retain(|&n| n != node);
        self.unmet.push(unmet);
    }

    /// Adds the successors through one output. A node may read its own output, but is not its own successor.
    fn succs(&mut self, node: u32, output: &BufferPart) {
        for &n in output.readers.iter().chain(&output.followers) {
            if n < self.node_count && n != node && self.seen_succs.is_new(node, n) {
                self.succs_of_node.push(n);
            }
        }
    }

    fn end_of_node(&mut self) {
        self.succs.push(self.succs_of_node.drain(..));
    }
}

/// The fault that `validate_unique_buffer_names` would report: the first buffer whose name is taken.
fn name_fault(parts: &Parts) -> Option<Invalid> {
    let inputs: HashMap<&str, ()> = parts.inputs.iter().map(|b| (&*b.name, ())).collect();
    let mut owners = HashMap::new();
    for node in &parts.nodes {
        for buffer in &node.outputs {
            let (name, node) = (&buffer.name, &node.name);
            if let Some(other) = owners.insert(&**name, &**node) {
                return Some(Invalid::shared_name(name, node, other));
            }
            if inputs.contains_key(&**name) {
                return Some(Invalid::name_of_input(name, node));
            }
        }
    }
    None
}

/// Per output that allocates nothing, the buffer that it is a part of. A node with several outputs allocates one
/// buffer for all of them and frees nothing; each output frees its part and allocates nothing. The export does not
/// name that buffer, but the output's node reads it.
fn origins(graph: &Graph) -> Vec<Option<u32>> {
    let mut origins = vec![None; graph.buffer_count()];
    let mut left: Vec<u64> = graph.size_alloc.clone();
    for n in 0..graph.node_count() {
        let own = graph.outputs.get(n);
        let is_whole =
            |&b: &u32| graph.size_free[b as usize] == 0 && graph.size_alloc[b as usize] > 0;
        let reads = graph.reads.get(n).iter();
        let mut whole = reads.chain(own).copied().filter(is_whole);
        let mut from = whole.next();
        for &part in own {
            let bytes = graph.size_free[part as usize];
            if graph.size_alloc[part as usize] > 0 || bytes == 0 {
                continue;
            }
            while let Some(b) = from
                && left[b as usize] < bytes
            {
                from = whole.next();
            }
            if let Some(b) = from {
                left[b as usize] -= bytes;
                origins[part as usize] = Some(b);
            }
        }
    }
    origins
}
