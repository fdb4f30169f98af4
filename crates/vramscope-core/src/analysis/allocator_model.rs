//! PyTorch's caching allocator as a model: a recorded trace is run through it again, with its own settings or others.

use super::allocator_state::Recording;
use crate::Snapshot;

/// What the allocator is told, in its own words (`PYTORCH_CUDA_ALLOC_CONF`).
#[derive(Clone, PartialEq, Debug)]
pub struct ModelSettings {
    /// `expandable_segments`: segments grow page by page.
    pub expandable_segments: bool,
    /// `max_split_size`: larger blocks are not split; `None` = no limit.
    pub max_split_bytes: Option<u64>,
    /// `max_non_split_rounding_mb`, in bytes: how much larger than a request an unsplittable block may be.
    pub max_non_split_rounding_bytes: u64,
    /// `roundup_power2_divisions` per power of two from 1 MiB to 64 GiB; 0 = off.
    pub roundup_power2_divisions: [u64; 16],
    /// `garbage_collection_threshold`; 0 = never.
    pub garbage_collection_threshold: f64,
    /// `large_segment_size_mb`, in bytes: what is asked of CUDA for requests between 1 and 10 MiB.
    pub large_segment_bytes: u64,
    /// Bytes that may be reserved; `None` = no limit.
    pub capacity_bytes: Option<u64>,
}

impl Default for ModelSettings {
    fn default() -> Self {
        Self {
            expandable_segments: false,
            max_split_bytes: None,
            max_non_split_rounding_bytes: 20 << 20,
            roundup_power2_divisions: [0; 16],
            garbage_collection_threshold: 0.0,
            large_segment_bytes: 20 << 20,
            capacity_bytes: None,
        }
    }
}

impl ModelSettings {
    /// The settings that a file says it was recorded with, as far as the model knows them.
    #[must_use]
    pub fn of(_snapshot: &Snapshot) -> Self {
        Self::default()
    }
}

/// From what a replay starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
    /// The segments and blocks that were there when the recording began: to check the model.
    AsRecorded,
    /// An empty allocator, which is first asked for what was live when the recording began: to compare
    /// settings.
    Afresh,
}

/// A request that the modelled allocator refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refused {
    /// The moment that begins with it.
    pub moment: u32,
    /// Requested bytes.
    pub bytes: u64,
}

/// What the model held.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Outcome {
    /// Bytes of all segments, as steps: (first moment, bytes from then on), ascending; the first is moment 0.
    pub reserved_steps: Vec<(u32, u64)>,
    /// The most reserved, and the first moment of it.
    pub peak_reserved_bytes: u64,
    /// See `peak_reserved_bytes`.
    pub peak_moment: u32,
    /// Bytes of free blocks at that moment.
    pub free_bytes_at_peak: u64,
    /// Bytes by which blocks are larger than what was asked for, at that moment.
    pub rounding_bytes_at_peak: u64,
    /// Requests that were refused, oldest first; what follows in the trace goes on without them.
    pub refused: Vec<Refused>,
    /// How often cached segments were given back to CUDA because memory was short.
    pub retries: u64,
}

/// Runs one device's trace through the model.
#[must_use]
pub fn replay(_recording: Recording<'_>, _settings: &ModelSettings, _start: Start) -> Outcome {
    Outcome::default()
}
