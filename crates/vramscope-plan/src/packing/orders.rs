//! The orders in which greedy packers place buffers.

use std::cmp::Reverse;
use std::fmt;

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
pub(super) fn ordered(problem: &Problem, sections: &Sections, order: Order) -> Vec<usize> {
    let size = |i: usize| Reverse(problem.size[i]);
    let duration = |i: usize| Reverse(problem.upper[i].saturating_sub(problem.lower[i]));
    let area = |i: usize| Reverse(u128::from(size(i).0) * u128::from(duration(i).0));
    let all = 0..problem.size.len();
    match order {
        Order::Program => sorted(all, |i| problem.lower[i]),
        Order::Size => sorted(all, |i| (size(i), duration(i))),
        Order::Area => sorted(all, area),
        Order::Duration => sorted(all, |i| (duration(i), size(i))),
        Order::Conflicts => {
            let company = Company::of(sections, all.clone(), &problem.size);
            sorted(all, |i| (Reverse(company.with(sections, i).0), size(i)))
        }
        Order::ContentionArea => {
            let busiest = Busiest::of(problem, sections);
            sorted(all, |i| (Reverse(busiest.total(i)), area(i)))
        }
        Order::ContentionDuration => {
            let busiest = Busiest::of(problem, sections);
            sorted(all, |i| (Reverse(busiest.total(i)), duration(i), size(i)))
        }
        Order::Breadth => {
            let busiest = Busiest::of(problem, sections);
            sorted(all, |i| (busiest.rank[i], size(i)))
        }
    }
}

fn sorted<K: Ord>(all: std::ops::Range<usize>, key: impl Fn(usize) -> K) -> Vec<usize> {
    let mut keyed: Vec<(K, usize)> = all.map(|i| (key(i), i)).collect();
    keyed.sort_unstable();
    keyed.into_iter().map(|(_, i)| i).collect()
}

/// For each buffer, the section of its life with the most live bytes.
struct Busiest {
    /// By buffer: that section's rank. 0 is the section with the most live bytes of all; of equals the earlier comes
    /// first. The number of sections stands for a buffer that is never live.
    rank: Vec<usize>,
    /// Live bytes by rank.
    totals: Vec<u128>,
}

impl Busiest {
    fn of(problem: &Problem, sections: &Sections) -> Self {
        let totals = sections.totals(&problem.size);
        let order = sorted(0..totals.len(), |section| Reverse(totals[section]));
        // A segment tree, leaves last, that finds the lowest rank in any range of sections.
        let leaves = sections.count;
        let mut tree = vec![usize::MAX; 2 * leaves];
        for (rank, &section) in order.iter().enumerate() {
            tree[leaves + section] = rank;
        }
        for node in (1..leaves).rev() {
            tree[node] = tree[2 * node].min(tree[2 * node + 1]);
        }
        let lowest = |begin: usize, end: usize| {
            let (mut begin, mut end, mut lowest) = (begin + leaves, end + leaves, leaves);
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
            totals: order.into_iter().map(|section| totals[section]).collect(),
        }
    }

    /// Live bytes in that section.
    fn total(&self, buffer: usize) -> u128 {
        self.totals.get(self.rank[buffer]).copied().unwrap_or(0)
    }
}
