//! What was chosen in the timeline, beside its picture.

use serde::{Deserialize, Serialize};

/// What was chosen in the timeline, beside its picture; kept in the address.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LanesChoices {}
