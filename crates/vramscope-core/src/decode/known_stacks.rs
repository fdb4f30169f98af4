//! A fast path for stacks whose opcodes fetch the same frames from the memo as before.
//!
//! A pickle fetches each frame of a stack by its own opcode, and the same few hundred stacks occur again and again. As long
//! as no memo number is assigned again, equal opcodes fetch equal frames. So a known stack needs one comparison of bytes
//! instead of a fetch for each frame. Input that arrives in small pieces never takes this path, so tests that read files in
//! pieces compare both.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;

use super::opcode as op;
use crate::ids::StackId;

/// Most bytes of opcodes remembered. When that is reached, all are forgotten.
const MOST_BYTES: usize = 1 << 20;
/// Stacks whose hashes share a slot replace each other, so that no file can make chains of them.
const SLOTS: usize = 1 << 13;
/// Marks an empty slot or a missing successor.
const NONE: u32 = u32::MAX;

#[derive(Default)]
pub(super) struct KnownStacks {
    hasher: RandomState,
    bytes: Vec<u8>,
    known: Vec<Known>,
    /// The number of a known stack, by hash.
    slots: Vec<u32>,
    /// The stack found or learned last.
    last: u32,
}

struct Known {
    start: u32,
    length: u32,
    stack: StackId,
    /// The last two stacks that came after this one, the latest first.
    next: [u32; 2],
}

impl KnownStacks {
    /// The stack that the opcodes at the beginning of `bytes` append to a list, and their length with APPENDS.
    #[inline]
    pub(super) fn find(&mut self, bytes: &[u8]) -> Option<(usize, StackId)> {
        let last = self.known.get(self.last as usize)?;
        let [first, second] = last.next;
        let is_next = |next: u32| {
            let known = self.known.get(next as usize);
            known.is_some_and(|known| starts_with(bytes, self.bytes_of(known)))
        };
        let found = if is_next(first) {
            first
        } else if is_next(second) {
            second
        } else {
            self.search(bytes)?
        };
        self.follow(found);
        let known = self.known.get(found as usize)?;
        Some((known.length as usize, known.stack))
    }

    /// Notes that stack `found` came after the last one.
    fn follow(&mut self, found: u32) {
        if let Some(last) = self.known.get_mut(self.last as usize)
            && last.next[0] != found
        {
            last.next = [found, last.next[0]];
        }
        self.last = found;
    }

    fn search(&self, bytes: &[u8]) -> Option<u32> {
        let run = bytes.get(..run_length(bytes)?)?;
        let found = *self.slots.get(self.slot(run))?;
        let known = self.known.get(found as usize)?;
        starts_with(run, self.bytes_of(known)).then_some(found)
    }

    /// Remembers a stack with its opcodes, if they do nothing but fetch its frames and append them to a new list.
    pub(super) fn learn(&mut self, bytes: &[u8], stack: StackId) {
        if run_length(bytes) != Some(bytes.len()) {
            return;
        }
        if self.bytes.len() + bytes.len() > MOST_BYTES {
            self.forget();
        }
        // If there is no memory, nothing is remembered.
        let has_room = self.bytes.try_reserve(bytes.len()).is_ok()
            && self.known.try_reserve(1).is_ok()
            && self.slots.try_reserve(SLOTS - self.slots.len()).is_ok();
        if !has_room || bytes.len() > MOST_BYTES {
            return;
        }
        self.slots.resize(SLOTS, NONE);
        let (number, slot) = (self.known.len() as u32, self.slot(bytes));
        self.slots[slot] = number;
        self.known.push(Known {
            start: self.bytes.len() as u32,
            length: bytes.len() as u32,
            stack,
            next: [NONE; 2],
        });
        self.bytes.extend_from_slice(bytes);
        self.follow(number);
    }

    /// Forgets all stacks, because a memo number was assigned again.
    pub(super) fn forget(&mut self) {
        self.bytes.clear();
        self.known.clear();
        self.slots.clear();
        self.last = 0;
    }

    fn bytes_of(&self, known: &Known) -> &[u8] {
        let start = known.start as usize;
        self.bytes
            .get(start..start + known.length as usize)
            .unwrap_or_default()
    }

    fn slot(&self, run: &[u8]) -> usize {
        self.hasher.hash_one(run) as usize % SLOTS
    }
}

/// Whether `bytes` begin with `start`. The standard library compares byte by byte in wasm.
#[inline(always)]
fn starts_with(bytes: &[u8], start: &[u8]) -> bool {
    let word = |bytes: &[u8; 16]| u128::from_le_bytes(*bytes);
    let Some(bytes) = bytes.get(..start.len()) else {
        return false;
    };
    let pairs = bytes.as_chunks().0.iter().zip(start.as_chunks().0);
    // The last bytes, which may overlap those compared above.
    let are_ends_equal = match (bytes.last_chunk(), start.last_chunk()) {
        (Some(end), Some(end_of_start)) => word(end) == word(end_of_start),
        _ => bytes == start,
    };
    are_ends_equal && pairs.into_iter().all(|(a, b)| word(a) == word(b))
}

/// The length of the BINGETs and LONG_BINGETs at the beginning, with the APPENDS after them; `None` if there is something
/// else or nothing.
fn run_length(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += match *bytes.get(at)? {
            op::LONG_BINGET => 5,
            op::BINGET => 2,
            op::APPENDS if at > 0 => return Some(at + 1),
            _ => return None,
        };
    }
}

#[cfg(test)]
mod tests {
    use vramscope_synth::pickle::raw::Raw;

    use super::super::pieces_tests::decode_both_ways;
    use super::*;

    fn run(frames: std::ops::Range<u32>) -> Vec<u8> {
        let gets = frames.flat_map(|frame| {
            let [low, rest @ ..] = frame.to_le_bytes();
            match rest {
                [0, 0, 0] => vec![op::BINGET, low],
                [b, c, d] => vec![op::LONG_BINGET, low, b, c, d],
            }
        });
        gets.chain([op::APPENDS]).collect()
    }

    #[test]
    fn runs_end_with_appends() {
        let long = run(250..260);
        assert_eq!(run_length(&long), Some(long.len()));
        assert_eq!(run_length(&[&long[..], b"u"].concat()), Some(long.len()));
        assert_eq!(run_length(&long[..long.len() - 1]), None);
        assert_eq!(run_length(&run(7..8)), Some(3));
        assert_eq!(run_length(&run(0..0)), None);
        assert_eq!(run_length(&[&run(0..9)[..18], b"Ne"].concat()), None);
    }

    #[test]
    fn what_was_learnt_is_found_until_it_is_forgotten() {
        let mut stacks = KnownStacks::default();
        let (a, b, short) = (run(0..20), run(5..20), run(0..2));
        assert_eq!(stacks.find(&a), None);
        stacks.learn(&short, StackId(4));
        stacks.learn(&a, StackId(1));
        stacks.learn(&b, StackId(2));
        stacks.learn(b"short e", StackId(3));
        for _ in 0..3 {
            // Bytes after the run are ignored.
            for (run, stack) in [(&a, StackId(1)), (&b, StackId(2)), (&b, StackId(2))] {
                let more = [&run[..], b"(anything"].concat();
                assert_eq!(stacks.find(&more), Some((run.len(), stack)));
            }
        }
        assert_eq!(stacks.find(&short), Some((short.len(), StackId(4))));
        assert_eq!(stacks.find(&run(0..21)), None);
        assert_eq!(stacks.find(&a[..a.len() - 1]), None);
        stacks.forget();
        assert_eq!(stacks.find(&a), None);
        stacks.learn(&b, StackId(2));
        assert_eq!(stacks.find(&b), Some((b.len(), StackId(2))));
    }

    #[test]
    fn the_bytes_that_are_remembered_are_bounded() {
        let mut stacks = KnownStacks::default();
        for first in 0..40_000 {
            stacks.learn(&run(first..first + 20), StackId(first));
            assert!(stacks.bytes.len() <= MOST_BYTES);
        }
        let latest = run(39_999..40_019);
        assert_eq!(stacks.find(&latest), Some((latest.len(), StackId(39_999))));
    }

    fn event(addr: u8, frames: Raw) -> Raw {
        Raw::new()
            .op(op::EMPTY_DICT)
            .op(op::MARK)
            .text("action")
            .text("alloc")
            .text("addr")
            .int1(addr)
            .text("size")
            .int1(1)
            .text("stream")
            .int1(0)
            .text("frames")
            .op(op::EMPTY_LIST)
            .op(op::MARK)
            .bytes(&frames.cut())
            .op(op::APPENDS)
            .op(op::SETITEMS)
    }

    /// Makes a frame and stores it as memo number 1.
    fn frame(name: &str) -> Raw {
        let frame = Raw::new().op(op::EMPTY_DICT).op(op::MARK);
        let frame = frame.text("name").text(name).text("filename").text("f");
        frame.text("line").int1(1).op(op::SETITEMS).binput(1)
    }

    #[test]
    fn a_memo_number_that_is_stored_again_fetches_its_new_frame() {
        let nine = || (0..9).fold(Raw::new(), |run, _| run.binget(1));
        let events = [frame("a"), nine(), nine(), frame("b"), nine(), nine()];
        let start = Raw::proto(2)
            .op(op::EMPTY_DICT)
            .op(op::MARK)
            .text("segments");
        let start = start.op(op::EMPTY_LIST).text("device_traces");
        let start = start.op(op::EMPTY_LIST).op(op::EMPTY_LIST).op(op::MARK);
        let (_, all) = events.into_iter().fold((1, start), |(addr, all), frames| {
            (addr + 1, all.bytes(&event(addr, frames).cut()))
        });
        // Opcodes at the very end take another path than those before.
        let all = all.op(op::APPENDS).op(op::APPEND).op(op::SETITEMS);
        let bytes = all.stop();
        let snapshot = decode_both_ways(&bytes).unwrap();
        let names = snapshot.events.stack.iter().map(|&stack| {
            let frames: Vec<_> = snapshot.stacks.frames(stack).collect();
            let name = snapshot.frames.get(frames[0]).name;
            (frames.len(), snapshot.strings.get(name).to_owned())
        });
        let expected = [(1, "a"), (9, "a"), (9, "a"), (1, "b"), (9, "b"), (9, "b")];
        let expected = expected.map(|(count, name)| (count, name.to_owned()));
        assert_eq!(names.collect::<Vec<_>>(), expected);
    }
}
