//! Divides time into sections, such that two buffers overlap in time if and only if they share a section.

use super::Problem;
use crate::ranges::leading;

/// With at most this many times per buffer, births and deaths are stored as bits.
const TIMES_PER_BUFFER: u64 = 16;

/// The life of each buffer of a problem, in sections.
///
/// A new section begins with the first birth after a death. So all buffers of a section are live at the same time, namely
/// at its last birth. There are never more sections than buffers, and usually far fewer.
#[derive(Clone, Default, Debug, PartialEq, Eq)]
pub struct Sections {
    /// First section of each buffer.
    pub begin: Vec<usize>,
    /// The section after its last; equal to `begin` for a buffer that is never live.
    pub end: Vec<usize>,
    /// Number of sections.
    pub count: usize,
}

impl Sections {
    /// Computes the sections of a problem in O(n log n), or in O(n) if times are as dense as the moments of a recording.
    #[must_use]
    pub fn of(problem: &Problem) -> Self {
        let lives = || problem.lower.iter().zip(&problem.upper);
        let real = || lives().filter(|(lower, upper)| lower < upper);
        let first = real().map(|(&lower, _)| lower).min().unwrap_or(0);
        let last = real().map(|(_, &upper)| upper).max().unwrap_or(0);
        let begins = match last.saturating_sub(first) <= TIMES_PER_BUFFER * lives().len() as u64 {
            true => dense_begins(real(), first, last),
            false => sparse_begins(real()),
        };
        let mut sections = Self {
            begin: vec![0; problem.size.len()],
            end: vec![0; problem.size.len()],
            count: begins.len(),
        };
        // Buffers usually come in order of birth, and live briefly.
        let mut after = 0;
        for (buffer, (&lower, &upper)) in lives()
            .enumerate()
            .filter(|(_, (lower, upper))| lower < upper)
        {
            if after > 0 && begins[after - 1] > lower {
                after = 0;
            }
            after += leading(&begins[after..], |&begin| begin <= lower);
            sections.begin[buffer] = after - 1;
            sections.end[buffer] = after + leading(&begins[after..], |&begin| begin < upper);
        }
        sections
    }

    /// Bytes that are live in each section, for buffers of these sizes.
    #[must_use]
    pub fn totals(&self, size: &[u64]) -> Vec<u128> {
        let mut changes = vec![0_i128; self.count + 1];
        for ((&begin, &end), &size) in self.begin.iter().zip(&self.end).zip(size) {
            changes[begin] += i128::from(size);
            changes[end] -= i128::from(size);
        }
        changes.truncate(self.count);
        let mut live = 0_i128;
        let sums = changes.into_iter().map(|change| {
            live += change;
            live.unsigned_abs()
        });
        sums.collect()
    }
}

/// The birth that begins each section. A death makes room for a birth at the same time.
fn sparse_begins<'a>(lives: impl Iterator<Item = (&'a u64, &'a u64)> + Clone) -> Vec<u64> {
    let mut births: Vec<u64> = lives.clone().map(|(&lower, _)| lower).collect();
    births.sort_unstable();
    let mut deaths: Vec<u64> = lives.map(|(_, &upper)| upper).collect();
    deaths.sort_unstable();
    let mut begins: Vec<u64> = Vec::new();
    let mut deaths = deaths.into_iter().peekable();
    for birth in births {
        let mut has_ended = begins.is_empty();
        while deaths.next_if(|&death| death <= birth).is_some() {
            has_ended = true;
        }
        if has_ended {
            begins.push(birth);
        }
    }
    begins
}

/// [`sparse_begins`] for lives between two times: one bit per time for births and one for deaths, instead of sorting.
fn dense_begins<'a>(
    lives: impl Iterator<Item = (&'a u64, &'a u64)>,
    first: u64,
    last: u64,
) -> Vec<u64> {
    let words = (last.saturating_sub(first) / 64 + 1) as usize;
    let (mut births, mut deaths) = (vec![0_u64; words], vec![0_u64; words]);
    for (&lower, &upper) in lives {
        for (times, time) in [(&mut births, lower - first), (&mut deaths, upper - first)] {
            times[(time / 64) as usize] |= 1 << (time % 64);
        }
    }
    let mut begins = Vec::new();
    let mut has_ended = true;
    for (word, (births, deaths)) in births.into_iter().zip(deaths).enumerate() {
        let mut left = births | deaths;
        while left != 0 {
            let bit = left & left.wrapping_neg();
            left ^= bit;
            has_ended |= deaths & bit != 0;
            if births & bit != 0 && has_ended {
                begins.push(first + word as u64 * 64 + u64::from(bit.trailing_zeros()));
                has_ended = false;
            }
        }
    }
    begins
}

/// Counts and sizes of buffers by section, to find how many overlap a given one.
pub(super) struct Company {
    /// By section: the number of buffers that begin before it, and the sum of their sizes.
    begun: Vec<(usize, u128)>,
    /// By section: the number of buffers that have ended when it begins, and the sum of their sizes.
    ended: Vec<(usize, u128)>,
}

impl Company {
    /// Counts these buffers, with these sizes. Buffers that are never live do not count.
    pub(super) fn of(
        sections: &Sections,
        buffers: impl Iterator<Item = usize>,
        size: &[u64],
    ) -> Self {
        let mut begun = vec![(0, 0); sections.count + 2];
        let mut ended = begun.clone();
        for i in buffers.filter(|&i| sections.begin[i] < sections.end[i]) {
            for (column, section) in [
                (&mut begun, sections.begin[i] + 1),
                (&mut ended, sections.end[i]),
            ] {
                let (count, total) = &mut column[section];
                *count += 1;
                *total += u128::from(size[i]);
            }
        }
        for column in [&mut begun, &mut ended] {
            let mut sum = (0, 0);
            for entry in column {
                sum = (sum.0 + entry.0, sum.1 + entry.1);
                *entry = sum;
            }
        }
        Self { begun, ended }
    }

    /// Number and total size of the counted buffers that overlap this one in time, itself included.
    pub(super) fn with(&self, sections: &Sections, buffer: usize) -> (usize, u128) {
        let begun = self.begun[sections.end[buffer]];
        let ended = self.ended[sections.begin[buffer]];
        (begun.0 - ended.0, begun.1 - ended.1)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::problems;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn buffers_overlap_if_and_only_if_they_share_a_section(problem in problems(30)) {
            let sections = Sections::of(&problem);
            let far = |times: &[u64]| times.iter().map(|time| time << 40).collect();
            let sparse = Problem { lower: far(&problem.lower), upper: far(&problem.upper), ..problem.clone() };
            prop_assert_eq!(&Sections::of(&sparse), &sections);
            prop_assert!(sections.count <= problem.size.len());
            let is_live = |i: usize| problem.lower[i] < problem.upper[i];
            for i in 0..problem.size.len() {
                prop_assert_eq!(sections.begin[i] < sections.end[i], is_live(i));
                for j in 0..problem.size.len() {
                    let overlap = is_live(i) && is_live(j)
                        && problem.lower[i] < problem.upper[j] && problem.lower[j] < problem.upper[i];
                    let shared = sections.begin[i].max(sections.begin[j]) < sections.end[i].min(sections.end[j]);
                    prop_assert_eq!(overlap, shared, "{} and {}", i, j);
                }
            }
        }

        #[test]
        fn company_is_what_overlaps(problem in problems(30)) {
            let sections = Sections::of(&problem);
            let company = Company::of(&sections, 0..problem.size.len(), &problem.size);
            for i in 0..problem.size.len() {
                let overlap = |&j: &usize| {
                    sections.begin[i].max(sections.begin[j]) < sections.end[i].min(sections.end[j])
                };
                let overlapping: Vec<usize> = (0..problem.size.len()).filter(overlap).collect();
                let sizes = overlapping.iter().map(|&j| u128::from(problem.size[j]));
                prop_assert_eq!(company.with(&sections, i), (overlapping.len(), sizes.sum()));
            }
        }

        #[test]
        fn totals_are_what_is_live(problem in problems(30)) {
            let sections = Sections::of(&problem);
            let totals = sections.totals(&problem.size);
            for (section, &total) in totals.iter().enumerate() {
                let live = (0..problem.size.len())
                    .filter(|&i| (sections.begin[i]..sections.end[i]).contains(&section));
                prop_assert_eq!(total, live.map(|i| u128::from(problem.size[i])).sum::<u128>());
            }
        }
    }
}
