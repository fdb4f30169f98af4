//! Sorting with one copy of the code for all types.
//!
//! The standard library compiles its sorts anew for each type and each key, five to seven KiB of the page each time.
//! Lists that are not long need no such speed. Lists with a row per event or allocation keep it.

use std::cmp::Ordering;

/// Stable sorts for lists of up to some ten thousand rows.
pub trait SortFew<T> {
    /// Like `sort_by`.
    fn sort_few_by(&mut self, compare: impl FnMut(&T, &T) -> Ordering);

    /// Like `sort_by_key`.
    fn sort_few_by_key<K: Ord>(&mut self, mut key: impl FnMut(&T) -> K) {
        self.sort_few_by(|a, b| key(a).cmp(&key(b)));
    }
}

impl<T> SortFew<T> for [T] {
    fn sort_few_by(&mut self, mut compare: impl FnMut(&T, &T) -> Ordering) {
        let mut order = order(self.len(), &mut |a, b| compare(&self[a], &self[b]));
        permute(&mut order, &mut |a, b| self.swap(a, b));
    }
}

/// The places of sorted rows: first that of the least one.
#[inline(never)]
fn order(rows: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<usize> {
    let mut order: Vec<usize> = (0..rows).collect();
    order.sort_by(|&a, &b| compare(a, b));
    order
}

/// Moves every row to its place, by exchanges within each cycle of the order.
#[inline(never)]
fn permute(order: &mut [usize], swap: &mut dyn FnMut(usize, usize)) {
    for start in 0..order.len() {
        let mut place = start;
        loop {
            let from = std::mem::replace(&mut order[place], place);
            if from == start {
                break;
            }
            swap(place, from);
            place = from;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn rows_are_as_the_standard_library_sorts_them(
            rows in proptest::collection::vec((0_u8..8, any::<u16>()), 0..200),
        ) {
            let (mut few, mut sorted) = (rows.clone(), rows);
            few.sort_few_by_key(|row| std::cmp::Reverse(row.0));
            sorted.sort_by_key(|row| std::cmp::Reverse(row.0));
            prop_assert_eq!(&few, &sorted);
            few.sort_few_by(|a, b| b.1.cmp(&a.1));
            sorted.sort_by_key(|row| std::cmp::Reverse(row.1));
            prop_assert_eq!(few, sorted);
        }
    }
}
