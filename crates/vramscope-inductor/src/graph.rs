//! A graph of nodes and buffers.

use super::{Invalid, Lists, Order};

/// A graph as inductor's memory pass has it. Nodes and buffers are numbered from 0.
///
/// Buffers: the freeable inputs first, followed by those written by the nodes, node by node.
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
    /// [`dfs`](crate::dfs) follows these.
    pub unmet: Lists,
    /// Per buffer that allocates nothing: the buffer whose memory it uses, if any.
    pub origin: Vec<Option<u32>>,
    /// The fault in the buffers' names, if there is one.
    pub(super) name_fault: Option<Invalid>,
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

    /// [`size_alloc`](Self::size_alloc) as a signed number. [`Parts`](crate::Parts) refuses sizes whose sum would overflow.
    pub(super) fn alloc(&self, buffer: u32) -> i64 {
        self.size_alloc[buffer as usize] as i64
    }

    /// [`size_free`](Self::size_free) as a signed number.
    pub(super) fn free(&self, buffer: u32) -> i64 {
        self.size_free[buffer as usize] as i64
    }

    /// Bytes of the freeable inputs, which are live from the beginning.
    #[must_use]
    pub fn freeable_bytes(&self) -> u64 {
        self.size_free[..self.input_count].iter().sum()
    }

    /// [`freeable_bytes`](Self::freeable_bytes) as a signed number.
    pub(super) fn input_bytes(&self) -> i64 {
        self.freeable_bytes() as i64
    }

    /// Whether a buffer is never freed: a result of the graph, or a freeable input without readers. PyTorch asserts
    /// that the latter do not exist, so they only come from damaged files.
    pub(super) fn stays(&self, buffer: usize) -> bool {
        let is_unread = buffer < self.input_count && self.readers.get(buffer).is_empty();
        self.is_output[buffer] || is_unread
    }
}
