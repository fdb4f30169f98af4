//! What was chosen in the comparison.

use serde::{Deserialize, Serialize};

/// What was chosen in the comparison; kept in the address.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CompareChoices {}
