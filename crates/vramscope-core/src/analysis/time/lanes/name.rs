//! What a range is called.

use serde::{Deserialize, Serialize};

use crate::analysis::time::phase::Phase;
use crate::ids::StringId;
use crate::model::StringTable;

/// The name of a range: a text of the file, or our word for what was inferred.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RangeName {
    /// The program's own name.
    Recorded(StringId),
    /// An inferred phase.
    Phase(Phase),
    /// An inferred step.
    Step,
}

impl RangeName {
    /// The text, of a recorded name from the file's `strings`.
    #[must_use]
    pub fn text(self, strings: &StringTable) -> &str {
        match self {
            Self::Recorded(name) => strings.get(name),
            Self::Phase(phase) => phase.word(),
            Self::Step => "step",
        }
    }
}
