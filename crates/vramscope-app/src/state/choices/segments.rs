//! What was chosen in the segment timeline and the map.

use serde::{Deserialize, Serialize};

/// What was chosen in the segment timeline and the map; kept in the address.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SegmentsChoices {}
