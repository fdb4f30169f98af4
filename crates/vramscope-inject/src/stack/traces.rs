//! Recently unwound stacks, with the words read for each and its number.
//!
//! Programs allocate in loops, so most stacks equal one of the last few hundred, word for word. Unwinding depends only
//! on where it begins and on the words that it reads: if these are the same, so is the stack. A comparison takes a
//! nanosecond per word. Unwinding takes ten per frame, and far more where two addresses share a slot in framehop's
//! cache of rules.

use super::memory::StackMemory;

/// Number of sets. The hash of a stack's stack pointer selects its set.
const SETS: usize = 64;
/// Number of stacks per set.
const WAYS: usize = 8;

/// The words read to unwind a stack: addresses and values.
#[derive(Clone, Default)]
pub(super) struct Reads {
    /// Words that determine the result.
    exact: Vec<(u64, u64)>,
    /// Saved frame pointers. Code that uses this register for something else only passes it on, so any other value that
    /// does not point into the stack is equivalent.
    frames: Vec<(u64, u64)>,
    /// Whether the words are complete and all in the thread's own stack.
    are_own: bool,
}

impl Reads {
    pub(super) fn clear(&mut self) {
        self.exact.clear();
        self.frames.clear();
        self.are_own = true;
    }

    /// Adds the words of one step, if they are known. `found` is the return address found by the step, `None` at
    /// the end.
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

/// Whether two values of the frame pointer's register are equivalent.
fn are_alike(a: u64, b: u64, memory: &StackMemory<'_>) -> bool {
    a == b || !(memory.holds(a) || memory.holds(b))
}

/// A stored stack.
struct Trace {
    start: Start,
    reads: Reads,
    number: u32,
}

/// Where unwinding begins, and the maximum number of frames.
#[derive(Clone, Copy)]
pub(super) struct Start {
    pub(super) stack_pointer: u64,
    pub(super) frame_pointer: u64,
    pub(super) depth: usize,
}

/// The stored stacks.
pub(super) struct Traces {
    sets: Vec<Vec<Trace>>,
    /// The entry of a full set that was replaced last.
    oldest: usize,
}

impl Traces {
    pub(super) fn new() -> Self {
        Self {
            sets: (0..SETS).map(|_| Vec::new()).collect(),
            oldest: 0,
        }
    }

    /// The number of the stack that begins here, if it is stored.
    pub(super) fn find(&self, start: Start, memory: &mut StackMemory<'_>) -> Option<u32> {
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

    pub(super) fn insert(&mut self, start: Start, reads: &Reads, number: u32) {
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
