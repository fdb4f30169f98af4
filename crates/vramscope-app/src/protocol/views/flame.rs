//! What the flame graph asks: whose calls memory comes from.
//!
//! All questions are about the trees of one [`About`]: the worker keeps those of the last one, so that
//! focusing, scrolling and opening rows only look at a tree.

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::call_tree::Sums;
pub use vramscope_core::analysis::frame_groups::{Fold, FrameGrouping};
pub use vramscope_core::analysis::selection::{Selection, Weight};
use vramscope_core::model::DeviceIndex;
use vramscope_view::colour::Rgb;
pub use vramscope_view::flame::{FlameScene, NodeKey};

use crate::protocol::{FilterId, ThemeName};

/// Which allocations, summed how, by which frames.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct About {
    /// The device.
    pub device: DeviceIndex,
    /// Which allocations.
    pub selection: Selection,
    /// What each counts.
    pub weight: Weight,
    /// What makes two frames one.
    pub grouping: FrameGrouping,
    /// Whose frames are left out.
    pub fold: Fold,
    /// Which more are; see `FoldPatterns`. What cannot be read folds nothing.
    pub patterns: String,
    /// The search: what it matches is told beside every sum.
    pub filter: FilterId,
}

/// A question.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Question {
    /// About what.
    pub about: About,
    /// In which colours.
    pub theme: ThemeName,
    /// What of it.
    pub wanted: Wanted,
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
    /// What was allocated below.
    #[default]
    Total,
    /// What was allocated right there.
    Own,
}

/// What is asked.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wanted {
    /// A picture. Answered by [`Told::Picture`].
    Picture {
        /// Of which tree.
        tree: TreeKind,
        /// What fills the width.
        focus: NodeKey,
        /// How wide, css px.
        width_px: f64,
    },
    /// Rows of a table. Answered by [`Told::Rows`].
    Rows {
        /// Of which tree.
        tree: TreeKind,
        /// The open ones; `None` = those on the heaviest path.
        open: Option<Vec<NodeKey>>,
        /// The first to be told, from 0.
        first: u32,
        /// How many at most.
        count: u32,
    },
    /// A tree as folded stacks, for other programs. Answered by [`Told::Folded`].
    Folded {
        /// Which tree.
        tree: TreeKind,
    },
    /// All functions. Answered by [`Told::Functions`].
    Functions {
        /// In which order.
        order: FunctionOrder,
        /// The first to be told, from 0.
        first: u32,
        /// How many at most.
        count: u32,
    },
}

/// A step from the root to the focus.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TrailStep {
    /// Which node.
    pub key: NodeKey,
    /// What it is called.
    pub label: String,
    /// Whether it names code, which can be searched for.
    pub is_code: bool,
}

/// A row of the tree.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TreeRow {
    /// Which node.
    pub key: NodeKey,
    /// What it is called.
    pub label: String,
    /// Its colour in the picture.
    pub fill: Rgb,
    /// Whether it names code, which can be searched for.
    pub is_code: bool,
    /// How far below the root, from 1.
    pub depth: u32,
    /// The node and all below.
    pub total: Sums,
    /// The node alone.
    pub own: Sums,
    /// Whether something is below.
    pub has_children: bool,
    /// Whether that is shown.
    pub is_open: bool,
}

/// A row of the list of functions.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FunctionRow {
    /// What it is called.
    pub label: String,
    /// Its colour.
    pub fill: Rgb,
    /// Whether it names code, which can be searched for.
    pub is_code: bool,
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
pub enum Told {
    /// See [`Wanted::Picture`].
    Picture {
        /// The boxes.
        scene: FlameScene,
        /// From the root to what fills the width, both included: that asked for, or what of the way to it
        /// the tree has.
        trail: Vec<TrailStep>,
        /// What the focus comes to.
        focus: Sums,
    },
    /// See [`Wanted::Rows`].
    Rows {
        /// How many rows there are.
        rows: u32,
        /// The number of the first told.
        first: u32,
        /// Those told.
        told: Vec<TreeRow>,
        /// Those that are open.
        open: Vec<NodeKey>,
    },
    /// See [`Wanted::Folded`]; the text is attached. Nothing is, where it would be too long.
    Folded,
    /// See [`Wanted::Functions`].
    Functions {
        /// How many rows there are.
        rows: u32,
        /// The number of the first told.
        first: u32,
        /// Those told.
        told: Vec<FunctionRow>,
    },
}

/// An answer.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Answer {
    /// What the tree comes to: of a function's tree, what was allocated through it.
    pub total: Sums,
    /// What all that is asked about comes to.
    pub whole: Sums,
    /// Stacks too deep or too many to be told to their end.
    pub cut: u64,
    /// What was asked for.
    pub told: Told,
}
