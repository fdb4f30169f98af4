//! Graphs of torch.compile's inductor, and in which order their nodes need least memory.
//!
//! Inductor decides before it generates code in which order the nodes of a graph run
//! (`torch/_inductor/memory.py`, torch 2.15): it estimates the peak of the order it has ([`Method::Baseline`])
//! and of three others, and takes the lowest. Here the same figures are worked out from what it exports
//! ([`read()`]): to the byte, tie for tie. [`search`] then looks for something better.
//!
//! # Words
//! - *node*: what runs as one: a kernel, or several fused into one. It has a number: its place in the order that
//!   inductor had before it reordered.
//! - *buffer*: what a node writes. Some allocate more than they free or the other way round: what a
//!   node with several outputs allocates is freed output by output.
//! - *freeable input*: an input of the graph that is gone after its last reader, such as an activation
//!   that was saved for the backward pass. Parameters and the like are no part of any figure.
//! - *step*: a place in an order. What a node reads and what it writes is live together at its step.

mod build;
mod lists;
mod orders;
pub mod read;
pub mod search;
mod timeline;
mod validate;

pub use self::build::{BufferPart, NodePart, Parts};
pub use self::lists::Lists;
pub use self::orders::{Method, Order, Plan, Planned, Settings, bfs, dfs, lpmf, plan};
pub use self::read::{Export, NamedGraph, ReadError, graph_name, is_graph, read};
pub use self::search::Search;
pub use self::timeline::{Life, Timeline};
pub use self::validate::Invalid;

/// A graph as inductor's memory pass sees it. Nodes and buffers are numbered from 0.
///
/// Buffers: the freeable inputs first, then what the nodes write, node by node.
#[derive(Clone, Default, Debug, PartialEq, Eq)]
pub struct Graph {
    /// Name of each node: `op0`, and fused `op12_op13_op14`.
    pub node_names: Vec<String>,
    /// Name of each buffer.
    pub buffer_names: Vec<String>,
    /// Bytes that appear with each buffer; 0 for what takes its memory from another one.
    pub size_alloc: Vec<u64>,
    /// Bytes that go with each buffer; 0 if other buffers free it.
    pub size_free: Vec<u64>,
    /// Whether each buffer is a result of the graph, which is never freed.
    pub is_output: Vec<bool>,
    /// How many of the buffers are freeable inputs: the first ones.
    pub input_count: usize,
    /// Per node: the buffers it writes.
    pub outputs: Lists,
    /// Per node: the buffers that live until it has run, at least (`pred_buffers`).
    pub reads: Lists,
    /// Per buffer: the nodes that it lives for (`succ_nodes`).
    pub readers: Lists,
    /// Per node: those that must run before, ascending (`pred_nodes`).
    pub preds: Lists,
    /// Per node: those that must run after (`succ_nodes`).
    pub succs: Lists,
    /// Per node: those that wrote what it reads by that name, which is what [`dfs`] walks (`unmet_dependencies`).
    pub unmet: Lists,
    /// Per buffer that allocates nothing: the buffer that its bytes come from, if there is one.
    pub origin: Vec<Option<u32>>,
    /// What is wrong with the buffers' names; `None` = nothing.
    name_fault: Option<Invalid>,
}

impl Graph {
    /// How many nodes there are.
    #[must_use]
    pub fn node_count(&self) -> usize {
        self.node_names.len()
    }

    /// How many buffers there are, freeable inputs included.
    #[must_use]
    pub fn buffer_count(&self) -> usize {
        self.buffer_names.len()
    }

    /// Bytes that a node allocates (`size`).
    #[must_use]
    pub fn node_size(&self, node: u32) -> i64 {
        let outputs = self.outputs.get(node as usize);
        outputs.iter().map(|&b| self.alloc(b)).sum()
    }

    /// The order that inductor had before it reordered.
    #[must_use]
    pub fn baseline(&self) -> Order {
        Order((0..self.node_count() as u32).collect())
    }

    /// [`size_alloc`](Self::size_alloc), to calculate with: [`Parts`] takes no sizes whose sum would not fit.
    fn alloc(&self, buffer: u32) -> i64 {
        self.size_alloc[buffer as usize] as i64
    }

    /// [`size_free`](Self::size_free), as [`alloc`](Self::alloc).
    fn free(&self, buffer: u32) -> i64 {
        self.size_free[buffer as usize] as i64
    }

    /// Bytes of the freeable inputs, which are there from the beginning.
    #[must_use]
    pub fn freeable_bytes(&self) -> u64 {
        self.size_free[..self.input_count].iter().sum()
    }

    /// [`freeable_bytes`](Self::freeable_bytes), to calculate with.
    fn input_bytes(&self) -> i64 {
        self.freeable_bytes() as i64
    }

    /// Whether a buffer is never freed: a result of the graph, or a freeable input that nobody reads. PyTorch asserts
    /// that there are none of the latter, so that they can only come from damaged files.
    fn stays(&self, buffer: usize) -> bool {
        let is_unread = buffer < self.input_count && self.readers.get(buffer).is_empty();
        self.is_output[buffer] || is_unread
    }
}

#[cfg(test)]
mod tests;
