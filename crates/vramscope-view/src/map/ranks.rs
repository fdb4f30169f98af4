//! A set of small numbers with fast search for neighbours: a tree of bit sets, 64 children per
//! node.

#[derive(Clone, Debug, Default)]
pub(super) struct Ranks {
    /// The bit set of the numbers; then, per level, the bit set of non-empty words of the level
    /// below.
    levels: Vec<Vec<u64>>,
}

impl Ranks {
    pub(super) fn new(len: usize) -> Self {
        let mut levels = Vec::new();
        let mut words = len;
        loop {
            words = words.div_ceil(64).max(1);
            levels.push(vec![0; words]);
            if words == 1 {
                return Self { levels };
            }
        }
    }

    /// Adds a number. Returns whether it is new.
    pub(super) fn insert(&mut self, number: usize) -> bool {
        let is_new = self.levels[0][number / 64] >> (number % 64) & 1 == 0;
        let mut at = number;
        for level in &mut self.levels {
            let word = &mut level[at / 64];
            *word |= 1 << (at % 64);
            at /= 64;
        }
        is_new
    }

    pub(super) fn remove(&mut self, number: usize) {
        let mut at = number;
        for level in &mut self.levels {
            let word = &mut level[at / 64];
            *word &= !(1 << (at % 64));
            if *word != 0 {
                return;
            }
            at /= 64;
        }
    }

    /// The largest number in the set below this one.
    pub(super) fn below(&self, number: usize) -> Option<usize> {
        let mut at = number;
        for (height, level) in self.levels.iter().enumerate() {
            let word = level.get(at / 64)? & ((1 << (at % 64)) - 1);
            if word != 0 {
                let top = at / 64 * 64 + 63 - word.leading_zeros() as usize;
                return Some(self.descend(height, top, |word| 63 - word.leading_zeros()));
            }
            at /= 64;
        }
        None
    }

    /// The smallest number in the set above this one.
    pub(super) fn above(&self, number: usize) -> Option<usize> {
        let mut at = number;
        for (height, level) in self.levels.iter().enumerate() {
            // Shifted twice, because a shift by 64 would overflow.
            let word = level.get(at / 64)? & (u64::MAX << (at % 64) << 1);
            if word != 0 {
                let low = at / 64 * 64 + word.trailing_zeros() as usize;
                return Some(self.descend(height, low, u64::trailing_zeros));
            }
            at /= 64;
        }
        None
    }

    /// Descends from a set bit of a level to a number; `pick` chooses the bit in each word.
    fn descend(&self, height: usize, mut at: usize, pick: impl Fn(u64) -> u32) -> usize {
        for level in self.levels[..height].iter().rev() {
            at = at * 64 + pick(level[at]) as usize;
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn as_an_ordered_set(steps in prop::collection::vec((0..9_000_usize, any::<bool>()), 0..200)) {
            let mut ranks = Ranks::new(9_000);
            let mut set = BTreeSet::new();
            for (number, is_in) in steps {
                if is_in {
                    prop_assert_eq!(ranks.insert(number), set.insert(number));
                } else {
                    ranks.remove(number);
                    set.remove(&number);
                }
                for at in [number, number / 2, 0, 8_999, number / 64 * 64] {
                    prop_assert_eq!(ranks.below(at), set.range(..at).next_back().copied());
                    prop_assert_eq!(ranks.above(at), set.range(at + 1..).next().copied());
                }
            }
        }
    }
}
