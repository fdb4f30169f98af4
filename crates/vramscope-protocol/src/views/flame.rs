//! What the flame graph asks: whose calls memory comes from.
//!
//! All questions are about the trees of one [`About`]: the worker keeps those of the last one, so that
//! focusing, scrolling and opening rows only look at a tree.

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::code::call_tree::Sums;
pub use vramscope_core::analysis::code::frame_groups::{Fold, FrameGrouping};
pub use vramscope_core::analysis::code::tree_kind::{FunctionOrder, TreeKind};
pub use vramscope_core::analysis::time::selection::{Selection, Weight};
use vramscope_core::ids::AllocationId;
use vramscope_core::model::DeviceIndex;
use vramscope_view::colour::Rgb;
pub use vramscope_view::flame::{FlameScene, NodeKey};

use super::filter::FilterText;
use crate::{ColourBy, ThemeName};

/// The allocations of a tree, their sums, and the naming of frames.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct About {
    pub device: DeviceIndex,
    pub selection: Selection,
    pub weight: Weight,
    pub grouping: FrameGrouping,
    /// The kind of frames that is left out.
    pub fold: Fold,
    /// Patterns of further frames to leave out, see `FoldPatterns`; a text that cannot be parsed leaves out none.
    pub patterns: String,
    /// Whether the trees begin with the pools, streams and segments of the memory.
    pub by_place: bool,
    /// The search: every sum tells how much of it matches.
    pub filter: Option<FilterText>,
}

/// A box of a flame graph.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BoxOf {
    pub about: About,
    pub tree: TreeKind,
    /// The node that fills the graph's width.
    pub focus: NodeKey,
    pub key: NodeKey,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Question {
    pub about: About,
    pub theme: ThemeName,
    /// What colours stand for.
    pub colour_by: ColourBy,
    pub wanted: TreeQuestion,
}

/// A question about a tree.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TreeQuestion {
    /// A picture. Answered by [`TreeAnswer::Picture`].
    Picture {
        tree: TreeKind,
        focus: NodeKey,
        /// The allocation whose path is marked.
        marked: Option<AllocationId>,
        /// Width of the picture, css px.
        width_px: f64,
    },
    /// Rows of a table. Answered by [`TreeAnswer::Rows`].
    Rows {
        tree: TreeKind,
        /// The open rows; `None` = those on the heaviest path.
        open: Option<Vec<NodeKey>>,
        /// The chains whose frames are rows of their own, by any of their nodes.
        apart: Vec<NodeKey>,
        /// The first row to list, from 0.
        first: u32,
        /// The most rows to list.
        count: u32,
    },
    /// A tree as folded stacks, for other programs. Answered by [`TreeAnswer::Folded`].
    Folded { tree: TreeKind },
    /// All functions. Answered by [`TreeAnswer::Functions`].
    Functions {
        order: FunctionOrder,
        /// The first row to list, from 0.
        first: u32,
        /// The most rows to list.
        count: u32,
        /// The label of a function whose filter is asked for.
        function: Option<String>,
    },
}

impl TreeQuestion {
    /// The tree that is asked about; `None` for the list of functions.
    #[must_use]
    pub fn tree(&self) -> Option<&TreeKind> {
        match self {
            Self::Picture { tree, .. } | Self::Rows { tree, .. } | Self::Folded { tree } => {
                Some(tree)
            }
            Self::Functions { .. } => None,
        }
    }
}

/// A group of frames in a list.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ListedGroup {
    pub label: String,
    /// The colour of its code; `None` where colours stand for something else.
    pub fill: Option<Rgb>,
    /// Whether it names code.
    pub is_code: bool,
    /// The filter that finds the allocations with it on their stacks; `None` if it names no code.
    pub search: Option<String>,
}

/// A step from the root to the focus.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TrailStep {
    pub key: NodeKey,
    pub group: ListedGroup,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TreeRow {
    pub key: NodeKey,
    pub group: ListedGroup,
    /// The number of frames that the row stands for, at least 1.
    pub joined: u32,
    /// The chain that is apart, and that the frame belongs to, by its last frame.
    pub apart: Option<NodeKey>,
    /// Levels below the root, from 1.
    pub depth: u32,
    /// Sums of the node and all below it.
    pub total: Sums,
    /// Sums of the node alone.
    pub own: Sums,
    pub has_children: bool,
    pub is_open: bool,
}

/// A row of the list of functions.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FunctionRow {
    pub group: ListedGroup,
    /// Whether it is code of the user, not of a library.
    pub is_user: bool,
    /// Allocations with it on the stack.
    pub total: Sums,
    /// Allocations with it as the innermost frame.
    pub own: Sums,
}

/// The answer to a [`TreeQuestion`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TreeAnswer {
    Picture {
        scene: FlameScene,
        /// From the root to the node that fills the width, both included. If the tree lacks the focus, the node is the
        /// root.
        trail: Vec<TrailStep>,
        /// Sums of that node.
        focus: Sums,
    },
    Rows {
        /// Number of all rows.
        all_rows: u32,
        /// The first row listed.
        first: u32,
        rows: Vec<TreeRow>,
        open: Vec<NodeKey>,
    },
    /// The text is attached, unless it would be too long.
    Folded,
    Functions {
        /// Number of all rows.
        all_rows: u32,
        /// The first row listed.
        first: u32,
        rows: Vec<FunctionRow>,
        /// The filter of the function that was asked for; `None` if it names no code.
        search: Option<String>,
    },
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Answer {
    /// Sums of the tree; of a function's tree, those of the allocations made through it.
    pub total: Sums,
    /// Sums of all selected allocations.
    pub whole: Sums,
    /// Number of stacks that were cut, as they are too deep or too many.
    pub cut: u64,
    pub tree: TreeAnswer,
}
