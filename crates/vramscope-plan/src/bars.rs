//! The bars from ideal to real: the known ones, and the bytes that each adds.

use super::plan::StepKind;

/// The known bars in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Bars {
    pub(super) requested: u64,
    /// Peak of live aligned bytes, and the sum of the peaks of all pools and streams; `None` until known. Without them no
    /// later bar is shown.
    pub(super) aligned: Option<(u64, u64)>,
    /// Sum of the packings of all problems; `None` until all have one.
    pub(super) packed: Option<u64>,
    /// Peaks of the allocator model, from empty and from the recorded start; `None` without a model, or before it has run.
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
                bars.push((StepKind::Caching, from_empty));
                // Memory from before cannot be negative: a model that needs less from the recorded start than from empty is
                // wrong by that difference.
                bars.extend((from_start >= from_empty).then_some((StepKind::Before, from_start)));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_from_before_is_no_less_than_nothing() {
        let steps = |modelled| {
            let bars = Bars {
                requested: 25,
                aligned: Some((25, 25)),
                packed: Some(26),
                modelled: Some(modelled),
                reserved: Some(32),
            };
            let steps = bars.steps().into_iter().skip(4);
            steps
                .map(|(kind, _, change)| (kind, change))
                .collect::<Vec<_>>()
        };
        use StepKind::{Before, Caching, Model};
        assert_eq!(steps((30, 31)), [(Caching, 4), (Before, 1), (Model, 1)]);
        assert_eq!(steps((34, 32)), [(Caching, 8), (Model, -2)]);
    }
}
