//! Who called: the stack by unwinding in process, written once and named by a number.
//!
//! [`modules`] knows what code is loaded and how to unwind through it, from [`objects`] (files) and [`generated`] (made
//! while the program runs), [`shards`] what is kept from stack to stack, [`traces`] how to know stacks again,
//! [`memory`] how stacks are read without ever faulting, [`registers`] what differs by processor.
//!
//! No lock is waited for without end (for the list of modules 100 ms at most): a stack that cannot be had, or not
//! whole, is missing or short.

mod generated;
mod maps;
mod memory;
mod modules;
mod objects;
mod registers;
mod shards;
mod traces;

use self::memory::StackMemory;
use self::modules::Loaded;
use self::registers::{Registers, Rules};
use self::shards::Shard;
use self::traces::Reads;
use framehop::{FrameAddress, Unwinder as _};

/// The most frames of a stack, whatever was asked for.
const DEEPEST: usize = 128;
/// How often a stack is unwound because what is loaded was found to have changed meanwhile.
const ATTEMPTS: usize = 3;

/// The number of the caller's stack, at most `depth` frames; 0 if it cannot be had.
#[inline(never)]
pub(crate) fn number(depth: u32) -> u32 {
    let registers = Registers::here();
    let depth = DEEPEST.min(depth as usize);
    if depth == 0 {
        return 0;
    }
    shards::claim().map_or(0, |mut shard| number_in(&mut shard, registers, depth))
}

/// The number of the stack that begins at `registers`, 0 without one.
fn number_in(shard: &mut Shard, registers: Registers, depth: usize) -> u32 {
    for attempt in 1..=ATTEMPTS {
        shard.update();
        let Some(loaded) = &shard.loaded else { break };
        let mut memory = StackMemory::above(registers.stack_pointer(), &mut shard.page);
        let start = registers.start(depth);
        if let Some(number) = shard.traces.number(start, &mut memory) {
            return number;
        }
        modules::watch(loaded);
        let room = &mut shard.room[..depth];
        let frames = unwind(
            loaded,
            &mut shard.rules,
            &mut shard.reads,
            memory,
            registers,
            room,
        );
        let stack = &room[..frames];
        let has_changed = modules::has_changed();
        if !has_changed && let Some(number) = shard.stacks.number(stack) {
            shard.traces.remember(start, &shard.reads, number);
            return number;
        }
        // It is new. Only now is it worth looking at its addresses.
        let code = loaded.count_code(stack);
        let is_whole = !has_changed && code == frames;
        if is_whole || attempt == ATTEMPTS || !modules::refresh(loaded.version, stack.get(code)) {
            // Behind what is no code, unwinding went astray.
            return shard.stacks.write(stack, code);
        }
    }
    0
}

/// Fills `room` with return addresses, innermost first; returns how many. Frames of this library are left out.
fn unwind(
    loaded: &Loaded,
    rules: &mut Rules,
    reads: &mut Reads,
    mut memory: StackMemory<'_>,
    registers: Registers,
    room: &mut [u64],
) -> usize {
    let mask = registers::address_mask(loaded.highest.max(registers.stack_pointer()));
    let mut state = registers.for_unwinder(mask);
    let mut at = FrameAddress::from_instruction_pointer(registers.instruction_pointer());
    let mut frames = 0;
    reads.clear();
    while frames < room.len() {
        // A step reads a word or two.
        let mut words = [(0, 0); 4];
        let mut count = 0;
        let mut read = |address| {
            let value = memory.read(address).ok_or(())?;
            if let Some(word) = words.get_mut(count) {
                *word = (address, value);
            }
            count += 1;
            Ok(value)
        };
        let caller = loaded
            .unwinder
            .unwind_frame(at, &mut state, rules, &mut read);
        // Most stacks end with an error, for nothing says where they end.
        let caller = caller.ok().flatten();
        reads.add(words.get(..count), caller, mask, &memory);
        let Some(caller) = caller.and_then(FrameAddress::from_return_address) else {
            break;
        };
        at = caller;
        if frames == 0 && loaded.own.contains(&caller.address()) {
            continue;
        }
        room[frames] = caller.address();
        frames += 1;
    }
    frames
}
