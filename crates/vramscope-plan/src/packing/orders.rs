//! The orders in which greedy packers place buffers.

use std::cmp::Reverse;
use std::fmt;

use vramscope_core::sorting::rows_by_value;

use super::sections::Company;
use super::{Problem, Sections};

/// The order in which buffers are placed. Ties go to the one that comes first in the problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// By birth: the only order open to an allocator that does not know the future.
    Program,
    /// The largest first; of equals the one that lives longest.
    Size,
    /// The largest product of size and duration first.
    Area,
    /// The one that lives longest first; of equals the largest.
    Duration,
    /// The one that overlaps most others in time first; of equals the largest.
    Conflicts,
    /// The one that is live at the highest total of live bytes first; of equals the one with the largest area.
    ContentionArea,
    /// The one that is live at the highest total of live bytes first; of equals the one that lives longest.
    ContentionDuration,
    /// Sections by live bytes, the highest first; within each, its buffers from the largest down (Pisarchyk and Lee,
    /// arXiv 2001.03288).
    Breadth,
}

impl Order {
    /// All orders. Those that are best for most problems come first.
    pub const ALL: [Self; 8] = [
        Self::Size,
        Self::ContentionDuration,
        Self::Program,
        Self::Breadth,
        Self::Duration,
        Self::Conflicts,
        Self::ContentionArea,
        Self::Area,
    ];
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Program => "in program order",
            Self::Size => "by size",
            Self::Area => "by area",
            Self::Duration => "by duration",
            Self::Conflicts => "by conflicts",
            Self::ContentionArea => "by contention and area",
            Self::ContentionDuration => "by contention and duration",
            Self::Breadth => "by breadth",
        })
    }
}

/// Sorts the buffers of a problem in O(n log n).
pub(super) fn ordered(problem: &Problem, sections: &Sections, order: Order) -> Vec<u32> {
    let size = |i: usize| Reverse(problem.size[i]);
    let duration = |i: usize| Reverse(problem.upper[i].saturating_sub(problem.lower[i]));
    let area = |i: usize| Reverse(u128::from(size(i).0) * u128::from(duration(i).0));
    let all = problem.size.len();
    match order {
        Order::Program => sorted(all, |i| problem.lower[i], |_| ()),
        Order::Size => sorted(all, |i| !problem.size[i], duration),
        Order::Area => sorted(all, |i| !((area(i).0 >> 64) as u64), area),
        Order::Duration => sorted(all, |i| !duration(i).0, size),
        Order::Conflicts => {
            let company = Company::of(sections, 0..all, &problem.size);
            sorted(all, |i| !(company.with(sections, i).0 as u64), size)
        }
        Order::ContentionArea => {
            let busiest = Busiest::of(problem, sections);
            sorted(all, |i| busiest.place(i), area)
        }
        Order::ContentionDuration => {
            let busiest = Busiest::of(problem, sections);
            sorted(all, |i| busiest.place(i), |i| (duration(i), size(i)))
        }
        Order::Breadth => {
            let busiest = Busiest::of(problem, sections);
            sorted(all, |i| busiest.rank[i].into(), size)
        }
    }
}

/// Sorts by a first key, and what is equal there by the others: there is no copy of all keys.
fn sorted<K: Ord>(
    all: usize,
    first: impl Fn(usize) -> u64,
    others: impl Fn(usize) -> K,
) -> Vec<u32> {
    if (0..all).is_sorted_by_key(|i| (first(i), others(i))) {
        return (0..all as u32).collect();
    }
    let mut rows = rows_by_value(all, |i| Some(first(i)));
    for equal in rows.chunk_by_mut(|&a, &b| first(a as usize) == first(b as usize)) {
        equal.sort_unstable_by_key(|&i| (others(i as usize), i));
    }
    rows
}

/// For each buffer, the section of its life with the most live bytes.
struct Busiest {
    /// By buffer: that section's rank. 0 is the section with the most live bytes of all; of equals the earlier comes
    /// first. The number of sections stands for a buffer that is never live.
    rank: Vec<u32>,
    /// By rank, the first rank of as many live bytes.
    equal: Vec<u32>,
}

impl Busiest {
    fn of(problem: &Problem, sections: &Sections) -> Self {
        let totals = sections.totals(&problem.size);
        let total = |section: u32| totals[section as usize];
        let mut order: Vec<u32> = (0..sections.count as u32).collect();
        order.sort_unstable_by_key(|&section| (Reverse(total(section)), section));
        let mut equal: Vec<u32> = Vec::with_capacity(order.len());
        for (rank, &section) in (0..).zip(&order) {
            let last = equal.last().copied();
            let last = last.filter(|&last| total(order[last as usize]) == total(section));
            equal.push(last.unwrap_or(rank));
        }
        // A segment tree, leaves last, that finds the lowest rank in any range of sections.
        let leaves = sections.count;
        let mut tree = vec![u32::MAX; 2 * leaves];
        for (rank, section) in (0..).zip(order) {
            tree[leaves + section as usize] = rank;
        }
        for node in (1..leaves).rev() {
            tree[node] = tree[2 * node].min(tree[2 * node + 1]);
        }
        let lowest = |begin: usize, end: usize| {
            let (mut begin, mut end) = (begin + leaves, end + leaves);
            let mut lowest = leaves as u32;
            while begin < end {
                if begin % 2 == 1 {
                    lowest = lowest.min(tree[begin]);
                    begin += 1;
                }
                if end % 2 == 1 {
                    end -= 1;
                    lowest = lowest.min(tree[end]);
                }
                (begin, end) = (begin / 2, end / 2);
            }
            lowest
        };
        let lives = sections.begin.iter().zip(&sections.end);
        Self {
            rank: lives.map(|(&begin, &end)| lowest(begin, end)).collect(),
            equal,
        }
    }

    /// Sort key of buffers by the live bytes in that section, the most first.
    fn place(&self, buffer: usize) -> u64 {
        let rank = self.rank[buffer];
        self.equal
            .get(rank as usize)
            .map_or(rank, |&equal| equal)
            .into()
    }
}
