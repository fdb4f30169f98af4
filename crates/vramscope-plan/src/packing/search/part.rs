//! A part of a problem that is searched separately: buffers connected by overlapping lives.

use super::super::{Problem, Sections};
use super::keys::{MOST_BUFFERS, MOST_UNITS};

/// A buffer of a part. Sizes and offsets are in units of the part.
#[derive(Clone, Copy, Debug)]
pub(super) struct Buffer {
    begin: u32,
    end: u32,
    pub(super) size: u64,
    alignment: u64,
    pub(super) highest: u64,
    /// Length of its life, in the problem's time.
    pub(super) duration: u64,
}

impl Buffer {
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        self.begin < other.end && other.begin < self.end
    }

    /// Whether the two can be exchanged in every packing.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let key = |b: &Self| (b.begin, b.end, b.size, b.alignment, b.highest);
        key(self) == key(other)
    }

    /// The sections of the part in which it is live.
    pub(super) fn sections(&self) -> std::ops::Range<usize> {
        self.begin as usize..self.end as usize
    }

    pub(super) fn highest_end(&self) -> u64 {
        self.highest + self.size
    }

    /// The lowest aligned offset from `offset` on.
    pub(super) fn aligned(&self, offset: u64) -> u64 {
        if self.alignment == 1 {
            return offset;
        }
        // Alignments may be anything below 2⁶⁴. A result that overflows would be above `highest` anyway.
        offset
            .checked_next_multiple_of(self.alignment)
            .unwrap_or(u64::MAX)
    }

    /// Stacks it on top of the heights in its sections, at `offset` or above.
    pub(super) fn stack(&self, offset: u64, heights: &mut [u64]) {
        for height in &mut heights[self.sections()] {
            *height = offset.max(*height) + self.size;
        }
    }
}

/// Buffers to be searched separately.
pub(super) struct Part {
    pub(super) members: Vec<usize>,
    sizes: Vec<u64>,
    /// The buffers, with `highest` not limited yet.
    buffers: Vec<Buffer>,
    pub(super) sections: usize,
    /// Bytes per unit; all offsets are multiples of it.
    pub(super) unit: u64,
}

impl Part {
    /// A part of these buffers, all of which are live and not empty. `unit` divides their `padded` sizes and
    /// alignments.
    pub(super) fn new(problem: &Problem, padded: &[u64], unit: u64, members: Vec<usize>) -> Self {
        let pick = |column: &[u64]| members.iter().map(|&i| column[i]).collect::<Vec<_>>();
        let sizes = pick(&problem.size);
        let alone = Problem {
            lower: pick(&problem.lower),
            upper: pick(&problem.upper),
            size: sizes.clone(),
            alignment: Vec::new(),
        };
        let sections = Sections::of(&alone);
        let buffer = |(i, &member): (usize, &usize)| Buffer {
            begin: sections.begin[i] as u32,
            end: sections.end[i] as u32,
            size: padded[member] / unit,
            alignment: (problem.alignment_of(member) / unit).max(1),
            highest: u64::MAX,
            duration: alone.upper[i] - alone.lower[i],
        };
        Self {
            buffers: members.iter().enumerate().map(buffer).collect(),
            sections: sections.count,
            sizes,
            members,
            unit,
        }
    }

    /// Whether it has too many buffers or offsets to be searched up to `capacity` bytes.
    pub(super) fn is_too_large(&self, capacity: u64) -> bool {
        self.members.len() > MOST_BUFFERS || capacity / self.unit >= MOST_UNITS
    }

    /// The buffers, limited to end at `capacity` bytes or below; `None` if one is larger.
    pub(super) fn within(&self, capacity: u64) -> Option<Vec<Buffer>> {
        let buffers = self.buffers.iter().zip(&self.sizes).map(|(buffer, &size)| {
            Some(Buffer {
                highest: capacity.checked_sub(size)? / self.unit,
                ..*buffer
            })
        });
        buffers.collect()
    }

    /// The highest end of its buffers, in bytes, for these offsets in bytes.
    pub(super) fn height(&self, offsets: &[u64]) -> u64 {
        let ends = offsets.iter().zip(&self.sizes);
        ends.map(|(offset, size)| offset.saturating_add(*size))
            .max()
            .unwrap_or(0)
    }

    /// The least height above `capacity` bytes that a packing can have. A height is the end of some buffer at an
    /// offset of whole units.
    pub(super) fn next_above(&self, capacity: u64) -> u64 {
        let ends = self.sizes.iter().map(|&size| {
            let below = capacity.saturating_add(1).saturating_sub(size);
            let offset = below.checked_next_multiple_of(self.unit);
            offset.map_or(u64::MAX, |offset| offset.saturating_add(size))
        });
        ends.min().unwrap_or(u64::MAX)
    }
}
