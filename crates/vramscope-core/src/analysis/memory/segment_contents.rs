//! The contents of one segment at one moment.

use super::segment_history::{SegmentHistory, SegmentLife};
use crate::analysis::time::history::History;
use crate::sorting::SortFew;

/// The contents of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SegmentContents {
    /// Mapped bytes of the segment.
    pub mapped_bytes: u64,
    /// Number of live allocations that begin in it, including those pending free.
    pub allocations: u64,
    /// Requested bytes of those allocations.
    pub requested_bytes: u64,
    /// The largest mapped range without requested bytes. Rounding counts as free.
    pub largest_free_bytes: u64,
}

impl SegmentContents {
    /// Computes the contents of `segment` at a moment, going over all allocations.
    #[must_use]
    pub fn at(
        history: &History,
        segments: &SegmentHistory,
        segment: &SegmentLife,
        moment: u32,
    ) -> Self {
        let table = &history.allocations;
        let range = segment.address..segment.end();
        let mut contents = Self::default();
        let mut edges = Vec::new();
        for piece in segment.rows() {
            if segments.born[piece] <= moment && moment < segments.died[piece] {
                let (start, bytes) = (segments.address[piece], segments.bytes[piece]);
                contents.mapped_bytes = contents.mapped_bytes.saturating_add(bytes);
                edges.push((start, Edge::Mapped(1)));
                edges.push((start.saturating_add(bytes), Edge::Mapped(-1)));
            }
        }
        for row in 0..table.len() {
            let is_live = table.born[row] <= moment && moment < table.died[row];
            if is_live && range.contains(&table.address[row]) {
                let (start, bytes) = (table.address[row], table.bytes[row]);
                contents.allocations += 1;
                contents.requested_bytes = contents.requested_bytes.saturating_add(bytes);
                edges.push((start, Edge::Used(1)));
                edges.push((start.saturating_add(bytes), Edge::Used(-1)));
            }
        }
        contents.largest_free_bytes = largest_free(edges);
        contents
    }
}

/// The change of the number of mapped pieces or allocations at an address.
enum Edge {
    Mapped(i64),
    Used(i64),
}

fn largest_free(mut edges: Vec<(u64, Edge)>) -> u64 {
    edges.sort_few_by_key(|&(address, _)| address);
    let (mut mapped, mut used) = (0, 0);
    let (mut free_from, mut largest) = (None, 0);
    let mut edges = edges.into_iter().peekable();
    while let Some((address, edge)) = edges.next() {
        match edge {
            Edge::Mapped(change) => mapped += change,
            Edge::Used(change) => used += change,
        }
        if edges.peek().is_some_and(|next| next.0 == address) {
            continue;
        }
        if mapped > 0 && used <= 0 {
            free_from.get_or_insert(address);
        } else if let Some(from) = free_from.take() {
            largest = largest.max(address - from);
        }
    }
    largest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode;

    #[test]
    fn what_lies_between_is_free() {
        let file = r#"{"segments": [{"device": 0, "address": 1000, "total_size": 100, "stream": 0,
            "is_expandable": true, "blocks": []}], "device_traces": [[
            {"action": "segment_map", "addr": 1000, "size": 50, "stream": 0},
            {"action": "alloc", "addr": 1000, "size": 10, "stream": 0},
            {"action": "alloc", "addr": 1030, "size": 10, "stream": 0},
            {"action": "segment_map", "addr": 1050, "size": 50, "stream": 0},
            {"action": "free_completed", "addr": 1000, "size": 10, "stream": 0}]]}"#;
        let snapshot = decode(file.as_bytes()).unwrap();
        let history = History::of(&snapshot, 0);
        let segments = SegmentHistory::of(&snapshot, &history);
        let at = |moment| {
            let found = SegmentContents::at(&history, &segments, &segments.segments[0], moment);
            let SegmentContents {
                mapped_bytes,
                allocations,
                requested_bytes,
                largest_free_bytes,
            } = found;
            (
                mapped_bytes,
                allocations,
                requested_bytes,
                largest_free_bytes,
            )
        };
        assert_eq!(at(0), (0, 0, 0, 0));
        assert_eq!(at(1), (50, 0, 0, 50));
        assert_eq!(at(3), (50, 2, 20, 20));
        assert_eq!(at(4), (100, 2, 20, 60), "across both pieces");
        assert_eq!(at(5), (100, 1, 10, 60));
    }
}
