//! The occupied ranges of offsets in each section: a gap is found without looking at every buffer that overlaps in
//! time.
//!
//! They are kept in a segment tree over the sections. Buffers are packed densely, so the ranges of a node soon merge
//! into a few, however many buffers they come from.

use crate::ranges::{Range, Ranges, insert};

/// The occupied offsets of each section.
pub(super) struct Occupied {
    /// Number of leaves, a power of two. Leaves are sections; node `n` has the children `2n` and `2n + 1`.
    leaves: usize,
    /// By node: the ranges occupied in any of its sections, except those that `all` of an ancestor has.
    any: Vec<Ranges>,
    /// By inner node: the ranges that a single buffer occupies in all of its sections.
    all: Vec<Ranges>,
}

impl Occupied {
    /// An empty one for so many sections.
    pub(super) fn new(sections: usize) -> Self {
        let leaves = sections.next_power_of_two();
        Self {
            leaves,
            any: vec![Ranges::new(); 2 * leaves],
            all: vec![Ranges::new(); leaves],
        }
    }

    /// The ranges occupied in any of the sections `begin..end`. Each list is ascending; lists may overlap each other.
    pub(super) fn within(&self, begin: usize, end: usize) -> Vec<&[Range]> {
        let mut lists: Vec<&[Range]> = Vec::with_capacity(32);
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

    /// Marks a range as occupied in the sections `begin..end`.
    pub(super) fn insert(&mut self, begin: usize, end: usize, range: Range) {
        for node in self.covered(begin, end) {
            insert(&mut self.any[node], range);
            if let Some(all) = self.all.get_mut(node) {
                insert(all, range);
            }
        }
        for mut nodes in self.cut(begin, end) {
            // If a node already has the range, so do all its ancestors.
            while nodes
                .next()
                .is_some_and(|node| insert(&mut self.any[node], range))
            {}
        }
    }

    /// The smallest set of nodes that together cover exactly these sections.
    fn covered(&self, begin: usize, end: usize) -> impl Iterator<Item = usize> + use<> {
        let (mut begin, mut end) = (begin + self.leaves, end + self.leaves);
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
        let (begin, end) = (begin + self.leaves, end + self.leaves);
        let is_cut = |edge: usize, level: u32| (edge >> level) << level != edge;
        let levels = 1..=self.leaves.ilog2();
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn knows_what_is_taken(
            buffers in prop::collection::vec((0_usize..13, 1_usize..14, 0_u64..40, 1_u64..9), 0..30),
            (begin, length) in (0_usize..13, 1_usize..14),
        ) {
            let mut occupied = Occupied::new(13);
            for &(begin, length, start, size) in &buffers {
                occupied.insert(begin, (begin + length).min(13), Range { start, end: start + size });
            }
            let end = (begin + length).min(13);
            let lists = occupied.within(begin, end);
            for list in &lists {
                prop_assert!(list.windows(2).all(|pair| pair[0].end < pair[1].start));
            }
            for offset in 0..60 {
                let found = lists.iter().any(|list| list.iter().any(|r| (r.start..r.end).contains(&offset)));
                let taken = buffers.iter().any(|&(b, length, start, size)| {
                    b < end && begin < (b + length).min(13) && (start..start + size).contains(&offset)
                });
                prop_assert_eq!(found, taken, "offset {}", offset);
            }
        }
    }
}
