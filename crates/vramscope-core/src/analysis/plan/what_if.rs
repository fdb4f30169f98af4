//! What the allocator would have reserved under other settings, beside the same replay under the file's own.
//!
//! A comparison is only as good as the model: it stands beside what the model gets wrong of the recording itself, and
//! where that is too much, or there is nothing to compare with, there is none.

use serde::{Deserialize, Serialize};

use crate::analysis::allocator_model::Outcome;

/// One replay of a recording, from an empty allocator.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct WhatIf {
    /// What is changed, as the user or the list has it: `expandable_segments:True`; empty for the file's own settings.
    pub changes: String,
    /// All settings that differ from torch's defaults, as `PYTORCH_CUDA_ALLOC_CONF` has them.
    pub settings: String,
    /// The most reserved.
    pub peak_reserved_bytes: u64,
    /// The first moment of it.
    pub peak_moment: u32,
    /// The peak less that under the file's own settings.
    pub change_bytes: i64,
    /// Bytes of free blocks at that moment.
    pub free_bytes_at_peak: u64,
    /// Bytes by which blocks are larger than what was asked for, at that moment.
    pub rounding_bytes_at_peak: u64,
    /// Requests that are refused.
    pub refused: u64,
    /// The first of them: the moment that begins with it, and its bytes.
    pub first_refused: Option<(u32, u64)>,
    /// Requests for which cached segments were given back to CUDA because memory was short.
    pub retries: u64,
    /// Bytes of all segments, as steps: (first moment, bytes from then on), ascending; the first is moment 0.
    pub reserved_steps: Vec<(u32, u64)>,
}

impl WhatIf {
    /// From a replay; `own_peak_bytes`: the peak under the file's own settings.
    #[must_use]
    pub fn of(changes: &str, settings: String, outcome: Outcome, own_peak_bytes: u64) -> Self {
        let first = outcome.refused.first();
        Self {
            changes: changes.to_owned(),
            settings,
            peak_reserved_bytes: outcome.peak_reserved_bytes,
            peak_moment: outcome.peak_moment,
            change_bytes: crate::analysis::compare::delta(
                own_peak_bytes,
                outcome.peak_reserved_bytes,
            ),
            free_bytes_at_peak: outcome.free_bytes_at_peak,
            rounding_bytes_at_peak: outcome.rounding_bytes_at_peak,
            refused: outcome.refused.len() as u64,
            first_refused: first.map(|refused| (refused.moment, refused.bytes)),
            retries: outcome.retries,
            reserved_steps: outcome.reserved_steps,
        }
    }
}

/// How far the model can be trusted on one recording: its replay from the recorded start against the recording.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ModelError {
    /// The most that the model reserved.
    pub modelled_bytes: u64,
    /// The most that was really reserved.
    pub reserved_bytes: u64,
    /// The first less the second.
    pub error_bytes: i64,
}

/// What what-ifs of one device are compared with.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Baseline {
    /// The replay under the file's own settings, from an empty allocator.
    pub own: WhatIf,
    /// How far to trust it.
    pub error: ModelError,
    /// What bears on memory and is not modelled, as sentences.
    pub notes: Vec<String>,
    /// Settings worth a try: each the `changes` of a what-if.
    pub suggestions: Vec<String>,
}
