//! The summary of the final state by torch's `stats`: `segsum` of `_memory_viz.py`, docs/FORMAT.md 4.5.
//!
//! It has a bar for each segment of 20 MiB and more, in pages of 20 MiB. Blocks pending free count as free, and
//! rounding is the internal part of free memory. It does not check the file, and fails if blocks do not add up to their
//! segment. [`final_state`](crate::analysis::memory::final_state) is the better summary.

use std::fmt;

use crate::Snapshot;
use crate::analysis::memory::final_state::segment_sums;
use crate::model::{BlockState, Segment};
use crate::sorting::SortFew;

/// Bytes of a page. Also the minimum size of a segment with a bar.
pub const PAGE_BYTES: u64 = 20 << 20;

/// Maximum number of pages of all bars together: 20 TiB, more than any machine has.
const MAX_PAGES: u64 = 1 << 20;

/// torch's summary.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OfficialSummary {
    /// Segments of 20 MiB and more, smallest first.
    pub bars: Vec<Bar>,
    /// Number of segments.
    pub segments: usize,
    /// Bytes of all segments.
    pub reserved_bytes: u128,
    /// Requested bytes of allocated blocks.
    pub allocated_bytes: u128,
    /// The rest of the segments.
    pub free: Free,
}

/// The bar of a segment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bar {
    /// One character per page: a letter for a single block, a digit for the used share in tenths with several blocks,
    /// `*` if full.
    pub pages: String,
    /// Bytes of the segment.
    pub bytes: u64,
    /// Free memory of the segment.
    pub free: Free,
    /// Its stream's handle.
    pub stream: i64,
}

/// Free memory as torch counts it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Free {
    /// Bytes of blocks that are not allocated.
    pub external_bytes: u128,
    /// Bytes by which allocated blocks are larger than their requests.
    pub internal_bytes: u128,
}

impl Free {
    /// External plus internal bytes.
    #[must_use]
    pub fn bytes(self) -> u128 {
        self.external_bytes + self.internal_bytes
    }

    /// Internal bytes in percent; `None` if nothing is free.
    #[must_use]
    pub fn internal_percent(self) -> Option<f64> {
        let whole = self.bytes();
        (whole > 0).then(|| self.internal_bytes as f64 / whole as f64 * 100.0)
    }
}

/// Why torch cannot summarise a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoSummary {
    /// The blocks do not add up to their segment; an `AssertionError` in torch.
    SizeMismatch {
        /// Address of the segment.
        address: u64,
        /// Free memory according to its blocks.
        free: Free,
        /// Requested bytes of its allocated blocks.
        allocated_bytes: u128,
        /// Size of the segment in bytes.
        total_bytes: u64,
    },
    /// A segment is larger than any device.
    Huge {
        /// Address of the segment.
        address: u64,
        /// Size of the segment in bytes.
        total_bytes: u64,
    },
}

impl fmt::Display for NoSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SizeMismatch {
                address,
                free,
                allocated_bytes,
                total_bytes,
            } => write!(
                f,
                "Segment size mismatch: {} + {} + {allocated_bytes} != {total_bytes}, in the segment at {address:#x}",
                free.external_bytes, free.internal_bytes
            ),
            Self::Huge {
                address,
                total_bytes,
            } => write!(
                f,
                "the segment at {address:#x} claims to have {total_bytes} bytes"
            ),
        }
    }
}

/// Summarises the segments of all devices.
///
/// # Errors
/// If torch fails, too, or a segment is larger than any device.
pub fn official_summary(snapshot: &Snapshot) -> Result<OfficialSummary, NoSummary> {
    let segments = snapshot.segments.rows.iter();
    let with_sums = segments.map(|segment| (segment, segment_sums(snapshot, segment)));
    let mut segments: Vec<_> = with_sums.collect();
    segments.sort_few_by_key(|(segment, sums)| (segment.total_size, sums.allocated_bytes));
    let mut summary = OfficialSummary {
        segments: segments.len(),
        ..OfficialSummary::default()
    };
    let mut pages_left = MAX_PAGES;
    for (segment, _) in segments {
        let ranges = ranges(snapshot, segment)?;
        let allocated_bytes = ranges.in_use.iter().map(|&(_, bytes)| bytes).sum();
        let free = ranges.free;
        if free.bytes() + allocated_bytes != u128::from(segment.total_size) {
            return Err(NoSummary::SizeMismatch {
                address: segment.address,
                free,
                allocated_bytes,
                total_bytes: segment.total_size,
            });
        }
        summary.reserved_bytes += u128::from(segment.total_size);
        summary.allocated_bytes += allocated_bytes;
        summary.free.external_bytes += free.external_bytes;
        summary.free.internal_bytes += free.internal_bytes;
        if segment.total_size >= PAGE_BYTES {
            summary.bars.push(Bar {
                pages: pages(segment, &ranges.in_use, &mut pages_left)?,
                bytes: segment.total_size,
                free,
                stream: segment.stream.unwrap_or(0),
            });
        }
    }
    Ok(summary)
}

/// The blocks of a segment.
struct Ranges {
    /// Offset and requested bytes of allocated blocks.
    in_use: Vec<(u128, u128)>,
    free: Free,
}

fn ranges(snapshot: &Snapshot, segment: &Segment) -> Result<Ranges, NoSummary> {
    let mut ranges = Ranges {
        in_use: Vec::new(),
        free: Free::default(),
    };
    let mut offset = 0_u128;
    for block in segment.block_ids().map(|id| snapshot.blocks.get(id)) {
        if block.state == BlockState::ActiveAllocated {
            let requested = snapshot.blocks.requested_bytes(block);
            ranges.in_use.push((offset, u128::from(requested)));
            ranges.free.internal_bytes += u128::from(block.size.saturating_sub(requested));
        } else {
            ranges.free.external_bytes += u128::from(block.size);
        }
        offset += u128::from(block.size);
    }
    Ok(ranges)
}

/// The characters of a segment whose blocks cover it exactly. Subtracts their number from `pages_left`.
fn pages(
    segment: &Segment,
    in_use: &[(u128, u128)],
    pages_left: &mut u64,
) -> Result<String, NoSummary> {
    let count = segment.total_size.div_ceil(PAGE_BYTES);
    *pages_left = pages_left.checked_sub(count).ok_or(NoSummary::Huge {
        address: segment.address,
        total_bytes: segment.total_size,
    })?;
    let page_bytes = u128::from(PAGE_BYTES);
    let mut cells = vec![b' '; count as usize];
    let mut shares = vec![0.0_f64; count as usize];
    for (letter, &(start, bytes)) in (b'a'..=b'z').cycle().zip(in_use) {
        let end = start + bytes;
        let touched = (start / page_bytes) as usize..end.div_ceil(page_bytes) as usize;
        for page in touched {
            let first = page as u128 * page_bytes;
            let overlap = end.min(first + page_bytes) - start.max(first);
            shares[page] += overlap as f64 / PAGE_BYTES as f64;
            cells[page] = match cells[page] {
                b' ' => letter,
                _ => b"0123456789*"[((shares[page] * 10.0) as usize).min(10)],
            };
        }
    }
    Ok(cells.into_iter().map(char::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode;

    /// A segment of 60 MiB with blocks of these sizes in MiB; negative ones are pending free.
    fn summary(blocks: &[i64], requested_less: u64) -> Result<OfficialSummary, NoSummary> {
        let mut address = 0;
        let blocks: Vec<_> = blocks
            .iter()
            .map(|&mib| {
                let size = mib.unsigned_abs() << 20;
                let state = if mib > 0 {
                    "active_allocated"
                } else {
                    "active_pending_free"
                };
                let requested = size.wrapping_sub(requested_less);
                address += size;
                format!(r#"{{"size": {size}, "requested_size": {requested}, "state": "{state}"}}"#)
            })
            .collect();
        let file = format!(
            r#"{{"segments": [{{"device": 0, "address": 0, "total_size": {}, "stream": 7,
            "blocks": [{}]}}], "device_traces": []}}"#,
            60 << 20,
            blocks.join(",")
        );
        official_summary(&decode(file.as_bytes()).unwrap())
    }

    #[test]
    fn a_character_per_page() {
        let pages = |blocks: &[i64]| summary(blocks, 0).unwrap().bars.remove(0).pages;
        assert_eq!(pages(&[60]), "aaa");
        assert_eq!(pages(&[10, 10, -20, 20]), "* c");
        assert_eq!(pages(&[5, -10, 5, -40]), "5  ");
        assert_eq!(pages(&[-60]), "   ");
    }

    #[test]
    fn pending_counts_as_free_and_rounding_as_internal() {
        let summary = summary(&[20, -40], 1 << 20).unwrap();
        let free = summary.free;
        assert_eq!(
            (free.external_bytes, free.internal_bytes),
            (40 << 20, 1 << 20)
        );
        assert_eq!(free.internal_percent().map(|of| of as u32), Some(2));
        assert_eq!(
            (summary.bars[0].stream, summary.allocated_bytes),
            (7, 19 << 20)
        );
    }

    #[test]
    fn what_does_not_add_up_has_no_summary() {
        assert!(matches!(
            summary(&[20], 0),
            Err(NoSummary::SizeMismatch { .. })
        ));
    }
}
