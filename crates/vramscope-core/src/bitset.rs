//! A set of rows as bits in 64-bit words, for example the allocations that a filter matches.
//!
//! The raster reads it a word (64 allocations) at a time. Existing crates use words of the platform's pointer size, so
//! wasm32 would get other words than native.

/// A fixed-length set of row numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BitSet {
    words: Vec<u64>,
    len: usize,
}

impl BitSet {
    /// The empty set over rows `0..len`.
    #[must_use]
    pub fn new(len: usize) -> Self {
        Self {
            words: vec![0; len.div_ceil(64)],
            len,
        }
    }

    /// The set of the rows for which `keep` holds.
    #[must_use]
    pub fn from_fn(len: usize, mut keep: impl FnMut(usize) -> bool) -> Self {
        let mut set = Self::new(len);
        for (w, word) in set.words.iter_mut().enumerate() {
            let first = w * 64;
            for bit in 0..(len - first).min(64) {
                *word |= u64::from(keep(first + bit)) << bit;
            }
        }
        set
    }

    /// The set of all rows `0..len`.
    #[must_use]
    pub fn full(len: usize) -> Self {
        let mut set = Self::new(len);
        set.complement();
        set
    }

    /// Complements the set.
    pub fn complement(&mut self) {
        for word in &mut self.words {
            *word = !*word;
        }
        // Bits beyond the end stay zero.
        if let Some(last) = self.words.last_mut()
            && !self.len.is_multiple_of(64)
        {
            *last &= (1 << (self.len % 64)) - 1;
        }
    }

    /// Adds the members of `other`, which ranges over the same rows.
    pub fn union_with(&mut self, other: &Self) {
        for (word, theirs) in self.words.iter_mut().zip(&other.words) {
            *word |= theirs;
        }
    }

    /// Keeps the members of `other`, which ranges over the same rows.
    pub fn intersect_with(&mut self, other: &Self) {
        for (word, theirs) in self.words.iter_mut().zip(&other.words) {
            *word &= theirs;
        }
    }

    /// Number of rows that the set ranges over, members or not.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the set ranges over no rows at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds `row`; rows outside the range are ignored.
    pub fn insert(&mut self, row: usize) {
        if row < self.len {
            self.words[row / 64] |= 1 << (row % 64);
        }
    }

    /// Whether `row` is a member.
    #[must_use]
    pub fn contains(&self, row: usize) -> bool {
        self.word(row / 64) >> (row % 64) & 1 == 1
    }

    /// Word `w`: rows `64 * w..64 * w + 64`, lowest bit first; zero beyond the end.
    #[must_use]
    #[inline]
    pub fn word(&self, w: usize) -> u64 {
        self.words.get(w).copied().unwrap_or(0)
    }

    /// Number of members.
    #[must_use]
    pub fn count(&self) -> usize {
        self.words
            .iter()
            .map(|word| word.count_ones() as usize)
            .sum()
    }

    /// The members, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> + Clone + '_ {
        self.words
            .iter()
            .enumerate()
            .flat_map(|(w, &word)| bits(word).map(move |b| w * 64 + b))
    }
}

/// The positions of the set bits of `word`, ascending.
#[inline]
pub fn bits(mut word: u64) -> impl Iterator<Item = usize> + Clone {
    std::iter::from_fn(move || {
        (word != 0).then(|| {
            let bit = word.trailing_zeros() as usize;
            word &= word - 1;
            bit
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_come_back_in_order() {
        let set = BitSet::from_fn(200, |row| row % 67 == 3);
        assert_eq!(set.iter().collect::<Vec<_>>(), [3, 70, 137]);
        assert_eq!(set.count(), 3);
        assert!(set.contains(70) && !set.contains(71) && !set.contains(1_000));
    }

    #[test]
    fn sets_combine() {
        for len in [0, 1, 64, 65, 130] {
            let of = |n: usize| BitSet::from_fn(len, |row| row % n == 0);
            let (mut both, mut either, mut none) = (of(2), of(2), of(2));
            both.intersect_with(&of(3));
            either.union_with(&of(3));
            none.complement();
            assert_eq!(both, of(6));
            assert_eq!(
                either,
                BitSet::from_fn(len, |row| row % 2 == 0 || row % 3 == 0)
            );
            assert_eq!(none, BitSet::from_fn(len, |row| row % 2 == 1));
            assert_eq!(BitSet::full(len).count(), len);
        }
    }

    #[test]
    fn rows_outside_are_ignored() {
        let mut set = BitSet::new(65);
        set.insert(64);
        set.insert(65);
        assert_eq!(set.iter().collect::<Vec<_>>(), [64]);
        assert_eq!(set.word(7), 0);
    }
}
