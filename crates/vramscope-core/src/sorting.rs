//! Sorting: short lists with one copy of the code for all types, long ones without comparing, and names in natural order.
//!
//! The standard library compiles its sorts anew for each type and each key, which adds five to seven KiB to the page each
//! time. Short lists do not need its speed. Lists with a row per event or allocation are sorted by moments, by counting,
//! or by values that many rows share.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::hash::Hash;

use foldhash::fast::RandomState;

/// Unless there are at least this many rows per distinct value, rows are sorted by comparing.
const ROWS_PER_VALUE: usize = 8;
/// Fewer rows than this are also sorted by comparing if there are too many moments per row: counting all moments would
/// take more memory and time.
const FEW_ROWS: usize = 1 << 14;
const MOMENTS_PER_ROW: usize = 32;
/// A row without a value, or without an end.
const NONE: u32 = u32::MAX;

/// How often each number below `numbers` occurs. Larger numbers are not counted.
pub(crate) fn counts(numbers: usize, values: impl Iterator<Item = usize>) -> Vec<u64> {
    let mut counts = vec![0_u64; numbers];
    for value in values {
        if let Some(count) = counts.get_mut(value) {
            *count += 1;
        }
    }
    counts
}

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

/// The sorted order: the row for each position.
#[inline(never)]
fn order(rows: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<usize> {
    let mut order: Vec<usize> = (0..rows).collect();
    order.sort_by(|&a, &b| compare(a, b));
    order
}

/// Moves every row to its position, by swaps within each cycle of the order.
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

/// Compares names in natural order: numbers by value, so that `rank2` comes before `rank10`.
#[must_use]
pub fn natural(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (a, b);
    loop {
        let split = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let (one, left_rest) = left.split_at(split(left));
        let (other, right_rest) = right.split_at(split(right));
        if !one.is_empty() && !other.is_empty() {
            // Without leading zeros, a shorter number is smaller.
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

/// Rows sorted by their moment, ties in row order. This counts, as there are no more moments than events. Rows whose
/// moment is not below `moments` are left out.
#[must_use]
pub fn rows_by_moment(moments: usize, rows: usize, moment: impl Fn(usize) -> u32) -> Vec<u32> {
    if rows < FEW_ROWS && rows * MOMENTS_PER_ROW < moments {
        let sorted = (0..rows as u32).filter(|&row| (moment(row as usize) as usize) < moments);
        let mut sorted: Vec<u32> = sorted.collect();
        sorted.sort_few_by_key(|&row| moment(row as usize));
        return sorted;
    }
    let mut place = vec![0_u32; moments + 1];
    for row in 0..rows {
        if let Some(count) = place[1..].get_mut(moment(row) as usize) {
            *count += 1;
        }
    }
    let mut before = 0;
    for slot in &mut place {
        before += *slot;
        *slot = before;
    }
    let mut sorted = vec![0; before as usize];
    for row in 0..rows {
        let at = moment(row) as usize;
        if at < moments {
            sorted[place[at] as usize] = row as u32;
            place[at] += 1;
        }
    }
    sorted
}

/// Rows sorted by the first moment at which they are gone, ties in row order. Rows that never end ([`u32::MAX`]) are left
/// out.
#[must_use]
pub fn rows_by_end(ends: &[u32]) -> Vec<u32> {
    let known = ends.iter().filter(|&&moment| moment != NONE);
    let moments = known.max().map_or(0, |&last| last as usize + 1);
    rows_by_moment(moments, ends.len(), |row| ends[row])
}

/// Rows sorted by their value, ties in row order. Rows without a value are left out.
#[must_use]
pub fn rows_by_value(rows: usize, value: impl Fn(usize) -> Option<u64>) -> Vec<u32> {
    let mut numbers = Numbers::default();
    let most = rows / ROWS_PER_VALUE + 1;
    let number = |row: usize| {
        let number = value(row).map_or(NONE, |value| numbers.of(value));
        (numbers.values.len() <= most).then_some(number)
    };
    let numbered: Option<Vec<u32>> = (0..rows).map(number).collect();
    let Some(numbered) = numbered else {
        let valued = (0..rows).filter_map(|row| Some((value(row)?, row as u32)));
        let mut valued: Vec<(u64, u32)> = valued.collect();
        valued.sort_unstable();
        return valued.into_iter().map(|(_, row)| row).collect();
    };
    let values = numbers.values;
    let mut ascending: Vec<u32> = (0..values.len() as u32).collect();
    ascending.sort_unstable_by_key(|&number| values[number as usize]);
    let mut ranks = vec![0; values.len()];
    for (rank, number) in (0..).zip(ascending) {
        ranks[number as usize] = rank;
    }
    rows_by_moment(ranks.len(), rows, |row| {
        let rank = ranks.get(numbered[row] as usize);
        rank.copied().unwrap_or(NONE)
    })
}

/// Distinct values, numbered in order of appearance.
#[derive(Clone, Debug)]
pub struct Numbers<T = u64> {
    /// The values by number.
    pub values: Vec<T>,
    known: HashMap<T, u32, RandomState>,
}

impl<T> Default for Numbers<T> {
    fn default() -> Self {
        Self {
            values: Vec::new(),
            known: HashMap::default(),
        }
    }
}

impl<T: Copy + Eq + Hash> Numbers<T> {
    /// The number of a value; a new value gets the next one.
    pub fn of(&mut self, value: T) -> u32 {
        *self.known.entry(value).or_insert_with(|| {
            self.values.push(value);
            self.values.len() as u32 - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ties_of_a_moment_stay_in_row_order() {
        let moments = [3, u32::MAX, 1, 3, 1];
        assert_eq!(rows_by_moment(4, 5, |row| moments[row]), [2, 4, 0, 3]);
        assert_eq!(rows_by_moment(3, 5, |row| moments[row]), [2, 4]);
        let many = 5 * MOMENTS_PER_ROW + 1;
        assert_eq!(rows_by_moment(many, 5, |row| moments[row]), [2, 4, 0, 3]);
    }

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
        fn few_and_many_values_are_sorted_as_by_the_standard_library(
            values in proptest::collection::vec(proptest::option::of(0_u64..40), 0..400),
            factor in prop_oneof![Just(1), Just(u64::MAX / 40)],
        ) {
            let value = |row: usize| values[row].map(|value| value * factor);
            let mut sorted: Vec<u32> = (0..values.len() as u32).collect();
            sorted.retain(|&row| value(row as usize).is_some());
            sorted.sort_by_key(|&row| value(row as usize));
            prop_assert_eq!(rows_by_value(values.len(), value), sorted);
        }

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
