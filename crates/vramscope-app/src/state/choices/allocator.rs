//! What was chosen in the view of the allocator.

use serde::{Deserialize, Serialize};

/// What was chosen in the view of the allocator; kept in the address.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct AllocatorChoices {}
