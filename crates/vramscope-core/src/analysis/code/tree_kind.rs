//! The trees and lists that show call paths.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use super::call_tree::{CallTree, FunctionTotal, Paths};
use super::frame_groups::{GroupId, GroupTable};
use crate::sorting::SortFew;

/// A direction of reading stacks.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TreeKind {
    /// From the outermost callers down.
    #[default]
    TopDown,
    /// From the allocating frames up to their callers.
    BottomUp,
    /// The callers of the function with this label.
    Callers(String),
    /// The functions called by the one with this label.
    Callees(String),
}

impl TreeKind {
    /// Whether a node's children are its callers, not what it calls.
    #[must_use]
    pub fn callers_below(&self) -> bool {
        matches!(self, Self::BottomUp | Self::Callers(_))
    }

    /// The tree of these paths. Their groups are rows of `table`.
    #[must_use]
    pub fn tree(&self, paths: &Paths, table: &GroupTable) -> CallTree {
        match self {
            Self::TopDown => CallTree::top_down(paths),
            Self::BottomUp => CallTree::bottom_up(paths),
            Self::Callers(label) => CallTree::callers(paths, group_of(table, label)),
            Self::Callees(label) => CallTree::callees(paths, group_of(table, label)),
        }
    }
}

/// The group of a label: its code, or the placeholder with that label; [`GroupId::OTHER`] for an unknown label.
#[must_use]
pub fn group_of(table: &GroupTable, label: &str) -> GroupId {
    let mut placeholders = (0..).map(GroupId).take_while(|id| !id.is_code());
    let is_it = |id: &GroupId| table.get(*id).label == label;
    let code = table.find(label);
    code.or_else(|| placeholders.find(is_it))
        .unwrap_or(GroupId::OTHER)
}

/// The order of a list of functions; the largest first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FunctionOrder {
    /// By allocations with the function anywhere on the stack.
    #[default]
    Total,
    /// By allocations with the function as the innermost frame.
    Own,
}

impl FunctionOrder {
    /// Sorts functions; equal ones by the other sum, then by group.
    pub fn sort(self, functions: &mut [FunctionTotal]) {
        functions.sort_few_by_key(|row| {
            let (by, then) = match self {
                Self::Total => (row.total, row.own),
                Self::Own => (row.own, row.total),
            };
            (Reverse((by.weight, then.weight)), row.group)
        });
    }
}
