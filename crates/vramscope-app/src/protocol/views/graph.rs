//! Inductor graphs: memory by step under several orders, buffers' lives, nodes.

use serde::{Deserialize, Serialize};

use crate::protocol::{Note, ThemeName};

/// A file of graphs, once it is read.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct GraphFile {
    pub name: String,
    /// Its size on disk.
    pub file_bytes: u64,
    /// Its graphs in the order of the file; at least one.
    pub graphs: Vec<GraphFacts>,
    /// What the user should know: damage, what the export does not hold.
    pub notes: Vec<Note>,
    /// How long reading took, in ms.
    pub read_ms: f64,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct GraphFacts {
    /// Its name, e.g. `model__0_forward_1_fused`; that of the file if the export does not say.
    pub name: String,
    /// Nodes, which is steps of any order.
    pub nodes: u32,
    pub buffers: u32,
    /// Inputs that are freed on the way: activations saved for a backward graph.
    pub freeable_inputs: u32,
    pub freeable_bytes: u64,
}

/// An order of a graph's nodes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OrderName {
    /// As the nodes come in the file: what inductor's scheduler had.
    #[default]
    Baseline,
    /// PyTorch's `topological_sort_lpmf`.
    Lpmf,
    /// PyTorch's `topological_sort_bfs`.
    Bfs,
    /// PyTorch's `topological_sort_dfs`.
    Dfs,
    /// The best that vramscope has found.
    Best,
}

impl OrderName {
    /// In the order in which PyTorch tries them; our own last.
    pub const ALL: [Self; 5] = [Self::Baseline, Self::Lpmf, Self::Bfs, Self::Dfs, Self::Best];
}

/// One order of one graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct OrderKey {
    /// Place in [`GraphFile::graphs`].
    pub graph: u32,
    pub order: OrderName,
    /// How often the search had found a better one, see [`OrderFacts::version`].
    pub version: u32,
    /// What is added to all memory: what the export leaves out.
    pub constant_bytes: u64,
}

/// How buffers' lives are laid out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bars {
    /// A row each, by birth.
    #[default]
    Rows,
    /// Placed in memory without overlap: heights are bytes.
    Packed,
}

/// A picture: curves above, bars below.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct DrawGraph {
    /// Whose bars; the curves are all orders'.
    pub key: OrderKey,
    pub bars: Bars,
    /// Steps from … to.
    pub x: (f64, f64),
    /// Width of both in device px.
    pub width_px: u32,
    /// Height of the bars in device px.
    pub height_px: u32,
    pub theme: ThemeName,
}

/// What the view asks.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Question {
    /// The orders of a graph and what the search has found. Answered by [`Answer::Orders`].
    Orders {
        /// Which graph, and what is added.
        key: OrderKey,
        /// Counts the questions, so that the next is another one.
        round: u32,
        /// How long to search for a better order, in ms of work; what was searched already counts.
        search_ms: u32,
    },
    /// Answered by [`Answer::Drawn`] with the bars as picture.
    Draw(DrawGraph),
    /// Where a buffer is. Answered by [`Answer::Placed`].
    Place {
        /// The picture that is shown.
        draw: DrawGraph,
        buffer: u32,
    },
    /// What is at a place. Answered by [`Answer::Tip`].
    Hit {
        /// The picture that is shown.
        draw: DrawGraph,
        /// From its left, in device px.
        x_px: f64,
        /// From the upper end of the bars, in device px; negative above them.
        y_px: f64,
    },
    /// What is live at a step, the largest first. Answered by [`Answer::Live`].
    Live {
        key: OrderKey,
        /// At which step; `None`: where most is live.
        step: Option<u32>,
        first: u32,
        count: u32,
        /// A buffer whose row is wanted.
        locate: Option<u32>,
    },
    /// Nodes in order. Answered by [`Answer::Nodes`].
    Nodes {
        key: OrderKey,
        first: u32,
        count: u32,
    },
    /// All about a buffer. Answered by [`Answer::Buffer`].
    Buffer { key: OrderKey, buffer: u32 },
    /// Memory by step of every order, as CSV. Answered by [`Answer::Csv`].
    Csv {
        /// Of which graph, and what is added.
        key: OrderKey,
    },
}

/// What it is told.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    Orders(OrdersFacts),
    Drawn(Drawn),
    Placed(Placed),
    Tip(Tip),
    Live(Live),
    Nodes(Vec<NodeLine>),
    Buffer(Box<BufferFacts>),
    /// See [`Question::Csv`]; attached.
    Csv {
        /// Its lines without the head.
        rows: u64,
    },
}

/// All orders of a graph.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct OrdersFacts {
    /// As given first, vramscope's own last.
    pub orders: Vec<OrderFacts>,
    pub chosen: OrderName,
    /// No order can need less: of the bounds that are known, the highest.
    pub bound_bytes: u64,
    /// Whether our own is proved to be the least.
    pub is_proved: bool,
    /// Whether the search goes on.
    pub is_searching: bool,
    /// Whether a longer search may find a better one.
    pub can_search: bool,
    /// How long it has searched, in ms of work.
    pub searched_ms: u32,
    /// Why the graph's orders cannot be told, as PyTorch would say it: a cycle, a name twice.
    pub problem: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct OrderFacts {
    pub order: OrderName,
    /// Counts the changes of this order.
    pub version: u32,
    pub peak_bytes: u64,
    /// The first step that reaches it.
    pub peak_step: u32,
    /// By which part that is above what PyTorch would choose; negative if below. `None` where that is nothing.
    pub change_share: Option<f64>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Drawn {
    /// The highest memory of each column, order by order.
    pub curves: Vec<Curve>,
    /// The highest of all, wherever it is.
    pub top_bytes: u64,
    /// How many bars there are in sight.
    pub bars: u32,
    /// Height of the packing in bytes; `None` where bars are rows.
    pub packed_bytes: Option<u64>,
}

/// Where a buffer is in the picture.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Placed {
    /// Its bar: left, top, right, bottom, device px; `None` if it is not in sight.
    pub outline: Option<[f64; 4]>,
    /// Where it is used, device px from the left.
    pub uses_px: Vec<f64>,
}

/// One order's memory.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Curve {
    pub order: OrderName,
    pub bytes: Vec<u64>,
    /// Highest bytes, and the first step that reaches them.
    pub peak: (u64, u32),
}

/// What is under the pointer.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Tip {
    pub step: u32,
    /// Its node in the order shown; empty behind the last.
    pub node: String,
    /// Each order's memory at that step.
    pub memory: Vec<(OrderName, u64)>,
    pub buffer: Option<LiveLine>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BufferKind {
    /// Made and freed on the way.
    Intermediate,
    /// An input that is freed on the way.
    FreeableInput,
    Output,
}

/// A buffer in a list.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LiveLine {
    pub buffer: u32,
    pub name: String,
    pub bytes: u64,
    /// Those in per mille of all that is live.
    pub share_per_mille: u32,
    pub kind: BufferKind,
    /// The node that makes it; empty for an input.
    pub node: String,
    /// The first step at which it is live.
    pub start: u32,
    /// The last; `None` for an output.
    pub end: Option<u32>,
}

/// What is live at a step.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Live {
    pub step: u32,
    /// Its node; empty behind the last.
    pub node: String,
    /// All memory, the constant included.
    pub bytes: u64,
    pub constant_bytes: u64,
    pub all_rows: u32,
    /// The row of the first of [`lines`](Self::lines).
    pub first: u32,
    pub lines: Vec<LiveLine>,
    /// The row of the buffer that was to be located, if it is live.
    pub place: Option<u32>,
}

/// A node in order.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct NodeLine {
    pub step: u32,
    pub name: String,
    /// The buffers it makes: number and name; at most [`MOST_OUTPUTS`].
    pub outputs: Vec<(u32, String)>,
    pub all_outputs: u32,
    pub bytes: u64,
    pub during_bytes: u64,
    /// Memory after it, when what is used no more is freed.
    pub after_bytes: u64,
}

/// All about a buffer.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct BufferFacts {
    /// As in lists; the share is that of the peak.
    pub line: LiveLine,
    /// Bytes that appear with it; 0 for an input, which is there from the beginning.
    pub allocated_bytes: u64,
    /// Bytes that go with it: others if it is a part of another buffer, or made of parts.
    pub freed_bytes: u64,
    /// The buffer that it is a part of: number and name.
    pub origin: Option<(u32, String)>,
    /// The step of the node that makes it.
    pub made_at: Option<u32>,
    /// Who uses it: step and name, by step; at most [`MOST_USERS`].
    pub users: Vec<(u32, String)>,
    pub all_users: u32,
}

/// Rows in one answer at most.
pub const MOST_ROWS: u32 = 1_000;

/// Outputs of a node that are named at most.
pub const MOST_OUTPUTS: usize = 6;

/// Users of a buffer that are named at most.
pub const MOST_USERS: usize = 24;
