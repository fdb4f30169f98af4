//! Names of ranges.

use serde::{Deserialize, Serialize};

use crate::analysis::time::phase::Phase;
use crate::ids::StringId;
use crate::model::StringTable;

/// The name of a range: a text of the file, or our word for an inferred range.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RangeName {
    /// A name given by the program.
    Recorded(StringId),
    /// An inferred phase.
    Phase(Phase),
    /// An inferred step.
    Step,
}

impl RangeName {
    /// The text. Recorded names are looked up in the file's `strings`.
    #[must_use]
    pub fn text(self, strings: &StringTable) -> &str {
        match self {
            Self::Recorded(name) => strings.get(name),
            Self::Phase(phase) => phase.word(),
            Self::Step => "step",
        }
    }
}
