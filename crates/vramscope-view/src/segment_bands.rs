//! The columns of the segment timeline. A row is a part of a segment.

use vramscope_core::analysis::memory::segment_history::SegmentHistory;
use vramscope_core::analysis::time::history::{History, NEVER};

use crate::raster::{Bands, TimelineIndex, Totals};

/// Columns for drawing segments that [`SegmentHistory`] does not have.
#[derive(Clone, Debug)]
pub struct SegmentBands {
    /// One [`NEVER`] per row: segments have no pending frees.
    never: Vec<u32>,
    /// Number of moments, and reserved bytes as steps.
    moments: usize,
    steps: Vec<(u32, u64)>,
    /// The segment timeline's index.
    pub index: TimelineIndex,
}

impl SegmentBands {
    /// The columns of a device's segments.
    #[must_use]
    pub fn of(segments: &SegmentHistory, history: &History) -> Self {
        let (moments, steps) = (history.active_bytes.len(), segments.reserved_steps());
        let never = vec![NEVER; segments.len()];
        let bands = Bands {
            born: &segments.born,
            died: &segments.died,
            free_requested: &never,
            bytes: &segments.bytes,
            total_bytes: Totals::Steps(moments, &steps),
            moment_start_us: None,
        };
        let index = TimelineIndex::new(&bands);
        Self {
            never,
            moments,
            steps,
            index,
        }
    }

    /// The segments as bands, on the time axis of `axis`, another stack of the same device.
    #[must_use]
    pub fn bands<'a>(&'a self, segments: &'a SegmentHistory, axis: Bands<'a>) -> Bands<'a> {
        Bands {
            born: &segments.born,
            died: &segments.died,
            free_requested: &self.never,
            bytes: &segments.bytes,
            total_bytes: Totals::Steps(self.moments, &self.steps),
            ..axis
        }
    }
}
