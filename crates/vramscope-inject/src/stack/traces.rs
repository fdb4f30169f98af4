//! Stacks that were unwound before: what was read for each, and its number.
//!
//! Programs allocate in loops, so most stacks are one of the last some hundred, word for word. What unwinding finds
//! follows from where it begins and from the words that it reads: as long as those are the same, so is the stack. To
//! look takes a nanosecond per word, where unwinding takes ten per frame and far more where framehop's rules for two
//! addresses share a place.

use super::memory::StackMemory;

/// Stacks are kept by their stack pointer's hash, so many places,
const SETS: usize = 64;
/// so many each.
const WAYS: usize = 8;

/// What was read to unwind a stack: addresses and values.
#[derive(Clone, Default)]
pub(super) struct Reads {
    /// Words that decided what was found.
    exact: Vec<(u64, u64)>,
    /// Frame pointers. Where code keeps something else in that register, it is only handed on: then anything else will
    /// do that is no address in the stack.
    frames: Vec<(u64, u64)>,
    /// Whether this is all, and all of it was in the thread's own stack.
    are_own: bool,
}

impl Reads {
    pub(super) fn clear(&mut self) {
        self.exact.clear();
        self.frames.clear();
        self.are_own = true;
    }

    /// Adds what one step read, if that is known, to find this return address; `None` if it found the end.
    pub(super) fn add(
        &mut self,
        words: Option<&[(u64, u64)]>,
        found: Option<u64>,
        mask: u64,
        memory: &StackMemory<'_>,
    ) {
        self.are_own &= words.is_some();
        for &(address, value) in words.unwrap_or_default() {
            self.are_own &= memory.holds(address);
            if found.is_some_and(|found| found != value & mask) {
                self.frames.push((address, value));
            } else {
                self.exact.push((address, value));
            }
        }
    }

    fn are_same(&self, memory: &mut StackMemory<'_>) -> bool {
        let is_exact = |&(address, value): &(u64, u64)| memory.read(address) == Some(value);
        self.exact.iter().all(is_exact)
            && self.frames.iter().all(|&(address, value)| {
                let now = memory.read(address);
                now.is_some_and(|now| are_alike(now, value, memory))
            })
    }
}

/// Whether it makes no difference which of two is in the register of the frame pointer.
fn are_alike(a: u64, b: u64, memory: &StackMemory<'_>) -> bool {
    a == b || !(memory.holds(a) || memory.holds(b))
}

/// A stack.
struct Trace {
    start: Start,
    reads: Reads,
    number: u32,
}

/// Where unwinding begins, and how many frames are wanted.
#[derive(Clone, Copy)]
pub(super) struct Start {
    pub(super) stack_pointer: u64,
    pub(super) frame_pointer: u64,
    pub(super) depth: usize,
}

/// Those of the last stacks.
pub(super) struct Traces {
    sets: Vec<Vec<Trace>>,
    /// Which one of a set is to be forgotten next.
    oldest: usize,
}

impl Traces {
    pub(super) fn new() -> Self {
        Self {
            sets: (0..SETS).map(|_| Vec::new()).collect(),
            oldest: 0,
        }
    }

    /// The number of the stack that begins here, if it was seen before.
    pub(super) fn number(&self, start: Start, memory: &mut StackMemory<'_>) -> Option<u32> {
        let is_same = |trace: &&Trace| {
            let known = trace.start;
            known.stack_pointer == start.stack_pointer
                && known.depth == start.depth
                && are_alike(known.frame_pointer, start.frame_pointer, memory)
                && trace.reads.are_same(memory)
        };
        let same = self.sets[set(start)].iter().find(is_same)?;
        Some(same.number)
    }

    pub(super) fn remember(&mut self, start: Start, reads: &Reads, number: u32) {
        if !reads.are_own {
            return;
        }
        let trace = Trace {
            start,
            reads: reads.clone(),
            number,
        };
        let set = &mut self.sets[set(start)];
        if set.len() < WAYS {
            set.push(trace);
        } else {
            self.oldest = (self.oldest + 1) % WAYS;
            set[self.oldest] = trace;
        }
    }
}

fn set(start: Start) -> usize {
    (start.stack_pointer.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as usize % SETS
}
