//! Sums over the final state in the file, by pool, stream and size class. A request can only be served from segments of
//! its own pool, stream and size class.
//!
//! The file's sizes are taken as they are. [`allocator_state`](super::allocator_state) computes the state at any
//! moment.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::allocator_state::{SizeClass, StateSums};
use crate::Snapshot;
use crate::model::{BlockState, DeviceIndex, PoolId, Segment};
use crate::sorting::SortFew;

/// The segments of one pool, stream and size class.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SegmentGroup {
    /// The memory pool; `None` in files from before torch 2.1.
    pub pool: Option<PoolId>,
    /// The stream's handle, a `cudaStream_t` as a number.
    pub stream: i64,
    /// The size of the requests they serve; `None` if the file does not say.
    pub size_class: Option<SizeClass>,
    /// The sums over these segments.
    pub sums: StateSums,
}

/// Sums a device's segments by pool, stream and size class, most reserved bytes first.
#[must_use]
pub fn segment_groups(snapshot: &Snapshot, device: DeviceIndex) -> Vec<SegmentGroup> {
    let mut groups: BTreeMap<_, StateSums> = BTreeMap::new();
    for segment in own_segments(snapshot, device) {
        let place = (
            segment.pool,
            segment.stream.unwrap_or(0),
            SizeClass::of_kind(segment.kind),
        );
        let sums = groups.entry(place).or_default();
        sums.add(&segment_sums(snapshot, segment));
    }
    let groups = groups.into_iter();
    let groups = groups.map(|((pool, stream, size_class), sums)| SegmentGroup {
        pool,
        stream,
        size_class,
        sums,
    });
    let mut groups: Vec<_> = groups.collect();
    groups.sort_few_by_key(|group| Reverse(group.sums.reserved_bytes));
    groups
}

/// The segments of a device in the order of the file.
pub fn own_segments(snapshot: &Snapshot, device: DeviceIndex) -> impl Iterator<Item = &Segment> {
    let rows = snapshot.segments.rows.iter();
    rows.filter(move |segment| u32::try_from(segment.device) == Ok(device))
}

/// The sums over one segment's blocks. Memory outside of active blocks is free, in as few pieces as possible: the
/// allocator merges free neighbours, and so the sums add up whatever a file says.
#[must_use]
pub fn segment_sums(snapshot: &Snapshot, segment: &Segment) -> StateSums {
    let mut sums = StateSums {
        reserved_bytes: segment.total_size,
        segments: 1,
        ..StateSums::default()
    };
    let mut covered = Vec::new();
    for block in segment.block_ids().map(|id| snapshot.blocks.get(id)) {
        let (bytes, blocks) = match block.state {
            BlockState::ActiveAllocated => (&mut sums.allocated_bytes, &mut sums.allocated_blocks),
            BlockState::ActivePendingFree => (&mut sums.pending_bytes, &mut sums.pending_blocks),
            BlockState::Inactive | BlockState::Other(_) => {
                sums.free_blocks += 1;
                continue;
            }
        };
        *bytes = bytes.saturating_add(block.size);
        *blocks += 1;
        let requested = snapshot.blocks.requested_bytes(block);
        sums.requested_bytes = sums.requested_bytes.saturating_add(requested);
        covered.push((block.address, block.address.saturating_add(block.size)));
    }
    (sums.free_bytes, sums.largest_free_bytes) = free(segment, covered);
    if sums.allocated_blocks + sums.pending_blocks == 0 {
        sums.empty_segments = 1;
        sums.empty_bytes = segment.total_size;
    }
    sums
}

/// Bytes of a segment outside these address ranges: of all pieces, and of the largest piece.
fn free(segment: &Segment, mut covered: Vec<(u64, u64)>) -> (u64, u64) {
    covered.sort_few_by(Ord::cmp);
    let segment_end = segment.address.saturating_add(segment.total_size);
    covered.push((segment_end, segment_end));
    let (mut bytes, mut largest, mut place) = (0, 0, segment.address);
    for (start, end) in covered {
        let piece = start.min(segment_end).saturating_sub(place);
        bytes += piece;
        largest = piece.max(largest);
        place = place.max(end);
    }
    (bytes, largest)
}

/// Divides a segment into `cells` equal parts, and returns the share of each that active blocks cover, 0 to 1.
#[must_use]
pub fn fill(snapshot: &Snapshot, segment: &Segment, cells: u32) -> Vec<f64> {
    let width = segment.total_size as f64 / f64::from(cells.max(1));
    let mut shares = vec![0.0; cells as usize];
    if segment.total_size == 0 {
        return shares;
    }
    for block in segment.block_ids().map(|id| snapshot.blocks.get(id)) {
        if !block.state.is_active() {
            continue;
        }
        let start = block.address.saturating_sub(segment.address) as f64 / width;
        let end = start + block.size as f64 / width;
        let first = start as usize;
        // In a damaged file, blocks may be anywhere.
        for (cell, share) in shares.iter_mut().enumerate().skip(first) {
            let overlap = end.min(cell as f64 + 1.0) - start.max(cell as f64);
            if overlap <= 0.0 {
                break;
            }
            *share = (*share + overlap).min(1.0);
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode;

    #[test]
    fn by_pool_stream_and_size_class() {
        let snapshot = decode(
            &br#"{"segments": [
            {"device": 0, "address": 4096, "total_size": 4096, "stream": 7, "segment_type": "large",
             "segment_pool_id": [0, 1], "blocks": [
                {"address": 4096, "size": 1024, "requested_size": 1000, "state": "active_allocated"},
                {"address": 5120, "size": 1024, "requested_size": 1001, "state": "active_pending_free"},
                {"address": 6144, "size": 512, "requested_size": 9999, "state": "inactive"},
                {"address": 6656, "size": 1536, "requested_size": 0, "state": "inactive"}]},
            {"device": 0, "address": 16384, "total_size": 512, "stream": 0, "segment_type": "small",
             "segment_pool_id": [0, 0], "blocks": [
                {"address": 16384, "size": 512, "requested_size": 0, "state": "inactive"}]},
            {"device": 1, "address": 32768, "total_size": 512, "stream": 0, "blocks": []}],
            "device_traces": []}"#[..],
        )
        .unwrap();
        let groups = segment_groups(&snapshot, 0);
        assert_eq!(groups.len(), 2);
        let first = &groups[0];
        assert_eq!(
            (first.pool, first.stream, first.size_class),
            (Some(PoolId(0, 1)), 7, Some(SizeClass::Large))
        );
        let sums = first.sums;
        assert_eq!(
            (
                sums.reserved_bytes,
                sums.allocated_bytes,
                sums.pending_bytes,
                sums.free_bytes
            ),
            (4096, 1024, 1024, 2048)
        );
        assert_eq!((sums.rounding_bytes(), sums.largest_free_bytes), (47, 2048));
        assert_eq!(groups[1].sums.empty_bytes, 512);
        assert_eq!(
            fill(&snapshot, &snapshot.segments.rows[0], 3),
            [1.0, 0.5, 0.0]
        );
        assert_eq!(segment_groups(&snapshot, 1)[0].size_class, None);
    }
}
