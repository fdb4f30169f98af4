//! Records the caller's stack: unwinds it in process, writes each stack once, and identifies it by a number.
//!
//! framehop unwinds by the `.eh_frame` sections, which are mapped anyway. The result depends only on the words that
//! unwinding reads. So these words are stored with the stack's number ([`traces`]), and most stacks are recognised by
//! comparing words, at half a nanosecond per frame. The dynamic linker is queried for changes only where they matter:
//! before unwind information is first read, and for new stacks ([`modules`]).
//!
//! [`objects`] describes loaded files, [`generated`] code that was generated at run time. [`shards`] holds the state
//! between stacks. [`memory`] reads stacks without faulting, through the kernel if they are not the thread's own.
//! [`checks`] unwinds some recognised stacks again. [`registers`] has the differences between processors.
//!
//! No lock is awaited without a limit (at most 100 ms for the list of modules), and no thread-local destructor runs. A
//! stack that cannot be read is missing, one that can be read in part is short. Functions get their names later, in
//! `capture/src/symbols`, so a log contains only addresses and build ids.

mod checks;
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
use crate::log;
use framehop::{FrameAddress, Unwinder as _};
use vramscope_record::layout::Loss;

/// Maximum number of frames of a stack, whatever the settings.
const MAX_DEPTH: usize = 256;
/// Maximum number of times that a stack is unwound because the loaded code changed meanwhile.
const ATTEMPTS: usize = 3;

/// Records the caller's stack with at most `depth` frames. Returns its number, or 0 if there is none.
#[inline(never)]
pub(crate) fn record(depth: u32) -> u32 {
    let registers = Registers::here();
    let depth = MAX_DEPTH.min(depth as usize);
    if depth == 0 {
        return 0;
    }
    let number = shards::claim().and_then(|mut shard| record_in(&mut shard, registers, depth));
    if number.is_none() {
        log::lost(Loss::NoStack);
    }
    number.unwrap_or(0)
}

/// Records the stack that begins at `registers`. Returns its number, or 0 if the log is full. `None` if there is no
/// stack.
fn record_in(shard: &mut Shard, registers: Registers, depth: usize) -> Option<u32> {
    for attempt in 1..=ATTEMPTS {
        shard.update();
        let Some(loaded) = &shard.loaded else { break };
        let mut memory = StackMemory::above(registers.stack_pointer(), &mut shard.page);
        let start = registers.start(depth);
        if let Some(number) = shard.traces.find(start, &mut memory) {
            checks::check(shard, registers, depth, number);
            return Some(number);
        }
        modules::watch(loaded);
        let addresses = &mut shard.addresses[..depth];
        let frames = unwind(
            loaded,
            &mut shard.rules,
            &mut shard.reads,
            memory,
            registers,
            addresses,
        );
        let stack = &addresses[..frames];
        let has_changed = modules::has_changed();
        if !has_changed && let Some(number) = shard.stacks.find(stack) {
            shard.traces.insert(start, &shard.reads, number);
            return Some(number);
        }
        // The stack is new; only new stacks are worth having their addresses checked.
        let code = loaded.count_code(stack);
        let is_whole = !has_changed && code == frames;
        if is_whole || attempt == ATTEMPTS || !modules::refresh(loaded.version, stack.get(code)) {
            // From the first address without code on, unwinding went astray.
            return shard.stacks.write(stack, code);
        }
    }
    None
}

/// Fills `addresses` with return addresses, innermost first, and returns their number. Leaves out frames of this
/// library.
fn unwind(
    loaded: &Loaded,
    rules: &mut Rules,
    reads: &mut Reads,
    mut memory: StackMemory<'_>,
    registers: Registers,
    addresses: &mut [u64],
) -> usize {
    let mask = registers::address_mask(loaded.highest.max(registers.stack_pointer()));
    let mut state = registers.for_unwinder(mask);
    let mut at = FrameAddress::from_instruction_pointer(registers.instruction_pointer());
    let mut frames = 0;
    reads.clear();
    while frames < addresses.len() {
        // A step reads one or two words.
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
        // Most stacks end with an error, as nothing marks their end.
        let caller = caller.ok().flatten();
        reads.add(words.get(..count), caller, mask, &memory);
        let Some(caller) = caller.and_then(FrameAddress::from_return_address) else {
            break;
        };
        at = caller;
        if frames == 0 && loaded.own.contains(&caller.address()) {
            continue;
        }
        addresses[frames] = caller.address();
        frames += 1;
    }
    frames
}
