//! What the flame graph asks: whose calls memory comes from.
//!
//! All questions are about the trees of one [`About`]: the worker keeps those of the last one, so that
//! focusing, scrolling and opening rows only look at a tree.

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::code::call_tree::Sums;
pub use vramscope_core::analysis::code::frame_groups::{Fold, FrameGrouping};
pub use vramscope_core::analysis::time::selection::{Selection, Weight};
use vramscope_core::model::DeviceIndex;
use vramscope_view::colour::Rgb;
pub use vramscope_view::flame::{FlameScene, NodeKey};

use super::filter::FilterText;
use crate::protocol::ThemeName;

/// Which allocations, summed how, by which frames.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct About {
    pub device: DeviceIndex,
    pub selection: Selection,
    pub weight: Weight,
    /// What makes two frames one.
    pub grouping: FrameGrouping,
    /// Whose frames are left out.
    pub fold: Fold,
    /// Which more are; see `FoldPatterns`. What cannot be read folds nothing.
    pub patterns: String,
    /// The search: what it matches is told beside every sum.
    pub filter: Option<FilterText>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Question {
    pub about: About,
    pub theme: ThemeName,
    pub wanted: TreeQuestion,
}

/// Which way through the stacks.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TreeKind {
    /// From the outermost callers down.
    #[default]
    TopDown,
    /// From where memory was allocated up.
    BottomUp,
    /// Who calls the function of this label.
    Callers(String),
    /// What the function of this label calls.
    Callees(String),
}

/// By what a list of functions is ordered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FunctionOrder {
    #[default]
    Total,
    /// What was allocated right there.
    Own,
}

/// What is asked.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TreeQuestion {
    /// A picture. Answered by [`TreeAnswer::Picture`].
    Picture {
        tree: TreeKind,
        focus: NodeKey,
        /// How wide, css px.
        width_px: f64,
    },
    /// Rows of a table. Answered by [`TreeAnswer::Rows`].
    Rows {
        tree: TreeKind,
        /// The open ones; `None` = those on the heaviest path.
        open: Option<Vec<NodeKey>>,
        /// The first to be told, from 0.
        first: u32,
        /// How many at most.
        count: u32,
    },
    /// A tree as folded stacks, for other programs. Answered by [`TreeAnswer::Folded`].
    Folded { tree: TreeKind },
    /// All functions. Answered by [`TreeAnswer::Functions`].
    Functions {
        order: FunctionOrder,
        /// The first to be told, from 0.
        first: u32,
        /// How many at most.
        count: u32,
        /// The function whose filter is asked for, by its label.
        function: Option<String>,
    },
}

/// A step from the root to the focus.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TrailStep {
    pub key: NodeKey,
    pub label: String,
    /// Whether it names code.
    pub is_code: bool,
    /// The filter that finds what has it on its stack, if it names code.
    pub search: Option<String>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TreeRow {
    pub key: NodeKey,
    pub label: String,
    /// Its colour in the picture.
    pub fill: Rgb,
    /// Whether it names code.
    pub is_code: bool,
    /// The filter that finds what has it on its stack, if it names code.
    pub search: Option<String>,
    /// How far below the root, from 1.
    pub depth: u32,
    /// The node and all below.
    pub total: Sums,
    pub own: Sums,
    pub has_children: bool,
    pub is_open: bool,
}

/// A row of the list of functions.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FunctionRow {
    pub label: String,
    pub fill: Rgb,
    /// Whether it names code.
    pub is_code: bool,
    /// The filter that finds what has it on its stack, if it names code.
    pub search: Option<String>,
    /// Whether that is the user's.
    pub is_user: bool,
    /// Allocated with it on the stack.
    pub total: Sums,
    /// Allocated with it as the innermost frame.
    pub own: Sums,
}

/// What is answered.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TreeAnswer {
    Picture {
        scene: FlameScene,
        /// From the root to what fills the width, both included: that asked for, or what of the way to it
        /// the tree has.
        trail: Vec<TrailStep>,
        /// What the focus comes to.
        focus: Sums,
    },
    Rows {
        /// How many rows there are.
        rows: u32,
        /// The number of the first told.
        first: u32,
        told: Vec<TreeRow>,
        open: Vec<NodeKey>,
    },
    /// See [`TreeQuestion::Folded`]; the text is attached. Nothing is, where it would be too long.
    Folded,
    Functions {
        /// How many rows there are.
        rows: u32,
        /// The number of the first told.
        first: u32,
        told: Vec<FunctionRow>,
        /// The filter of the function that was asked for.
        search: Option<String>,
    },
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Answer {
    /// What the tree comes to: of a function's tree, what was allocated through it.
    pub total: Sums,
    /// What all that is asked about comes to.
    pub whole: Sums,
    /// Stacks too deep or too many to be told to their end.
    pub cut: u64,
    pub told: TreeAnswer,
}
