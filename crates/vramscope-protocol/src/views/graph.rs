//! The questions of inductor graphs: memory by step in several orders, lives of buffers, nodes.

use serde::{Deserialize, Serialize};
pub use vramscope_inductor::{
    BufferDetails, BufferKind, GraphFacts, LiveBuffer, NodeStep, OrderFacts, OrderName,
};

use crate::{Note, ThemeName};

/// A file of graphs, once it is read.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct GraphFile {
    pub name: String,
    /// Its size as it is stored.
    pub file_bytes: u64,
    /// Its graphs in the order of the file; at least one.
    pub graphs: Vec<GraphFacts>,
    /// Damage, and data that the export lacks.
    pub notes: Vec<Note>,
    /// Duration of reading, in ms.
    pub read_ms: f64,
}

/// One order of one graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct OrderKey {
    /// Index into [`GraphFile::graphs`].
    pub graph: u32,
    pub order: OrderName,
    /// The version of the order, see [`OrderFacts::version`].
    pub version: u32,
    /// Bytes added to memory at every step, for parameters that the export leaves out.
    pub constant_bytes: u64,
}

/// The layout of the buffers' lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bars {
    /// A row for each buffer, by birth.
    #[default]
    Rows,
    /// A packing in memory without overlap; heights are bytes.
    Packed,
}

/// A picture: curves above, bars below.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct DrawGraph {
    /// The order of the bars; the curves are those of all orders.
    pub key: OrderKey,
    pub bars: Bars,
    /// First and last step that are seen.
    pub x: (f64, f64),
    /// Width of both in device px.
    pub width_px: u32,
    /// Height of the bars in device px.
    pub height_px: u32,
    pub theme: ThemeName,
}

/// A question about a graph.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Question {
    /// The orders of a graph and what the search has found. Answered by [`Answer::Orders`].
    Orders {
        key: OrderKey,
        /// Counts the questions, so that each is another one.
        round: u32,
        /// Time to search for a better order in all, in ms of work.
        search_ms: u32,
    },
    /// Answered by [`Answer::Drawn`] with the bars as picture.
    Draw(DrawGraph),
    /// Where a buffer is. Answered by [`Answer::Placed`].
    Place { draw: DrawGraph, buffer: u32 },
    /// What is at a place. Answered by [`Answer::Tip`].
    Hit {
        draw: DrawGraph,
        /// Distance from its left edge, device px.
        x_px: f64,
        /// Distance from the top of the bars, device px; negative above them.
        y_px: f64,
    },
    /// What is live at a step, the largest first. Answered by [`Answer::Live`].
    Live {
        key: OrderKey,
        /// The step; `None` = the first one with the most memory.
        step: Option<u32>,
        first: u32,
        count: u32,
        /// A buffer whose row is asked for.
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

/// The answer to a [`Question`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    Orders(OrdersFacts),
    Drawn(Drawn),
    Placed(Placed),
    Tip(Tip),
    Live(Live),
    Nodes(Vec<NodeStep>),
    Buffer(Box<BufferDetails>),
    /// The text is attached.
    Csv {
        /// Number of its lines without the head.
        rows: u64,
    },
}

/// All orders of a graph.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct OrdersFacts {
    /// PyTorch's orders, then the search's.
    pub orders: Vec<OrderFacts>,
    pub chosen: OrderName,
    /// A lower bound of the peak of every order.
    pub bound_bytes: u64,
    /// Whether the search's order is proved to be the best.
    pub is_proved: bool,
    /// Whether the search is under way.
    pub is_searching: bool,
    /// Whether a longer search may find a better one.
    pub can_search: bool,
    /// Time that was spent on the search, in ms of work.
    pub searched_ms: u32,
    /// The fault for which PyTorch would refuse the graph, in its words: a cycle, a name that occurs twice.
    pub problem: Option<String>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Drawn {
    /// The curve of each order.
    pub curves: Vec<Curve>,
    /// The most memory of any order at any step.
    pub top_bytes: u64,
    /// Number of bars that are seen.
    pub bars: u32,
    /// Height of the packing in bytes; `None` for rows.
    pub packed_bytes: Option<u64>,
}

/// The place of a buffer in the picture.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Placed {
    /// Left, top, right and bottom of its bar, device px; `None` if it is not seen.
    pub outline: Option<[f64; 4]>,
    /// The steps that use it, device px from the left.
    pub uses_px: Vec<f64>,
}

/// The memory of one order; `bytes` holds the highest value of each column.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Curve {
    pub order: OrderName,
    pub bytes: Vec<u64>,
    /// The most bytes, and the first step with that many.
    pub peak: (u64, u32),
}

/// The step and the buffer under the pointer.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Tip {
    pub step: u32,
    /// Its node in the order shown; empty after the last step.
    pub node: String,
    /// Each order's memory at that step.
    pub memory: Vec<(OrderName, u64)>,
    pub buffer: Option<LiveBuffer>,
}

/// The buffers live at a step.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Live {
    pub step: u32,
    /// Its node; empty after the last step.
    pub node: String,
    /// Memory at the step, with the constant bytes.
    pub bytes: u64,
    pub constant_bytes: u64,
    pub all_rows: u32,
    /// The row of the first line of [`lines`](Self::lines).
    pub first: u32,
    pub lines: Vec<LiveBuffer>,
    /// The row of the buffer that was asked for; `None` if it is not live.
    pub place: Option<u32>,
}

/// The most rows of one answer.
pub const MOST_ROWS: u32 = 1_000;
