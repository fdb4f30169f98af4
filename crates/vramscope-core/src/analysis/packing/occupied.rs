//! What is taken: ranges of offsets by section, so that a gap is found without looking at each buffer
//! that overlaps in time.
//!
//! A segment tree over the sections. Buffers are packed densely, so what lies in a node soon merges to a few
//! ranges however many buffers those are.

use crate::analysis::ranges::{Range, Ranges, insert};

/// The offsets that are taken in each section.
pub(super) struct Occupied {
    /// A power of two; node `n` has the children `2n` and `2n + 1`, and the leaves are the sections.
    leaves: usize,
    /// By node: what is taken in any of its sections, but for what `all` of a node above it has.
    any: Vec<Ranges>,
    /// By inner node: what is taken in all of its sections by one buffer.
    all: Vec<Ranges>,
}

impl Occupied {
    /// Nothing is taken.
    pub(super) fn new(sections: usize) -> Self {
        let leaves = sections.next_power_of_two();
        Self {
            leaves,
            any: vec![Ranges::new(); 2 * leaves],
            all: vec![Ranges::new(); leaves],
        }
    }

    /// What is taken in any of the sections `begin..end`, as ascending lists that may overlap each other.
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

    /// Takes a range in the sections `begin..end`.
    pub(super) fn insert(&mut self, begin: usize, end: usize, range: Range) {
        for node in self.covered(begin, end) {
            insert(&mut self.any[node], range);
            if let Some(all) = self.all.get_mut(node) {
                insert(all, range);
            }
        }
        for mut nodes in self.cut(begin, end) {
            // What a node has, all nodes above it have, too.
            while nodes
                .next()
                .is_some_and(|node| insert(&mut self.any[node], range))
            {}
        }
    }

    /// The fewest nodes that together cover exactly these sections.
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

    /// The nodes that have some of these sections and others: those at the left edge and those at the right
    /// edge, each upwards, each node once.
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
