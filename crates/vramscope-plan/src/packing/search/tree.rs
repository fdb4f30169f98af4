//! Depth-first search for a packing of one part, without recursion.
//!
//! After M. D. Moffitt, *MiniMalloc: A Lightweight Memory Allocator for Hardware-Accelerated Machine
//! Learning* (ASPLOS 2023, doi 10.1145/3623278.3624752). Any packing can be pushed down until each buffer
//! lies on another or at 0. So it is enough to place buffers by rising offset, each at the lowest offset that
//! those below it allow, and buffers of equal offset by rising rank. Each pushed-down packing is then met at most
//! once. Where no remaining buffer crosses the border between two sections, both sides are placed independently.
//!
//! A state is only the list of remaining buffers with their least offsets, which reflect the placed ones. So nothing is ever
//! undone: each frame keeps its list, and a try appends its own list after it.

use std::cmp::Reverse;

use super::failed::{Failed, fingerprint};
use super::keys::{INDEX_BITS, at_offset, index_of, merge, offset_of};
use super::part::Buffer;

/// A measure by which buffers are ranked, the greatest first.
#[derive(Clone, Copy, Debug)]
pub(super) enum Measure {
    /// Length of its life.
    Duration,
    /// Length of its life in sections.
    Sections,
    /// Size times length of its life.
    Area,
    /// The most bytes that remain to be placed in any section of its life.
    Total,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// [`Tree::offsets`] are a packing.
    Solved,
    Impossible,
    /// The budget of nodes is used up.
    Limit,
}

/// Buffers to be placed independently of all others.
#[derive(Clone, Copy)]
struct Goal {
    /// Their keys, ascending: `Tree::keys[start..end]`.
    start: usize,
    end: usize,
    /// The sections in which they live: `first..behind`.
    first: usize,
    behind: usize,
    /// Every key placed from here on must be greater than this.
    last: u64,
}

/// A goal being worked on.
struct Frame {
    goal: Goal,
    next: usize,
    /// Upper limit of offsets: at this offset or above, another buffer would fit below.
    ceiling: u64,
    /// `Tree::goals` from this index on are the goals left by the key tried last.
    goals: usize,
    fingerprint: u128,
}

pub(super) struct Tree {
    buffers: Vec<Buffer>,
    /// The highest end that any of them may have.
    capacity: u64,
    order: [Measure; 3],
    keys: Vec<u64>,
    frames: Vec<Frame>,
    goals: Vec<Goal>,
    failed: Failed,
    offsets: Vec<u64>,
    raised: Vec<u64>,
    skipped: Vec<(u64, usize)>,
    /// Scratch: heights by section.
    heights: Vec<u64>,
    /// Scratch: by section, the number of buffers that cross its beginning, minus that of the section before.
    crossings: Vec<i32>,
}

impl Tree {
    /// A search for a packing of `buffers`, which must not be empty.
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

    /// The offset of each buffer in units, once solved.
    pub(super) fn offsets(&self) -> &[u64] {
        &self.offsets
    }

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

    /// Opens the next goal. If it is known to fail, drops the goals of the try that led to it. Returns whether no
    /// goal is left, which means that the part is solved.
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

    /// Gives up the current goal, and with it the last try of the frame above.
    fn fail(&mut self) {
        if let Some(frame) = self.frames.pop() {
            self.failed.insert(frame.fingerprint, frame.goal.last);
        }
        self.drop_goals();
    }

    /// Drops the remaining goals of the last try.
    fn drop_goals(&mut self) {
        let first = self.frames.last().map_or(0, |frame| frame.goals);
        self.goals.truncate(first);
    }

    /// Whether an identical buffer of lower rank than the one at `keys[at]` remains to be placed. Identical buffers are
    /// placed in order of rank.
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

    /// Places the buffer at `keys[at]`. Returns whether the rest may fit; the remaining buffers have then become goals.
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

    /// Whether every section has room for its remaining buffers if each lies as low as possible.
    ///
    /// In a section, buffers follow one another like jobs with release times on one machine. They end soonest when
    /// taken by least offset.
    fn fits(&mut self, goal: Goal) -> bool {
        let keys = &self.keys[goal.start..goal.end];
        let skips = keys.partition_point(|&key| key < goal.last);
        self.skipped.clear();
        for &key in &keys[..skips] {
            // Its turn has passed, so another buffer must still be placed below it, and one that begins below its end:
            // above that, nothing may be placed as long as this one fits.
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

    /// Makes one goal of the remaining buffers, or several if no buffer crosses a border between sections.
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

    /// Makes a goal of the buffers of `left` that live in the sections `first..behind`, and ranks them anew.
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

    /// Ranks the buffers of a goal by the tree's measures.
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
