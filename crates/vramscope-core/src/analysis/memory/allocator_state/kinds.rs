//! Sums over a state's segments by pool, stream and size class, separately for expandable segments.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{AllocatorState, SizeClass, StateSums};
use crate::model::PoolId;
use crate::sorting::SortFew;

/// The segments that can serve the same requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SegmentKind {
    /// The memory pool; `None` if unknown.
    pub pool: Option<PoolId>,
    /// The stream's handle, a `cudaStream_t` as a number.
    pub stream: i64,
    /// The size of the requests they serve; `None` if unknown.
    pub size_class: Option<SizeClass>,
    /// Whether they are expandable segments.
    pub is_expandable: bool,
    /// The sums over these segments.
    pub sums: StateSums,
}

/// Sums a state's segments by kind, most reserved bytes first.
#[must_use]
pub fn segment_kinds(state: &AllocatorState) -> Vec<SegmentKind> {
    let mut kinds: BTreeMap<_, StateSums> = BTreeMap::new();
    for segment in &state.segments {
        let key = (
            segment.pool,
            segment.stream,
            segment.size_class,
            segment.is_expandable,
        );
        kinds.entry(key).or_default().add(&segment.sums);
    }
    let kinds =
        kinds.into_iter().map(
            |((pool, stream, size_class, is_expandable), sums)| SegmentKind {
                pool,
                stream,
                size_class,
                is_expandable,
                sums,
            },
        );
    let mut kinds: Vec<_> = kinds.collect();
    kinds.sort_few_by_key(|kind| std::cmp::Reverse(kind.sums.reserved_bytes));
    kinds
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::recording::Recording;

    const FILE: &[u8] =
        include_bytes!("../../../../../../tests/fixtures/torch-2.15.0/private_pools.pickle");

    #[test]
    fn kinds_add_up_to_the_state() {
        let recording = Recording::of(crate::decode(FILE).unwrap());
        let device = recording.device(0).unwrap();
        let state = device.state_at(device.history.event_count);
        let kinds = segment_kinds(&state);
        let mut sum = StateSums::default();
        kinds.iter().for_each(|kind| sum.add(&kind.sums));
        assert_eq!(sum, state.total);
        let pools: std::collections::BTreeSet<_> = kinds.iter().map(|kind| kind.pool).collect();
        assert!(pools.len() > 1 && kinds.len() >= state.groups.len());
    }
}
