//! The bars from ideal to real: which are known, and what each adds.

use super::StepKind;

/// The bars by now, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Bars {
    /// The most requested bytes live at once.
    pub(super) requested: u64,
    /// The same of blocks.
    pub(super) rounded: u64,
    /// What all places need, each by itself.
    pub(super) separate: u64,
    /// What all places' packings need; `None` = not all have one yet.
    pub(super) packed: Option<u64>,
    /// The peaks of the allocator's model, from empty and from the recorded start; `None` = there is none, or not yet.
    pub(super) modelled: Option<(u64, u64)>,
    /// The most that was really reserved; `None` = not known.
    pub(super) reserved: Option<u64>,
}

impl Bars {
    /// The bars that can be shown, in their order: kind, bytes and what is added.
    ///
    /// None is beyond what a difference can hold, so that differences add up whatever a file says.
    pub(super) fn steps(&self) -> Vec<(StepKind, u64, i64)> {
        let mut bars = vec![
            (StepKind::Requested, self.requested),
            (StepKind::Rounding, self.rounded),
            (StepKind::Separation, self.separate),
        ];
        bars.extend(self.packed.map(|bytes| (StepKind::Placement, bytes)));
        let modelled = self.packed.and(self.modelled);
        if let Some((from_empty, from_start)) = modelled {
            bars.extend([
                (StepKind::Caching, from_empty),
                (StepKind::Before, from_start),
            ]);
        }
        let last = if modelled.is_some() {
            StepKind::Model
        } else {
            StepKind::Kept
        };
        bars.extend(self.reserved.map(|bytes| (last, bytes)));
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
