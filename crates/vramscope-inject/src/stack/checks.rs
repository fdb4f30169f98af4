//! Checks of recognised stacks, which are normally not unwound again. With `VRAMSCOPE_CHECK_STACKS=1000` in the
//! environment every thousandth is, and each difference is counted ([`Loss::WrongStack`]). For developers of the
//! recorder.

use super::memory::StackMemory;
use super::modules;
use super::registers::Registers;
use super::shards::Shard;
use crate::log;
use std::sync::atomic::{AtomicU32, Ordering};
use vramscope_record::layout::Loss;

/// One in this many recognised stacks is checked; 0 checks none.
static INTERVAL: AtomicU32 = AtomicU32::new(UNREAD);
const UNREAD: u32 = u32::MAX;
/// Number of recognised stacks.
static REMEMBERED: AtomicU32 = AtomicU32::new(0);

/// Checks a recognised stack if its turn has come.
#[inline]
pub(super) fn check(shard: &mut Shard, registers: Registers, depth: usize, number: u32) {
    match INTERVAL.load(Ordering::Relaxed) {
        0 => {}
        interval => check_some(interval, shard, registers, depth, number),
    }
}

#[cold]
fn check_some(interval: u32, shard: &mut Shard, registers: Registers, depth: usize, number: u32) {
    let interval = if interval == UNREAD {
        read_interval()
    } else {
        interval
    };
    let is_due = interval != 0
        && REMEMBERED
            .fetch_add(1, Ordering::Relaxed)
            .is_multiple_of(interval);
    if is_due && is_right(shard, registers, depth, number) == Some(false) {
        log::lost(Loss::WrongStack);
    }
}

fn read_interval() -> u32 {
    let text = std::env::var("VRAMSCOPE_CHECK_STACKS").unwrap_or_default();
    let interval = text.parse().unwrap_or(0);
    INTERVAL.store(interval, Ordering::Relaxed);
    interval
}

/// Whether the stack that begins at `registers` has this number. `None` if unknown.
fn is_right(shard: &mut Shard, registers: Registers, depth: usize, number: u32) -> Option<bool> {
    let loaded = shard.loaded.as_ref()?;
    let memory = StackMemory::above(registers.stack_pointer(), &mut shard.page);
    modules::watch(loaded);
    let addresses = &mut shard.addresses[..depth];
    let frames = super::unwind(
        loaded,
        &mut shard.rules,
        &mut shard.reads,
        memory,
        registers,
        addresses,
    );
    if modules::has_changed() {
        return None;
    }
    match shard.stacks.find(&addresses[..frames]) {
        Some(found) => Some(found == number),
        None if shard.stacks.are_complete() => Some(false),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the number is right, once no library is being loaded.
    fn verdict(shard: &mut Shard, registers: Registers, number: u32) -> bool {
        loop {
            if let Some(verdict) = is_right(shard, registers, 64, number) {
                return verdict;
            }
            let version = shard.loaded.as_ref().map_or(0, |loaded| loaded.version);
            modules::refresh(version, None);
            shard.update();
        }
    }

    #[test]
    fn another_stack_is_noticed() {
        let mut shard = Shard::new();
        shard.update();
        let registers = Registers::here();
        assert!(!verdict(&mut shard, registers, 1));
        let frames = shard.addresses.iter().take_while(|&&address| address != 0);
        let stack = shard.addresses[..frames.count()].to_vec();
        assert!(!stack.is_empty());
        shard.stacks.insert(&stack, 7);
        assert!(verdict(&mut shard, registers, 7));
        assert!(!verdict(&mut shard, registers, 8));
    }
}
