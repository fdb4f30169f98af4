//! The occupied ranges of offsets in each section, to find a gap without examining every buffer that overlaps in time.
//!
//! They are stored in a tree over the sections. Buffers are packed densely, so the ranges of a node soon merge into a few,
//! however many buffers they come from. Each leaf covers several sections, because most buffers live for only a few:
//! lists for each section would take several times the memory of the buffers.

use super::Sections;
use crate::ranges::{Range, Ranges, insert};

/// Most births and deaths in a leaf of several sections. With fewer a packing of millions takes more memory, with more it
/// takes longer; in tests there are leaves of few sections, too.
const MOST_IN_LEAF: u32 = if cfg!(test) { 5 } else { 256 };

/// The occupied offsets of each section.
pub(super) struct Occupied {
    /// For each section and for the time after the last: twice the number of its leaf, plus one if the leaf begins before
    /// it. Edges of lives are given by these numbers.
    edge_of: Vec<u32>,
    /// Capacity in leaves, a power of two. Node `n` has the children `2n` and `2n + 1`.
    leaves: usize,
    /// By node: the ranges occupied in any of its sections, except those in `all` of an ancestor.
    any: Vec<Ranges>,
    /// By node: the ranges that a single buffer occupies in all of its sections.
    all: Vec<Ranges>,
    /// Leaf by leaf, the buffers that are live in some of its sections but not in all.
    some: Vec<u32>,
    /// By leaf: the start of its part of `some`, and the number of buffers in it.
    some_at: Vec<(u32, u32)>,
}

/// A buffer that was placed: its first section, the section after its last, and its offsets.
pub(super) type Placed = (usize, usize, Range);

impl Occupied {
    /// Nothing occupied yet, for buffers with these lives.
    pub(super) fn new(sections: &Sections) -> Self {
        let (edge_of, used) = leaves(sections);
        let leaves = used.next_power_of_two();
        let mut occupied = Self {
            edge_of,
            leaves,
            any: vec![Ranges::new(); 2 * leaves],
            all: vec![Ranges::new(); 2 * leaves],
            some: Vec::new(),
            some_at: vec![(0, 0); used],
        };
        let lives = || sections.begin.iter().zip(&sections.end);
        let lives = || lives().filter(|(begin, end)| begin < end);
        for (&begin, &end) in lives() {
            for leaf in occupied.parted(begin, end).into_iter().flatten() {
                occupied.some_at[leaf].1 += 1;
            }
        }
        let mut before = 0;
        for (first, room) in &mut occupied.some_at {
            *first = before;
            before += std::mem::take(room);
        }
        occupied.some = vec![0; before as usize];
        occupied
    }

    /// The ranges occupied in any of the sections `begin..end`. Each list is ascending; lists may overlap each other.
    /// `placed` describes a placed buffer, and `room` is used for a list made here.
    pub(super) fn within<'a>(
        &'a self,
        (begin, end): (usize, usize),
        placed: impl Fn(usize) -> Placed,
        room: &'a mut Ranges,
    ) -> Vec<&'a [Range]> {
        room.clear();
        for leaf in self.parted(begin, end).into_iter().flatten() {
            let (first, count) = self.some_at[leaf];
            let some = &self.some[first as usize..][..count as usize];
            let some = some.iter().map(|&buffer| placed(buffer as usize));
            let overlapping = some.filter(|&(from, to, _)| from < end && begin < to);
            room.extend(overlapping.map(|(.., range)| range));
        }
        merge(room);
        let mut lists: Vec<&[Range]> = Vec::with_capacity(32);
        lists.push(room);
        for node in self.covered(begin, end) {
            lists.push(&self.any[node]);
        }
        let [left, right] = self.cut(begin, end);
        for node in left.chain(right) {
            lists.push(&self.all[node]);
        }
        lists.retain(|list| !list.is_empty());
        lists
    }

    /// Marks the range of a buffer as occupied in the sections `begin..end`.
    pub(super) fn insert(&mut self, buffer: usize, (begin, end, range): Placed) {
        for leaf in self.parted(begin, end).into_iter().flatten() {
            let (first, count) = &mut self.some_at[leaf];
            self.some[(*first + *count) as usize] = buffer as u32;
            *count += 1;
        }
        for node in self.covered(begin, end) {
            insert(&mut self.any[node], range);
            insert(&mut self.all[node], range);
        }
        for mut nodes in self.cut(begin, end) {
            // If a node already has the range, so do all its ancestors.
            while nodes
                .next()
                .is_some_and(|node| insert(&mut self.any[node], range))
            {}
        }
    }

    /// The edges of a life, as numbers of `edge_of`.
    fn edges(&self, begin: usize, end: usize) -> (usize, usize) {
        (self.edge_of[begin] as usize, self.edge_of[end] as usize)
    }

    /// The leaves that these sections cover only partly.
    fn parted(&self, begin: usize, end: usize) -> [Option<usize>; 2] {
        let (begin, end) = self.edges(begin, end);
        let part = |edge: usize| (edge % 2 == 1).then_some(edge / 2);
        let (left, right) = (part(begin), part(end));
        [left, right.filter(|_| right != left)]
    }

    /// The smallest set of nodes that cover the leaves which these sections cover entirely.
    fn covered(&self, begin: usize, end: usize) -> impl Iterator<Item = usize> + use<> {
        let (begin, end) = self.edges(begin, end);
        let (mut begin, mut end) = (begin.div_ceil(2) + self.leaves, end / 2 + self.leaves);
        let levels = std::iter::from_fn(move || {
            if begin >= end {
                return None;
            }
            let left = (begin % 2 == 1).then_some(begin);
            let right = (end % 2 == 1).then_some(end - 1);
            (begin, end) = (begin.div_ceil(2), end / 2);
            Some([left, right])
        });
        levels.flatten().flatten()
    }

    /// The nodes that contain some of these sections and also others, first along the left edge and then along the
    /// right edge, each upwards. No node occurs twice.
    fn cut(&self, begin: usize, end: usize) -> [impl Iterator<Item = usize> + use<>; 2] {
        let (begin, end) = self.edges(begin, end);
        let (begin, end) = (begin + 2 * self.leaves, end + 2 * self.leaves);
        let is_cut = |edge: usize, level: u32| (edge >> level) << level != edge;
        let levels = 1..=self.leaves.ilog2() + 1;
        [false, true].map(|is_right| {
            levels.clone().filter_map(move |level| {
                let left = is_cut(begin, level).then_some(begin >> level);
                if !is_right {
                    return left;
                }
                let right = is_cut(end, level).then_some((end - 1) >> level);
                right.filter(|_| right != left)
            })
        })
    }
}

/// Divides time into leaves: [`Occupied::edge_of`], and their number. A section with many births or deaths is a leaf of its
/// own.
fn leaves(sections: &Sections) -> (Vec<u32>, usize) {
    let mut edges = vec![0_u32; sections.count + 1];
    for (&begin, &end) in sections.begin.iter().zip(&sections.end) {
        if begin < end {
            edges[begin] = edges[begin].saturating_add(1);
            edges[end] = edges[end].saturating_add(1);
        }
    }
    let (mut leaf, mut in_leaf) = (0, 0_u32);
    for (section, edge) in edges.iter_mut().enumerate() {
        in_leaf = in_leaf.saturating_add(*edge);
        let is_first = section == 0 || section == sections.count || in_leaf > MOST_IN_LEAF;
        if is_first {
            leaf += u32::from(section > 0);
            in_leaf = *edge;
        }
        *edge = 2 * leaf + u32::from(!is_first);
    }
    (edges, leaf as usize)
}

/// Sorts ranges, and merges those that meet or touch.
fn merge(ranges: &mut Ranges) {
    ranges.sort_unstable_by_key(|range| range.start);
    ranges.dedup_by(|above, below| {
        let meets = above.start <= below.end;
        if meets {
            below.end = below.end.max(above.end);
        }
        meets
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The sections of buffers that live in these.
    fn sections(lives: impl Iterator<Item = (usize, usize)>, count: usize) -> Sections {
        let (begin, end) = lives.unzip();
        Sections { begin, end, count }
    }

    proptest! {
        #[test]
        fn knows_what_is_taken(
            buffers in prop::collection::vec((0_usize..99, 0_usize..70, 0_u64..40, 1_u64..9), 0..400),
            (begin, length) in (0_usize..99, 1_usize..99),
            placed in 0_usize..400,
        ) {
            let life = |begin: usize, length: usize| (begin, (begin + length * length / 70 + 1).min(99));
            let lives = || buffers.iter().map(|&(begin, length, ..)| life(begin, length));
            let mut occupied = Occupied::new(&sections(lives(), 99));
            let of = |buffer: usize| {
                let (begin, length, start, size) = buffers[buffer];
                let (begin, end) = life(begin, length);
                (begin, end, Range { start, end: start + size })
            };
            let placed = placed.min(buffers.len());
            for buffer in 0..placed {
                occupied.insert(buffer, of(buffer));
            }
            let end = (begin + length).min(99);
            let mut room = Ranges::new();
            let lists = occupied.within((begin, end), of, &mut room);
            for list in &lists {
                prop_assert!(list.windows(2).all(|pair| pair[0].end < pair[1].start));
            }
            for offset in 0..60 {
                let found = lists.iter().any(|list| list.iter().any(|r| (r.start..r.end).contains(&offset)));
                let taken = (0..placed).map(of).any(|(from, to, range)| {
                    from < end && begin < to && (range.start..range.end).contains(&offset)
                });
                prop_assert_eq!(found, taken, "offset {}", offset);
            }
        }
    }
}
