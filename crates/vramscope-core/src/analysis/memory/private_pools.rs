//! Reserved and active memory of each private pool over time.
//!
//! A CUDA graph or a `MemPool` has segments of its own, whose free memory nothing else can use. The default pool is not
//! listed: it is the rest of the total. If there are very many pools, only the largest are listed one by one.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::segment_history::SegmentHistory;
use super::streams_and_pools;
use crate::Snapshot;
use crate::analysis::time::byte_steps::{ByteChanges, bytes_at, most_bytes};
use crate::analysis::time::history::History;
use crate::model::PoolId;
use crate::sorting::SortFew;

/// Maximum number of pools listed one by one, counted by pool and stream. The timeline draws each over its whole width.
pub const MAX_POOLS: usize = 32;

/// A private pool on one stream, or all that are not among the largest. Steps are (first moment, bytes from then on),
/// ascending; before the first step there are 0 bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PoolUse {
    /// The memory pool; `None` for the sum of all pools beyond the [`MAX_POOLS`] largest.
    pub pool: Option<PoolId>,
    /// The stream's handle, a `cudaStream_t` as a number; 0 for the sum of several pools.
    pub stream: i64,
    /// Bytes of the pool's segments.
    pub reserved_steps: Vec<(u32, u64)>,
    /// Requested bytes of the pool's live allocations, including those pending free.
    pub active_steps: Vec<(u32, u64)>,
}

impl PoolUse {
    /// Bytes of the pool's segments at a moment.
    #[must_use]
    pub fn reserved_bytes(&self, moment: u32) -> u64 {
        bytes_at(&self.reserved_steps, moment)
    }

    /// Requested bytes of the pool's live allocations at a moment.
    #[must_use]
    pub fn active_bytes(&self, moment: u32) -> u64 {
        bytes_at(&self.active_steps, moment)
    }
}

#[derive(Default)]
struct Changes {
    reserved: ByteChanges,
    active: ByteChanges,
}

impl Changes {
    fn highest_reserved_bytes(&self) -> u64 {
        most_bytes(&self.reserved.clone().steps())
    }

    fn add(&mut self, other: Self) {
        self.reserved.append(other.reserved);
        self.active.append(other.active);
    }

    fn into_use(self, pool: Option<PoolId>, stream: i64) -> PoolUse {
        PoolUse {
            pool,
            stream,
            reserved_steps: self.reserved.steps(),
            active_steps: self.active.steps(),
        }
    }
}

/// Reserved and active memory by pool and stream; `segments` must belong to `history`. The [`MAX_POOLS`] with the
/// highest reserved peaks are listed one by one, in the order of pool and stream. The sum of the others, if any, comes
/// last.
#[must_use]
pub fn private_pools(
    snapshot: &Snapshot,
    history: &History,
    segments: &SegmentHistory,
) -> Vec<PoolUse> {
    let private = |pool: Option<PoolId>| pool.filter(|pool| pool.is_private());
    let mut changes: BTreeMap<(PoolId, i64), Changes> = BTreeMap::new();
    for segment in &segments.segments {
        let Some(pool) = private(segment.pool) else {
            continue;
        };
        let own = changes.entry((pool, segment.stream)).or_default();
        for piece in segment.rows() {
            let (born, died) = (segments.born[piece], segments.died[piece]);
            own.reserved.add((born, died, segments.bytes[piece]));
        }
    }
    let names_pools = snapshot
        .contexts
        .rows()
        .iter()
        .any(|row| private(row.pool).is_some());
    if changes.is_empty() && !names_pools {
        return Vec::new();
    }
    let pools =
        streams_and_pools::few_values(snapshot, history, |row| row.pool, |segment| segment.pool);
    let streams = streams_and_pools::few_values(
        snapshot,
        history,
        |row| Some(row.stream),
        |segment| segment.stream,
    );
    let table = &history.allocations;
    for (row, (&pool, &stream)) in pools.iter().zip(&streams).enumerate() {
        let Some(pool) = private(pool) else { continue };
        let own = changes.entry((pool, stream.unwrap_or(0))).or_default();
        let (born, died) = (table.born[row], table.died[row]);
        own.active.add((born, died, table.bytes[row]));
    }
    let mut places: Vec<_> = changes.into_iter().collect();
    let mut others = Vec::new();
    if places.len() > MAX_POOLS {
        places.sort_by_cached_key(|(_, changes)| Reverse(changes.highest_reserved_bytes()));
        others = places.split_off(MAX_POOLS);
        places.sort_few_by_key(|&(place, _)| place);
    }
    let mut uses: Vec<_> = places
        .into_iter()
        .map(|((pool, stream), changes)| changes.into_use(Some(pool), stream))
        .collect();
    if !others.is_empty() {
        let mut sum = Changes::default();
        for (_, changes) in others {
            sum.add(changes);
        }
        uses.push(sum.into_use(None, 0));
    }
    uses
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode;

    fn uses(file: &str) -> Vec<PoolUse> {
        let snapshot = decode(file.as_bytes()).unwrap();
        let history = History::of(&snapshot, 0);
        private_pools(
            &snapshot,
            &history,
            &SegmentHistory::of(&snapshot, &history),
        )
    }

    #[test]
    fn each_pool_and_stream_over_time() {
        let found = uses(
            r#"{"segments": [
            {"device": 0, "address": 4096, "total_size": 4096, "stream": 7, "segment_pool_id": [0, 1], "blocks": [
                {"address": 4096, "size": 4096, "requested_size": 4000, "state": "active_allocated"}]},
            {"device": 0, "address": 16384, "total_size": 4096, "stream": 0, "segment_pool_id": [0, 0], "blocks": [
                {"address": 16384, "size": 4096, "requested_size": 0, "state": "inactive"}]}],
            "device_traces": [[
            {"action": "segment_alloc", "addr": 16384, "size": 4096, "stream": 0},
            {"action": "alloc", "addr": 16384, "size": 500, "stream": 0},
            {"action": "segment_alloc", "addr": 4096, "size": 4096, "stream": 7},
            {"action": "alloc", "addr": 4096, "size": 1000, "stream": 7},
            {"action": "free_completed", "addr": 4096, "size": 1000, "stream": 7},
            {"action": "alloc", "addr": 4096, "size": 4000, "stream": 7}]]}"#,
        );
        assert_eq!(found.len(), 1, "the default pool is left out");
        let pool = &found[0];
        assert_eq!((pool.pool, pool.stream), (Some(PoolId(0, 1)), 7));
        let at = |moment| (pool.reserved_bytes(moment), pool.active_bytes(moment));
        let expected = [
            (0, 0),
            (0, 0),
            (0, 0),
            (4096, 0),
            (4096, 1000),
            (4096, 0),
            (4096, 4000),
        ];
        assert_eq!([0, 1, 2, 3, 4, 5, 6].map(at), expected);
    }

    #[test]
    fn beyond_the_largest_pools_are_one() {
        let pools = 1..=MAX_POOLS + 8;
        let segments: Vec<_> = pools
            .map(|pool| {
                let (address, bytes) = (pool << 20, pool * 512);
                format!(
                    r#"{{"device": 0, "address": {address}, "total_size": {bytes}, "stream": 0,
                    "segment_pool_id": [0, {pool}], "blocks": [{{"address": {address}, "size": {bytes},
                    "requested_size": {bytes}, "state": "active_allocated"}}]}}"#
                )
            })
            .collect();
        let found = uses(&format!(
            r#"{{"segments": [{}], "device_traces": [[]]}}"#,
            segments.join(",")
        ));
        let largest = 9..=MAX_POOLS as u64 + 8;
        let expected: Vec<_> = largest.map(|pool| Some(PoolId(0, pool))).collect();
        let (others, shown) = found.split_last().unwrap();
        assert_eq!(shown.iter().map(|of| of.pool).collect::<Vec<_>>(), expected);
        let bytes = (1..=8).sum::<u64>() * 512;
        assert_eq!(others.pool, None);
        assert_eq!(
            (others.reserved_bytes(0), others.active_bytes(0)),
            (bytes, bytes)
        );
    }

    #[test]
    fn without_private_pools_there_is_nothing() {
        let found = uses(
            r#"{"segments": [{"device": 0, "address": 4096, "total_size": 4096, "blocks": []}],
            "device_traces": [[{"action": "alloc", "addr": 4096, "size": 9, "stream": 0}]]}"#,
        );
        assert_eq!(found, []);
    }
}
