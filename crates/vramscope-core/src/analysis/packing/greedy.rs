//! A greedy packer: buffers one by one, each into a gap between what is placed already.

use std::fmt;

use super::occupied::{Occupied, Range};
use super::orders::{Order, ordered};
use super::{Packing, Problem, Sections};

/// Buffers placed between two looks at the time: a few microseconds each.
const BUFFERS_PER_LOOK: usize = 16;

/// Which of the gaps that are large enough a buffer takes. If there is none, it goes on top.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fit {
    /// The lowest.
    First,
    /// The smallest, of equals the lowest.
    Best,
}

impl fmt::Display for Fit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::First => "first fit",
            Self::Best => "best fit",
        })
    }
}

/// One greedy packer at work.
pub(super) struct Greedy {
    order: Vec<usize>,
    /// How many of `order` are placed.
    placed: usize,
    fit: Fit,
    /// Sizes, with what alignment leaves unused behind them.
    padded: Vec<u64>,
    occupied: Occupied,
    packing: Packing,
}

impl Greedy {
    /// Nothing is placed yet.
    pub(super) fn new(problem: &Problem, sections: &Sections, order: Order, fit: Fit) -> Self {
        Self {
            order: ordered(problem, sections, order),
            placed: 0,
            fit,
            padded: problem.padded_sizes().into_owned(),
            occupied: Occupied::new(sections.count),
            packing: Packing {
                offset: vec![0; problem.size.len()],
                height: 0,
            },
        }
    }

    /// Bytes that are needed so far; never shrinks.
    pub(super) fn height(&self) -> u64 {
        self.packing.height
    }

    /// Whether everything is placed.
    pub(super) fn is_done(&self) -> bool {
        self.placed == self.order.len()
    }

    /// The packing, which is one as soon as everything is placed.
    pub(super) fn into_packing(self) -> Packing {
        self.packing
    }

    /// Places the next few buffers.
    pub(super) fn advance(&mut self, problem: &Problem, sections: &Sections) {
        for _ in 0..BUFFERS_PER_LOOK {
            let Some(&buffer) = self.order.get(self.placed) else {
                return;
            };
            self.place(buffer, problem, sections);
            self.placed += 1;
        }
    }

    fn place(&mut self, buffer: usize, problem: &Problem, sections: &Sections) {
        let (begin, end) = (sections.begin[buffer], sections.end[buffer]);
        let mut offset = 0;
        if begin < end && problem.size[buffer] > 0 {
            let (size, alignment) = (self.padded[buffer], problem.alignment_of(buffer));
            let lists = self.occupied.within(begin, end);
            offset = match self.fit {
                Fit::First => first_fit(lists, size, alignment),
                Fit::Best => best_fit(lists, size, alignment),
            };
            let range = Range {
                start: offset,
                end: offset.saturating_add(size),
            };
            self.occupied.insert(begin, end, range);
        }
        self.packing.offset[buffer] = offset;
        let top = offset.saturating_add(problem.size[buffer]);
        self.packing.height = self.packing.height.max(top);
    }
}

/// The lowest aligned offset at which `size` bytes are free.
pub(super) fn first_fit(mut lists: Vec<&[Range]>, size: u64, alignment: u64) -> u64 {
    let mut offset = 0;
    while let Some(end) = blocked(&mut lists, offset, size) {
        offset = aligned(end, alignment);
    }
    offset
}

/// The start of the smallest gap in which `size` bytes are free, aligned.
fn best_fit(mut lists: Vec<&[Range]>, size: u64, alignment: u64) -> u64 {
    let (mut top, mut best) = (0, None);
    loop {
        while let Some(end) = blocked(&mut lists, top, 1) {
            top = end;
        }
        let offset = aligned(top, alignment);
        // Every list is past `top`, so the next thing above the gap is at the front of one.
        let next = lists
            .iter()
            .filter_map(|list| list.first())
            .map(|range| range.start);
        let Some(end) = next.min() else {
            return best.map_or(offset, |(_, offset)| offset);
        };
        let gap = end - top;
        let fits = offset.checked_add(size).is_some_and(|needed| needed <= end);
        if fits && best.is_none_or(|(smallest, _)| gap < smallest) {
            best = Some((gap, offset));
        }
        top = end;
    }
}

/// The end of something in the way of `size` bytes at `offset`; `None` when they are free. Drops from the lists
/// what lies below: offsets only rise.
fn blocked(lists: &mut [&[Range]], offset: u64, size: u64) -> Option<u64> {
    let above = offset.saturating_add(size);
    let mut end = None;
    for list in lists {
        *list = past(list, offset);
        if let Some(range) = list.first().filter(|range| range.start < above) {
            end = end.max(Some(range.end));
        }
    }
    end
}

/// The ranges that end above `offset`, found by doubling steps: most often the next is it.
fn past(list: &[Range], offset: u64) -> &[Range] {
    let mut step = 1;
    while list.get(step - 1).is_some_and(|range| range.end <= offset) {
        step *= 2;
    }
    let (low, high) = (step / 2, list.len().min(step - 1));
    &list[low + list[low..high].partition_point(|range| range.end <= offset)..]
}

fn aligned(offset: u64, alignment: u64) -> u64 {
    offset
        .checked_next_multiple_of(alignment)
        .unwrap_or(u64::MAX)
}
