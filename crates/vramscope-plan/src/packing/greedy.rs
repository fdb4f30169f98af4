//! A greedy packer: it places buffers one by one, each in a gap between those already placed.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;

use super::free::Free;
use super::occupied::{Occupied, Placed};
use super::orders::{Order, Ordered};
use super::{Packing, Problem, Sections, padded};
use crate::ranges::{Range, Ranges, leading};

/// Buffers placed between two checks of the clock; each takes a few microseconds.
const BUFFERS_PER_LOOK: usize = 16;

/// The choice among gaps that are large enough. Without one, a buffer goes on top.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fit {
    /// The lowest gap.
    First,
    /// The smallest gap, and the lowest of equal ones.
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

/// Packs a problem by one greedy packer.
#[must_use]
pub fn greedy(problem: &Problem, order: Order, fit: Fit) -> Packing {
    let sections = Sections::of(problem);
    let mut greedy = Greedy::new(problem, &sections, order, fit);
    while !greedy.is_done() {
        greedy.advance(problem, &sections);
    }
    greedy.into_packing()
}

pub(super) struct Greedy {
    order: Ordered,
    /// Number of buffers placed so far: the beginning of `order`.
    placed: usize,
    fit: Fit,
    /// Sizes are rounded up to this ([`Problem::padding`]).
    padding: u64,
    taken: Taken,
    packing: Packing,
}

/// The taken offsets.
enum Taken {
    /// For buffers placed in order of birth: the offsets free at the last birth, and the live buffers by their death.
    Now(Free, BinaryHeap<Reverse<(u64, u32)>>),
    /// For any other order: the taken offsets in every section, and a buffer for a list.
    Ever(Occupied, Ranges),
}

impl Greedy {
    /// A packer before its first buffer.
    pub(super) fn new(problem: &Problem, sections: &Sections, order: Order, fit: Fit) -> Self {
        Self {
            taken: match order {
                Order::Program => Taken::Now(Free::new(), BinaryHeap::new()),
                _ => Taken::Ever(Occupied::new(sections), Ranges::new()),
            },
            order: Ordered::new(problem, sections, order),
            placed: 0,
            fit,
            padding: problem.padding(),
            packing: Packing {
                offset: vec![0; problem.size.len()],
                height: 0,
            },
        }
    }

    /// Bytes needed so far; never shrinks.
    pub(super) fn height(&self) -> u64 {
        self.packing.height
    }

    pub(super) fn is_done(&self) -> bool {
        self.placed == self.order.len()
    }

    /// The offsets; a packing once everything is placed.
    pub(super) fn into_packing(self) -> Packing {
        self.packing
    }

    /// Places the next few buffers.
    pub(super) fn advance(&mut self, problem: &Problem, sections: &Sections) {
        for _ in 0..BUFFERS_PER_LOOK {
            let Some(buffer) = self.order.get(problem, sections, self.placed) else {
                return;
            };
            self.place(buffer, problem, sections);
            self.placed += 1;
        }
    }

    fn place(&mut self, buffer: usize, problem: &Problem, sections: &Sections) {
        let (begin, end) = (sections.begin[buffer], sections.end[buffer]);
        let (packing, padding) = (&mut self.packing, self.padding);
        let padded = |buffer: usize| padded(problem.size[buffer], padding);
        let range = |packing: &Packing, buffer: usize| Range {
            start: packing.offset[buffer],
            end: packing.offset[buffer].saturating_add(padded(buffer)),
        };
        if begin < end && problem.size[buffer] > 0 {
            let (size, alignment) = (padded(buffer), problem.alignment_of(buffer));
            packing.offset[buffer] = match &mut self.taken {
                Taken::Now(free, live) => {
                    let birth = problem.lower[buffer];
                    while let Some(gone) = live.peek().filter(|Reverse((death, _))| *death <= birth)
                    {
                        free.give(range(packing, gone.0.1 as usize));
                        live.pop();
                    }
                    live.push(Reverse((problem.upper[buffer], buffer as u32)));
                    free.take(size, alignment, self.fit)
                }
                Taken::Ever(occupied, room) => {
                    let placed = |other: usize| -> Placed {
                        let life = (sections.begin[other], sections.end[other]);
                        (life.0, life.1, range(packing, other))
                    };
                    let lists = occupied.within((begin, end), placed, room);
                    let offset = match self.fit {
                        Fit::First => first_fit(lists, size, alignment),
                        Fit::Best => smallest(Gaps::new(lists, size, alignment)),
                    };
                    let end_of = offset.saturating_add(size);
                    let range = Range {
                        start: offset,
                        end: end_of,
                    };
                    occupied.insert(buffer, (begin, end, range));
                    offset
                }
            };
        }
        let top = packing.offset[buffer].saturating_add(problem.size[buffer]);
        packing.height = packing.height.max(top);
    }
}

struct Gap {
    top: u64,
    /// Its first aligned offset.
    offset: u64,
    /// Its end, if something lies above it.
    end: Option<u64>,
}

/// Iterates over the gaps that are large enough, from the lowest up. The last one has no end.
struct Gaps<'a> {
    /// The occupied ranges, without those below the last gap.
    lists: Vec<&'a [Range]>,
    size: u64,
    alignment: u64,
    /// The end of the last gap.
    top: u64,
}

impl<'a> Gaps<'a> {
    fn new(mut lists: Vec<&'a [Range]>, size: u64, alignment: u64) -> Self {
        // The longest list rules out most offsets, so trying it first avoids searching the others.
        lists.sort_unstable_by_key(|list| Reverse(list.len()));
        Self {
            lists,
            size,
            alignment,
            top: 0,
        }
    }

    fn next(&mut self) -> Gap {
        let (mut top, mut offset) = (self.top, aligned(self.top, self.alignment));
        let mut is_found = false;
        while !is_found {
            is_found = true;
            for list in &mut self.lists {
                while let Some((range, above)) = list.split_first() {
                    if range.end > offset && range.start >= offset.saturating_add(self.size) {
                        break;
                    }
                    top = top.max(range.end);
                    if range.end > offset {
                        offset = aligned(top, self.alignment);
                        is_found = false;
                        *list = above;
                    } else {
                        let (passed, above) =
                            above.split_at(leading(above, |range| range.end <= offset));
                        top = passed.last().map_or(top, |range| top.max(range.end));
                        *list = above;
                    }
                }
            }
        }
        let next = self.lists.iter().filter_map(|list| list.first());
        let end = next.map(|range| range.start).min();
        self.top = end.unwrap_or(top);
        Gap { top, offset, end }
    }
}

/// The lowest aligned offset at which `size` bytes are free.
pub(super) fn first_fit(lists: Vec<&[Range]>, size: u64, alignment: u64) -> u64 {
    Gaps::new(lists, size, alignment).next().offset
}

/// The offset in the smallest gap, and the lowest of equal ones. The last, endless gap is used only if there is no other.
fn smallest(mut gaps: Gaps<'_>) -> u64 {
    let mut best: Option<(u64, u64)> = None;
    loop {
        let gap = gaps.next();
        let Some(end) = gap.end else {
            return best.map_or(gap.offset, |(_, offset)| offset);
        };
        if best.is_none_or(|(smallest, _)| end - gap.top < smallest) {
            best = Some((end - gap.top, gap.offset));
        }
    }
}

pub(super) fn aligned(offset: u64, alignment: u64) -> u64 {
    if alignment == 1 {
        return offset;
    }
    offset
        .checked_next_multiple_of(alignment)
        .unwrap_or(u64::MAX)
}
