//! A graph in one order: the buffers live at a step, the outputs of each node, and the users of a buffer.
//!
//! Amounts of memory have `added_bytes` added: memory that the export leaves out, such as parameters.

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::compare::changes::relative_change;

use crate::graph::Graph;
use crate::order::Order;
use crate::orders::Method;
use crate::timeline::{Life, Timeline};

/// Most outputs listed in a [`NodeStep`].
pub const MOST_OUTPUTS: usize = 6;

/// Most users listed in [`BufferDetails`].
pub const MOST_USERS: usize = 24;

/// The name of an order of a graph's nodes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OrderName {
    /// The order of the file, which is that of inductor's scheduler.
    #[default]
    Baseline,
    /// PyTorch's `topological_sort_lpmf`.
    Lpmf,
    /// PyTorch's `topological_sort_bfs`.
    Bfs,
    /// PyTorch's `topological_sort_dfs`.
    Dfs,
    /// The best order found by the search.
    Best,
}

impl OrderName {
    /// All names: PyTorch's in the order in which it tries them, then the search's.
    pub const ALL: [Self; 5] = [Self::Baseline, Self::Lpmf, Self::Bfs, Self::Dfs, Self::Best];

    /// The name in tables: that of PyTorch's logs, or `best`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Baseline => Method::Baseline.name(),
            Self::Lpmf => Method::Lpmf.name(),
            Self::Bfs => Method::Bfs.name(),
            Self::Dfs => Method::Dfs.name(),
            Self::Best => "best",
        }
    }
}

impl From<Method> for OrderName {
    fn from(method: Method) -> Self {
        match method {
            Method::Baseline => Self::Baseline,
            Method::Lpmf => Self::Lpmf,
            Method::Bfs => Self::Bfs,
            Method::Dfs => Self::Dfs,
        }
    }
}

/// The size of a graph.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct GraphFacts {
    /// E.g. `model__0_forward_1_fused`; the file's name if the export does not say.
    pub name: String,
    /// Number of nodes, and so of steps of every order.
    pub nodes: u32,
    /// Number of buffers that the nodes write.
    pub buffers: u32,
    /// Number of inputs that are freed after their last use: activations saved for a backward graph.
    pub freeable_inputs: u32,
    /// Bytes of those inputs.
    pub freeable_bytes: u64,
}

impl GraphFacts {
    /// The facts of a graph called `name`.
    #[must_use]
    pub fn of(name: &str, graph: &Graph) -> Self {
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        Self {
            name: name.to_owned(),
            nodes: count(graph.node_count()),
            buffers: count(graph.buffer_count() - graph.input_count),
            freeable_inputs: count(graph.input_count),
            freeable_bytes: graph.freeable_bytes(),
        }
    }
}

/// The role of a buffer in its graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BufferKind {
    /// A node writes it, and it is freed after its last use.
    Intermediate,
    /// An input that is freed after its last use.
    FreeableInput,
    /// A result, which stays to the end.
    Output,
}

impl BufferKind {
    /// The kind of a buffer of `graph`.
    #[must_use]
    pub fn of(graph: &Graph, buffer: u32) -> Self {
        if graph.is_output[buffer as usize] {
            Self::Output
        } else if (buffer as usize) < graph.input_count {
            Self::FreeableInput
        } else {
            Self::Intermediate
        }
    }
}

/// A buffer and its life in an order.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LiveBuffer {
    /// Its number in the graph.
    pub buffer: u32,
    /// Its name in the graph.
    pub name: String,
    /// The bytes counted for it.
    pub bytes: u64,
    /// Those bytes in per mille of the memory that they are compared with.
    pub share_per_mille: u32,
    /// Its role in the graph.
    pub kind: BufferKind,
    /// The node that makes it; empty for an input.
    pub node: String,
    /// The first step at which it is live.
    pub start: u32,
    /// The last such step; `None` for an output.
    pub end: Option<u32>,
}

/// A node at its step.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct NodeStep {
    /// The step at which it runs, from 0.
    pub step: u32,
    /// Its name in the graph.
    pub name: String,
    /// Number and name of the buffers that it writes; at most [`MOST_OUTPUTS`].
    pub outputs: Vec<(u32, String)>,
    /// Number of all buffers that it writes.
    pub all_outputs: u32,
    /// Bytes that it allocates.
    pub bytes: u64,
    /// Memory while it runs.
    pub during_bytes: u64,
    /// Memory after freeing the buffers that it used last.
    pub after_bytes: u64,
}

/// A buffer in detail.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct BufferDetails {
    /// As in lists; the share is that of the order's peak.
    pub line: LiveBuffer,
    /// Bytes that become live with it; 0 for an input, which is live from the beginning.
    pub allocated_bytes: u64,
    /// Bytes that are freed with it: differs from `allocated_bytes` if it is a part of another buffer, or consists of parts.
    pub freed_bytes: u64,
    /// Number and name of the buffer that it is a part of.
    pub origin: Option<(u32, String)>,
    /// The step of the node that writes it; `None` for an input.
    pub made_at: Option<u32>,
    /// Step and name of the nodes that use it, by step; at most [`MOST_USERS`].
    pub users: Vec<(u32, String)>,
    /// Number of all nodes that use it.
    pub all_users: u32,
}

/// The peak of an order.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct OrderFacts {
    /// The order's name.
    pub order: OrderName,
    /// How often this order has been replaced by a better one.
    pub version: u32,
    /// The most memory at any step.
    pub peak_bytes: u64,
    /// The first step with that much.
    pub peak_step: u32,
    /// The peak's change compared with that of inductor's choice, as a share of the latter; `None` if that is 0.
    pub change_share: Option<f64>,
}

/// An order of a graph, prepared for lookups. Its methods take the graph that it was made with.
pub struct NamedOrder {
    /// Its name.
    pub name: OrderName,
    /// The nodes in running order.
    pub order: Order,
    /// Memory at each step.
    pub timeline: Timeline,
    /// Counts its replacements by better orders.
    pub version: u32,
    /// Node → its step.
    steps: Vec<u32>,
    /// Step → bytes once the buffers used last are freed.
    after: Vec<i64>,
}

impl NamedOrder {
    /// An order of `graph` with its timeline.
    #[must_use]
    pub fn new(graph: &Graph, name: OrderName, order: Order, timeline: Timeline) -> Self {
        let steps = timeline.alloc_free_steps(graph).into_iter();
        Self {
            name,
            steps: order.steps(),
            after: steps.map(|(_, after)| after).collect(),
            order,
            timeline,
            version: 0,
        }
    }

    /// Its peak compared with `chosen_bytes`, the peak of inductor's choice without `added_bytes`.
    #[must_use]
    pub fn facts(&self, chosen_bytes: u64, added_bytes: u64) -> OrderFacts {
        let peak_bytes = self.peak_bytes(added_bytes);
        OrderFacts {
            order: self.name,
            version: self.version,
            peak_bytes,
            peak_step: self.timeline.peak_step,
            change_share: relative_change(chosen_bytes.saturating_add(added_bytes), peak_bytes),
        }
    }

    /// The most memory at any step.
    #[must_use]
    pub fn peak_bytes(&self, added_bytes: u64) -> u64 {
        self.timeline.peak.saturating_add(added_bytes)
    }

    /// Memory at a step; after the last one, the memory that remains.
    #[must_use]
    pub fn bytes_at(&self, step: u32, added_bytes: u64) -> u64 {
        let bytes = self.timeline.memory_at_steps.get(step as usize);
        with_added(bytes.copied().unwrap_or(0), added_bytes)
    }

    /// The name of the node that runs at a step; empty after the last one.
    #[must_use]
    pub fn node_at(&self, graph: &Graph, step: u32) -> String {
        let node = self.order.0.get(step as usize);
        node.map_or_else(String::new, |&node| graph.node_names[node as usize].clone())
    }

    /// At most `count` nodes from step `first` on.
    #[must_use]
    pub fn nodes(
        &self,
        graph: &Graph,
        (first, count): (u32, u32),
        added_bytes: u64,
    ) -> Vec<NodeStep> {
        let end = (first.saturating_add(count) as usize).min(self.order.0.len());
        let nodes = self.order.0.get(first as usize..end).unwrap_or_default();
        let node = |(step, &node): (u32, &u32)| {
            let all = graph.outputs.get(node as usize);
            let outputs = all.iter().take(MOST_OUTPUTS);
            let after = self.after.get(step as usize);
            NodeStep {
                step,
                name: graph.node_names[node as usize].clone(),
                outputs: outputs.map(|&buffer| numbered(graph, buffer)).collect(),
                all_outputs: all.len() as u32,
                bytes: with_added(graph.node_size(node), 0),
                during_bytes: self.bytes_at(step, added_bytes),
                after_bytes: with_added(after.copied().unwrap_or(0), added_bytes),
            }
        };
        (first..).zip(nodes).map(node).collect()
    }

    /// A buffer's line, with `bytes` compared with `of_bytes`.
    #[must_use]
    pub fn line(&self, graph: &Graph, buffer: u32, bytes: u64, of_bytes: u64) -> LiveBuffer {
        let row = buffer as usize;
        let Life { start, end } = self.timeline.lives[row];
        let is_made = row >= graph.input_count;
        let share = u128::from(bytes) * 1_000 / u128::from(of_bytes.max(1));
        LiveBuffer {
            buffer,
            name: graph.buffer_names[row].clone(),
            bytes,
            share_per_mille: u32::try_from(share).unwrap_or(u32::MAX),
            kind: BufferKind::of(graph, buffer),
            node: if is_made {
                self.node_at(graph, start)
            } else {
                String::new()
            },
            start,
            end,
        }
    }

    /// A buffer with all its bytes, compared with the order's peak.
    #[must_use]
    pub fn whole_line(&self, graph: &Graph, buffer: u32, added_bytes: u64) -> LiveBuffer {
        // A buffer with several outputs is allocated at once and freed in parts; its parts are only freed.
        let bytes = graph.size_alloc[buffer as usize].max(graph.size_free[buffer as usize]);
        self.line(graph, buffer, bytes, self.peak_bytes(added_bytes))
    }

    /// Step and number of the nodes that use a buffer, by step.
    #[must_use]
    pub fn uses(&self, graph: &Graph, buffer: u32) -> Vec<(u32, u32)> {
        let readers = graph.readers.get(buffer as usize).iter();
        let mut uses: Vec<_> = readers
            .map(|&node| (self.steps[node as usize], node))
            .collect();
        uses.sort_unstable();
        uses
    }

    /// A buffer in detail; `None` if the graph has no such buffer.
    #[must_use]
    pub fn buffer(&self, graph: &Graph, buffer: u32, added_bytes: u64) -> Option<BufferDetails> {
        let row = buffer as usize;
        if row >= graph.buffer_count() {
            return None;
        }
        let is_input = row < graph.input_count;
        let users = self.uses(graph, buffer);
        let name = |&(step, node): &(u32, u32)| (step, graph.node_names[node as usize].clone());
        Some(BufferDetails {
            line: self.whole_line(graph, buffer, added_bytes),
            allocated_bytes: if is_input { 0 } else { graph.size_alloc[row] },
            freed_bytes: graph.size_free[row],
            made_at: (!is_input).then(|| self.timeline.lives[row].start),
            origin: graph.origin[row].map(|origin| numbered(graph, origin)),
            users: users.iter().take(MOST_USERS).map(name).collect(),
            all_users: users.len() as u32,
        })
    }
}

fn numbered(graph: &Graph, buffer: u32) -> (u32, String) {
    (buffer, graph.buffer_names[buffer as usize].clone())
}

/// Bytes with the added ones; in damaged graphs they can go below 0.
fn with_added(bytes: i64, added_bytes: u64) -> u64 {
    added_bytes.saturating_add_signed(bytes)
}
