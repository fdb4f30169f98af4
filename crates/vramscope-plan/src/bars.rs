//! The bars from ideal to real: the known ones, and the bytes that each adds.

use super::plan::StepKind;

/// The known bars in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Bars {
    /// Peak of live requested bytes.
    pub(super) requested: u64,
    /// Peak of live aligned bytes, and the sum of those of all pools and streams; `None` until they are known. Without them
    /// no later bar is shown.
    pub(super) aligned: Option<(u64, u64)>,
    /// Sum of the packings of all problems; `None` until all have one.
    pub(super) packed: Option<u64>,
    /// Peaks of the allocator model, from empty and from the recorded start; `None` without a model, or before it has
    /// run.
    pub(super) modelled: Option<(u64, u64)>,
    /// Peak of the bytes really reserved; `None` if unknown.
    pub(super) reserved: Option<u64>,
}

impl Bars {
    /// The known bars in order: kind, bytes, difference to the bar before.
    ///
    /// Bytes are capped at `i64::MAX`, so that the differences add up whatever a file claims.
    pub(super) fn steps(&self) -> Vec<(StepKind, u64, i64)> {
        let mut bars = vec![(StepKind::Requested, self.requested)];
        if let Some((aligned, separate)) = self.aligned {
            bars.extend([
                (StepKind::Alignment, aligned),
                (StepKind::Separation, separate),
            ]);
            bars.extend(self.packed.map(|bytes| (StepKind::Placement, bytes)));
            let modelled = self.packed.and(self.modelled);
            if let Some((from_empty, from_start)) = modelled {
                bars.extend([
                    (StepKind::Caching, from_empty),
                    (StepKind::Before, from_start),
                ]);
            }
            let last = match modelled {
                Some(_) => StepKind::Model,
                None => StepKind::Kept,
            };
            bars.extend(self.reserved.map(|bytes| (last, bytes)));
        }
        let mut before = 0;
        bars.into_iter()
            .map(|(kind, bytes)| {
                let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
                let change = bytes - before;
                before = bytes;
                (kind, bytes.unsigned_abs(), change)
            })
            .collect()
    }
}
