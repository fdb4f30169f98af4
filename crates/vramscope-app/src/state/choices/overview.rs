//! What was chosen in the overview.

use serde::{Deserialize, Serialize};

/// What was chosen in the overview; kept in the address.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct OverviewChoices {}
