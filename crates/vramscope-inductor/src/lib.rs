//! Graphs of torch.compile's inductor, and the order in which their nodes need least memory.
//!
//! Before inductor generates code, it decides in which order the nodes of a graph run (`torch/_inductor/memory.py`,
//! torch 2.15): it estimates the peak of its current order ([`Method::Baseline`]) and of three others, and takes the
//! lowest. This module computes the same figures from inductor's exports ([`read()`]), to the byte and with the same
//! choice among ties. They are compared with PyTorch's own results on every file of `tests/fixtures/planning/graphs`.
//!
//! [`search`] then looks for better orders. It decides whether a graph can run within a number of bytes. Its states
//! are sets of nodes that have run, because the memory after them does not depend on their order, and a beam of
//! states proceeds node by node. A beam that dropped no state proves the absence of what it did not find. The memory
//! that must be live together with one node is a minimum cut; the highest of these cuts is the lower bound.
//!
//! # Terms
//! - *node*: a kernel, or several fused into one. Its number is its place in the order before inductor reorders.
//! - *buffer*: an output of a node. Bytes allocated and freed with a buffer can differ: a node with several outputs
//!   allocates for all of them, and each output frees its part.
//! - *freeable input*: an input of the graph that can be freed after its last reader, such as an activation
//!   saved for the backward pass. Parameters and other lasting inputs are not part of any figure.
//! - *step*: a place in an order. The inputs and outputs of a node are live together at its step.

#![warn(missing_docs)]

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
pub use self::read::{Export, NamedGraph, ReadError, graph_name, read};
pub use self::search::Search;
pub use self::timeline::{Life, Timeline};
pub use self::validate::Invalid;

/// A graph as inductor's memory pass sees it. Nodes and buffers are numbered from 0.
///
/// Buffers: the freeable inputs first, then what the nodes write, node by node.
#[derive(Clone, Default, Debug, PartialEq, Eq)]
pub struct Graph {
    /// Name of each node: `op0`, or `op12_op13_op14` for a fused one.
    pub node_names: Vec<String>,
    /// Name of each buffer.
    pub buffer_names: Vec<String>,
    /// Bytes allocated with each buffer; 0 for a buffer that uses another one's memory.
    pub size_alloc: Vec<u64>,
    /// Bytes freed with each buffer; 0 if they are freed with other buffers.
    pub size_free: Vec<u64>,
    /// Whether each buffer is a result of the graph, which is never freed.
    pub is_output: Vec<bool>,
    /// Number of freeable inputs. They are the first buffers.
    pub input_count: usize,
    /// Per node: the buffers it writes.
    pub outputs: Lists,
    /// Per node: the buffers that must live until it has run (`pred_buffers`).
    pub reads: Lists,
    /// Per buffer: the nodes for which it must live (`succ_nodes`).
    pub readers: Lists,
    /// Per node: the nodes that must run before it, ascending (`pred_nodes`).
    pub preds: Lists,
    /// Per node: the nodes that must run after it (`succ_nodes`).
    pub succs: Lists,
    /// Per node: the nodes that wrote its inputs, by the names under which it reads them (`unmet_dependencies`).
    /// [`dfs`] follows these.
    pub unmet: Lists,
    /// Per buffer that allocates nothing: the buffer whose memory it uses, if any.
    pub origin: Vec<Option<u32>>,
    /// The fault in the buffers' names, if there is one.
    name_fault: Option<Invalid>,
}

impl Graph {
    /// Number of nodes.
    #[must_use]
    pub fn node_count(&self) -> usize {
        self.node_names.len()
    }

    /// Number of buffers, freeable inputs included.
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

    /// The order before inductor reorders.
    #[must_use]
    pub fn baseline(&self) -> Order {
        Order((0..self.node_count() as u32).collect())
    }

    /// [`size_alloc`](Self::size_alloc) as a signed number. [`Parts`] refuses sizes whose sum would overflow.
    fn alloc(&self, buffer: u32) -> i64 {
        self.size_alloc[buffer as usize] as i64
    }

    /// [`size_free`](Self::size_free) as a signed number.
    fn free(&self, buffer: u32) -> i64 {
        self.size_free[buffer as usize] as i64
    }

    /// Bytes of the freeable inputs, which are live from the beginning.
    #[must_use]
    pub fn freeable_bytes(&self) -> u64 {
        self.size_free[..self.input_count].iter().sum()
    }

    /// [`freeable_bytes`](Self::freeable_bytes) as a signed number.
    fn input_bytes(&self) -> i64 {
        self.freeable_bytes() as i64
    }

    /// Whether a buffer is never freed: a result of the graph, or a freeable input without readers. PyTorch asserts
    /// that the latter do not exist, so they only come from damaged files.
    fn stays(&self, buffer: usize) -> bool {
        let is_unread = buffer < self.input_count && self.readers.get(buffer).is_empty();
        self.is_output[buffer] || is_unread
    }
}

#[cfg(test)]
mod tests;
