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

/// Compares names in the order that people expect: numbers by their value, so that `rank2` comes before `rank10`.
#[must_use]
pub fn natural(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (a, b);
    loop {
        let split = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let (one, left_rest) = left.split_at(split(left));
        let (other, right_rest) = right.split_at(split(right));
        if !one.is_empty() && !other.is_empty() {
            // Without leading zeros a shorter text is a smaller number.
            let [one, other] = [one, other].map(|digits| digits.trim_start_matches('0'));
            let order = (one.len(), one).cmp(&(other.len(), other));
            if order != Ordering::Equal {
                return order;
            }
            (left, right) = (left_rest, right_rest);
            continue;
        }
        let (mut next, mut others) = (left.chars(), right.chars());
        match (next.next(), others.next()) {
            (None, None) => return a.cmp(b),
            (x, y) if x != y => return x.cmp(&y),
            _ => (left, right) = (next.as_str(), others.as_str()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_in_names_sort_by_value() {
        let sorted = [
            "a",
            "node/rank3.pickle",
            "node2/rank1.pickle",
            "node10/rank0.pickle",
            "rank1.pickle",
            "rank2.pickle",
            "rank002a.pickle",
            "rank2a.pickle",
            "rank10.pickle",
            "rank18446744073709551616.pickle",
        ];
        let mut names = sorted;
        names.reverse();
        names.sort_by(|a, b| natural(a, b));
        assert_eq!(names, sorted);
    }

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
