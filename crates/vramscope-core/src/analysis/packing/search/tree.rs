//! Depth-first search for a packing of one part, without recursion.
//!
//! After M. D. Moffitt, *MiniMalloc: A Lightweight Memory Allocator for Hardware-Accelerated Machine
//! Learning* (ASPLOS 2023, doi 10.1145/3623278.3624752). Any packing can be pushed down until each buffer
//! lies on another or at 0, so it is enough to place buffers by rising offset, each at the least that
//! those placed below allow, and of equal offsets by rising rank: each pushed-down packing is met at most
//! once. Where no buffer that is left crosses a section's border, both sides are placed independently.
//!
//! A state is only the buffers to place with their least offsets; what is placed speaks through these.
//! So nothing is ever undone: a frame keeps its list, and what it tries writes its own behind it.

use std::cmp::Reverse;

use super::failed::{Failed, fingerprint};
use super::keys::{INDEX_BITS, at_offset, index_of, merge, offset_of};
use super::part::Buffer;

/// What buffers are ranked by; the greatest first.
#[derive(Clone, Copy, Debug)]
pub(super) enum Measure {
    /// How long it lives.
    Duration,
    /// The same in sections.
    Sections,
    /// Size times duration.
    Area,
    /// The most bytes that are left to place in any section of its life.
    Total,
}

/// What became of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// [`Tree::offsets`] are a packing.
    Solved,
    /// There is none.
    Impossible,
    /// The nodes that it was to visit are used up.
    Limit,
}

/// Buffers that are to be placed independently of all others.
#[derive(Clone, Copy)]
struct Goal {
    /// Their keys, ascending: `Tree::keys[start..end]`.
    start: usize,
    end: usize,
    /// The sections in which they live.
    first: usize,
    behind: usize,
    /// Every key that is placed must be greater.
    last: u64,
}

/// A goal that is being worked on.
struct Frame {
    goal: Goal,
    /// The next key to try.
    next: usize,
    /// No offset may be this or greater: something else would fit below.
    ceiling: u64,
    /// `Tree::goals` from here on are what the key that was tried last leaves.
    goals: usize,
    fingerprint: u128,
}

/// The search.
pub(super) struct Tree {
    buffers: Vec<Buffer>,
    /// The highest that any of them may end.
    capacity: u64,
    order: [Measure; 3],
    keys: Vec<u64>,
    frames: Vec<Frame>,
    goals: Vec<Goal>,
    failed: Failed,
    offsets: Vec<u64>,
    raised: Vec<u64>,
    skipped: Vec<(u64, usize)>,
    /// By section.
    heights: Vec<u64>,
    /// By section, how many more cross its beginning than that of the section before it.
    crossings: Vec<i32>,
}

impl Tree {
    /// Looks for a packing of `buffers`, of which there is at least one.
    pub(super) fn new(buffers: Vec<Buffer>, sections: usize, order: [Measure; 3]) -> Self {
        let count = buffers.len();
        let mut tree = Self {
            capacity: buffers.iter().map(Buffer::highest_end).max().unwrap_or(0),
            order,
            keys: (0..count as u64).collect(),
            frames: Vec::new(),
            goals: Vec::new(),
            failed: Failed::new(count),
            offsets: vec![0; count],
            raised: Vec::with_capacity(count),
            skipped: Vec::new(),
            heights: vec![0; sections],
            crossings: vec![0; sections + 1],
            buffers,
        };
        let all = Goal {
            start: 0,
            end: count,
            first: 0,
            behind: sections,
            last: 0,
        };
        tree.rank(all);
        if tree.fits(all) {
            tree.split(all);
            tree.open();
        }
        tree
    }

    /// Where each buffer lies, in units, once solved.
    pub(super) fn offsets(&self) -> &[u64] {
        &self.offsets
    }

    /// Visits up to `nodes` more nodes.
    pub(super) fn run(&mut self, nodes: u64) -> Outcome {
        for _ in 0..nodes {
            let Some(frame) = self.frames.last_mut() else {
                return Outcome::Impossible;
            };
            let at = frame.next;
            if at == frame.goal.end || offset_of(self.keys[at]) >= frame.ceiling {
                self.fail();
            } else {
                frame.next += 1;
                if !self.has_twin_below(at) && self.place(at) && self.open() {
                    return Outcome::Solved;
                }
            }
        }
        Outcome::Limit
    }

    /// Opens the next goal, or gives up what led to it if it cannot be reached; whether there is none left.
    fn open(&mut self) -> bool {
        loop {
            let first = self.frames.last().map_or(0, |frame| frame.goals);
            if self.goals.len() > first {
                break;
            }
            if self.frames.pop().is_none() {
                return true;
            }
        }
        let Some(goal) = self.goals.pop() else {
            return true;
        };
        let keys = &self.keys[goal.start..goal.end];
        let fingerprint = fingerprint(keys);
        if self.failed.contains(fingerprint, goal.last) {
            self.drop_goals();
            return false;
        }
        let ends = keys
            .iter()
            .map(|&key| offset_of(key) + self.buffers[index_of(key)].size);
        self.frames.push(Frame {
            next: goal.start + keys.partition_point(|&key| key < goal.last),
            ceiling: ends.min().unwrap_or(0),
            goals: self.goals.len(),
            goal,
            fingerprint,
        });
        false
    }

    /// Gives up the goal that is worked on, and with it what was tried last above it.
    fn fail(&mut self) {
        if let Some(frame) = self.frames.pop() {
            self.failed.insert(frame.fingerprint, frame.goal.last);
        }
        self.drop_goals();
    }

    /// Drops what is left of what was tried last.
    fn drop_goals(&mut self) {
        let first = self.frames.last().map_or(0, |frame| frame.goals);
        self.goals.truncate(first);
    }

    /// Whether something just like the buffer at `keys[at]`, of lower rank, is still to place: of such, the
    /// lowest in rank is always placed first.
    fn has_twin_below(&self, at: usize) -> bool {
        let Some(frame) = self.frames.last() else {
            return false;
        };
        let key = self.keys[at];
        let below = self.keys[frame.goal.start..at].iter().rev();
        below
            .take_while(|&&other| offset_of(other) == offset_of(key))
            .any(|&other| self.buffers[index_of(other)].is_like(&self.buffers[index_of(key)]))
    }

    /// Places the buffer at `keys[at]`; whether the rest may fit. If so, what is left has become goals.
    fn place(&mut self, at: usize) -> bool {
        let Some(frame) = self.frames.last() else {
            return false;
        };
        let goal = frame.goal;
        let key = self.keys[at];
        let placed = self.buffers[index_of(key)];
        let top = offset_of(key) + placed.size;
        self.keys.truncate(goal.end);
        self.raised.clear();
        for i in goal.start..goal.end {
            if i == at {
                continue;
            }
            let other = self.keys[i];
            let buffer = &self.buffers[index_of(other)];
            if offset_of(other) >= top || !buffer.overlaps(&placed) {
                self.keys.push(other);
                continue;
            }
            let offset = buffer.aligned(top);
            if offset > buffer.highest {
                return false;
            }
            self.raised.push(at_offset(other, offset));
        }
        merge(&mut self.keys, goal.end, &mut self.raised);
        let left = Goal {
            start: goal.end,
            end: self.keys.len(),
            last: key,
            ..goal
        };
        if !self.fits(left) {
            return false;
        }
        self.offsets[index_of(key)] = offset_of(key);
        self.split(left);
        true
    }

    /// Whether each section has room for what is to be placed in it, each buffer as low as it can be.
    ///
    /// In a section buffers follow one another as jobs do on one machine, none before its least offset:
    /// they end soonest in the order of these.
    fn fits(&mut self, goal: Goal) -> bool {
        let keys = &self.keys[goal.start..goal.end];
        let skips = keys.partition_point(|&key| key < goal.last);
        self.skipped.clear();
        for &key in &keys[..skips] {
            // Its turn has passed, so something must come to lie below it, and that at once: from its end on
            // upwards nothing may be placed while it still fits below.
            let index = index_of(key);
            let buffer = &self.buffers[index];
            let under = keys
                .iter()
                .take_while(|&&other| offset_of(other) < offset_of(key) + buffer.size)
                .filter(|&&other| other != key && self.buffers[index_of(other)].overlaps(buffer))
                .map(|&other| {
                    offset_of(other).max(offset_of(goal.last)) + self.buffers[index_of(other)].size
                });
            let Some(offset) = under.min().map(|end| buffer.aligned(end)) else {
                return false;
            };
            if offset > buffer.highest {
                return false;
            }
            self.skipped.push((offset, index));
        }
        self.skipped.sort_unstable();
        self.heights[goal.first..goal.behind].fill(0);
        let mut skipped = self.skipped.iter().copied().peekable();
        for &key in &keys[skips..] {
            while let Some((offset, index)) =
                skipped.next_if(|&(offset, _)| offset <= offset_of(key))
            {
                self.buffers[index].stack(offset, &mut self.heights);
            }
            self.buffers[index_of(key)].stack(offset_of(key), &mut self.heights);
        }
        for (offset, index) in skipped {
            self.buffers[index].stack(offset, &mut self.heights);
        }
        let heights = &self.heights[goal.first..goal.behind];
        heights.iter().all(|&height| height <= self.capacity)
    }

    /// Makes a goal of what is left, or several where no buffer crosses a border any more.
    fn split(&mut self, left: Goal) {
        let crossings = &mut self.crossings[left.first..=left.behind];
        crossings.fill(0);
        for &key in &self.keys[left.start..left.end] {
            let sections = self.buffers[index_of(key)].sections();
            crossings[sections.start + 1 - left.first] += 1;
            crossings[sections.end - left.first] -= 1;
        }
        let (mut crossing, mut first) = (0, left.first);
        for border in left.first + 1..=left.behind {
            crossing += self.crossings[border];
            if crossing > 0 {
                continue;
            }
            if first == left.first && border == left.behind {
                if left.start < left.end {
                    self.goals.push(left);
                }
                return;
            }
            self.separate(left, first, border);
            first = border;
        }
    }

    /// Makes a goal of those of `left` that live in the sections `first..behind`, with ranks of their own.
    fn separate(&mut self, left: Goal, first: usize, behind: usize) {
        let start = self.keys.len();
        for i in left.start..left.end {
            let key = self.keys[i];
            let sections = self.buffers[index_of(key)].sections();
            if first <= sections.start && sections.end <= behind {
                self.keys.push(key);
            }
        }
        if start == self.keys.len() {
            return;
        }
        let goal = Goal {
            start,
            end: self.keys.len(),
            first,
            behind,
            last: 0,
        };
        self.rank(goal);
        self.goals.push(goal);
    }

    /// Ranks what is to be placed in the tree's order.
    fn rank(&mut self, goal: Goal) {
        self.heights[goal.first..goal.behind].fill(0);
        let keys = &mut self.keys[goal.start..goal.end];
        for &key in &*keys {
            self.buffers[index_of(key)].stack(0, &mut self.heights);
        }
        let measured = |index: usize| {
            let buffer = &self.buffers[index];
            self.order.map(|measure| match measure {
                Measure::Duration => buffer.duration.into(),
                Measure::Sections => buffer.sections().len() as u128,
                Measure::Area => u128::from(buffer.size) * u128::from(buffer.duration),
                Measure::Total => {
                    let totals = self.heights[buffer.sections()].iter();
                    totals.copied().max().unwrap_or(0).into()
                }
            })
        };
        keys.sort_by_cached_key(|&key| (Reverse(measured(index_of(key))), index_of(key)));
        for (rank, key) in (0..).zip(keys.iter_mut()) {
            let index = index_of(*key) as u64;
            *key = at_offset(rank << INDEX_BITS | index, offset_of(*key));
        }
        keys.sort_unstable();
    }
}
