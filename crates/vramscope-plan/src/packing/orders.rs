//! The orders in which greedy packers place buffers.

use std::cmp::Reverse;
use std::fmt;

use vramscope_core::sorting::rows_by_value;

use super::sections::Company;
use super::{Problem, Sections};
use crate::ranges::leading;

/// The order in which buffers are placed. Ties go to the one that comes first in the problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// By birth: the only order open to an allocator that does not know the future.
    Program,
    /// The largest first, of equal ones the longest-lived.
    Size,
    /// The largest product of size and duration first.
    Area,
    /// The longest-lived first, of equal ones the largest.
    Duration,
    /// The one that overlaps most others in time first, of equal ones the largest.
    Conflicts,
    /// The one that is live at the highest total of live bytes first, of equal ones that with the largest area.
    ContentionArea,
    /// The one that is live at the highest total of live bytes first, of equal ones the longest-lived.
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

/// Buffers in order of placement. Those with equal first keys are sorted by the other keys when needed: sorting a million
/// at once would block for long, and a copy of all keys would take much memory.
pub(super) struct Ordered {
    rows: Vec<u32>,
    /// Number of sorted rows at the beginning.
    sorted: usize,
    keys: Keys,
}

/// The keys of an order, with the data needed to compute them.
enum Keys {
    Program,
    Size,
    Area,
    Duration,
    Conflicts(Company),
    ContentionArea(Busiest),
    ContentionDuration(Busiest),
    Breadth(Busiest),
}

impl Ordered {
    /// Sorts by the first key in O(n log n).
    pub(super) fn new(problem: &Problem, sections: &Sections, order: Order) -> Self {
        let all = problem.size.len();
        let busiest = || Busiest::of(problem, sections);
        let keys = match order {
            Order::Program => Keys::Program,
            Order::Size => Keys::Size,
            Order::Area => Keys::Area,
            Order::Duration => Keys::Duration,
            Order::Conflicts => Keys::Conflicts(Company::of(sections, 0..all, &problem.size)),
            Order::ContentionArea => Keys::ContentionArea(busiest()),
            Order::ContentionDuration => Keys::ContentionDuration(busiest()),
            Order::Breadth => Keys::Breadth(busiest()),
        };
        let first = |buffer| keys.first(problem, sections, buffer);
        let rows = match (0..all).is_sorted_by_key(first) {
            true => (0..all as u32).collect(),
            false => rows_by_value(all, |buffer| Some(first(buffer))),
        };
        Self {
            rows,
            sorted: 0,
            keys,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The buffer at a position: at most one beyond those requested so far.
    pub(super) fn get(
        &mut self,
        problem: &Problem,
        sections: &Sections,
        place: usize,
    ) -> Option<usize> {
        let rows = self
            .rows
            .get_mut(self.sorted..)
            .filter(|_| place >= self.sorted);
        if let Some(rows) = rows.filter(|rows| !rows.is_empty()) {
            let first = |&buffer: &u32| self.keys.first(problem, sections, buffer as usize);
            let least = first(&rows[0]);
            let equal = leading(rows, |buffer| first(buffer) == least);
            self.keys.sort(problem, &mut rows[..equal]);
            self.sorted += equal;
        }
        self.rows.get(place).map(|&buffer| buffer as usize)
    }
}

impl Keys {
    /// The most significant key of a buffer.
    fn first(&self, problem: &Problem, sections: &Sections, buffer: usize) -> u64 {
        match self {
            Self::Program => problem.lower[buffer],
            Self::Size => !problem.size[buffer],
            Self::Area => !((area(problem, buffer) >> 64) as u64),
            Self::Duration => !duration(problem, buffer),
            Self::Conflicts(company) => !(company.with(sections, buffer).0 as u64),
            Self::ContentionArea(busiest) | Self::ContentionDuration(busiest) => {
                busiest.place(buffer)
            }
            Self::Breadth(busiest) => busiest.rank[buffer].into(),
        }
    }

    /// Sorts buffers with equal first keys.
    fn sort(&self, problem: &Problem, rows: &mut [u32]) {
        let size = |buffer: u32| Reverse(problem.size[buffer as usize]);
        let duration = |buffer: u32| Reverse(duration(problem, buffer as usize));
        match self {
            Self::Program => rows.sort_unstable(),
            Self::Size => rows.sort_unstable_by_key(|&row| (duration(row), row)),
            Self::Area | Self::ContentionArea(_) => {
                rows.sort_unstable_by_key(|&row| (Reverse(area(problem, row as usize)), row));
            }
            Self::ContentionDuration(_) => {
                rows.sort_unstable_by_key(|&row| (duration(row), size(row), row));
            }
            Self::Duration | Self::Conflicts(_) | Self::Breadth(_) => {
                rows.sort_unstable_by_key(|&row| (size(row), row));
            }
        }
    }
}

fn duration(problem: &Problem, buffer: usize) -> u64 {
    problem.upper[buffer].saturating_sub(problem.lower[buffer])
}

fn area(problem: &Problem, buffer: usize) -> u128 {
    u128::from(problem.size[buffer]) * u128::from(duration(problem, buffer))
}

/// For each buffer, the section of its life with the most live bytes.
struct Busiest {
    /// By buffer: that section's rank. 0 is the section with the most live bytes, and of equal ones the earliest. The number
    /// of sections stands for a buffer that is never live.
    rank: Vec<u32>,
    /// By rank, the first rank with as many live bytes.
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

    /// Sort key of buffers by the live bytes in that section, most first.
    fn place(&self, buffer: usize) -> u64 {
        let rank = self.rank[buffer];
        self.equal
            .get(rank as usize)
            .map_or(rank, |&equal| equal)
            .into()
    }
}
