//! Who called: the stack by unwinding in process, written once and named by a number.
//!
//! [`modules`] knows what code is loaded and how to unwind through it, from [`objects`] (files) and [`generated`] (made
//! while the program runs), [`shards`] what is kept from stack to stack, [`memory`] how stacks are read without ever faulting,
//! [`registers`] what differs by processor.
//!
//! Nothing here waits for another thread: a stack that cannot be had at once, or not whole, is missing or short.

mod generated;
mod maps;
mod memory;
mod modules;
mod objects;
mod registers;
mod shards;

use self::memory::StackMemory;
use self::registers::Registers;
use self::shards::Shard;
use framehop::{FrameAddress, Unwinder as _};

/// The most frames of a stack, whatever was asked for.
const DEEPEST: usize = 128;
/// How often a stack is unwound because what is loaded was found to have changed meanwhile.
const ATTEMPTS: usize = 3;

/// The number of the caller's stack, at most `depth` frames; 0 if it cannot be had.
#[inline(never)]
pub(crate) fn number(depth: u32) -> u32 {
    let registers = Registers::here();
    let mut addresses = [0; DEEPEST];
    let room = &mut addresses[..DEEPEST.min(depth as usize)];
    if room.is_empty() {
        return 0;
    }
    shards::claim().map_or(0, |mut shard| number_in(&mut shard, registers, room))
}

/// The number of the stack that begins at `registers`, 0 without one. `room` is for its frames.
fn number_in(shard: &mut Shard, registers: Registers, room: &mut [u64]) -> u32 {
    for attempt in 1..=ATTEMPTS {
        let Some(loaded) = shard.update() else { break };
        modules::watch(loaded);
        let frames = unwind(shard, registers, room);
        let stack = &room[..frames];
        let has_changed = modules::has_changed();
        if !has_changed && let Some(number) = shard.stacks.number(stack) {
            return number;
        }
        // It is new. Only now is it worth looking at its addresses.
        let code = shard.loaded().map_or(0, |loaded| loaded.count_code(stack));
        let is_whole = !has_changed && code == frames;
        if is_whole || attempt == ATTEMPTS || !modules::refresh(shard.version(), stack.get(code)) {
            // Behind what is no code, unwinding went astray.
            return shard.stacks.write(stack, code);
        }
    }
    0
}

/// Fills `room` with return addresses, innermost first; returns how many. Frames of this library are left out.
fn unwind(shard: &mut Shard, registers: Registers, room: &mut [u64]) -> usize {
    let Some((loaded, rules, page)) = shard.for_unwinding() else {
        return 0;
    };
    let mut memory = StackMemory::above(registers.stack_pointer(), page);
    let mut read = |address| memory.read(address).ok_or(());
    let mut state = registers.for_unwinder(loaded.highest);
    let mut at = FrameAddress::from_instruction_pointer(registers.instruction_pointer());
    let mut frames = 0;
    while frames < room.len() {
        // An error is the ordinary end of a stack that does not say where it ends.
        let Ok(Some(address)) = loaded
            .unwinder
            .unwind_frame(at, &mut state, rules, &mut read)
        else {
            break;
        };
        let Some(caller) = FrameAddress::from_return_address(address) else {
            break;
        };
        at = caller;
        if frames == 0 && loaded.own.contains(&address) {
            continue;
        }
        room[frames] = address;
        frames += 1;
    }
    frames
}
