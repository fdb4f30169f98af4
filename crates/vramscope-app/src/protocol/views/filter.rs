//! What the search box asks.

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::selection::Moments;

/// What the words of a filter refer to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct FilterContext {
    /// The moment of the cursor.
    pub cursor: Option<u32>,
    /// The selected range.
    pub range: Option<Moments>,
}

/// A question.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Question {}

/// An answer.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {}
