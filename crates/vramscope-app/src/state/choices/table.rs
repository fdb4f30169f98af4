//! What was chosen in the table of allocations.

use serde::{Deserialize, Serialize};

/// What was chosen in the table of allocations; kept in the address.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TableChoices {}
