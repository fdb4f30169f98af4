//! What was chosen in the flame graph.

use serde::{Deserialize, Serialize};

/// What was chosen in the flame graph; kept in the address.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FlameChoices {}
