//! State that is kept between stacks: unwinding rules, and the numbers of written stacks.
//!
//! It is not thread-local, because no destructor of this library may run when a thread ends. There is a fixed number of
//! shards. Each thread prefers one and takes the next free one if that is in use: by another thread, or by itself
//! before a signal interrupted it.

use super::MAX_DEPTH;
use super::memory::Page;
use super::modules::{self, Loaded};
use super::registers::Rules;
use super::traces::{Reads, Traces};
use crate::log;
use std::cell::{Cell, UnsafeCell};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use vramscope_record::layout::{Kind, Stack};

/// More than the number of threads that usually record at the same moment.
const SHARDS: usize = 64;
/// Maximum number of addresses stored in a shard (2 MB). A full shard forgets everything and writes stacks again.
const MAX_ADDRESSES: usize = 1 << 18;

static ALL: [Slot; SHARDS] = [const { Slot::new() }; SHARDS];
static NEXT_THREAD: AtomicU32 = AtomicU32::new(0);
static NEXT_STACK: AtomicU32 = AtomicU32::new(1);

thread_local! {
    /// The preferred shard of this thread; `u32::MAX` before it has one.
    static PREFERRED: Cell<u32> = const { Cell::new(u32::MAX) };
}

/// Aligned to a cache line and the next one, which processors fetch together.
#[repr(align(128))]
struct Slot {
    is_taken: AtomicBool,
    shard: UnsafeCell<Option<Box<Shard>>>,
}

// SAFETY: only the thread that set `is_taken` accesses the shard.
unsafe impl Sync for Slot {}

impl Slot {
    const fn new() -> Self {
        Self {
            is_taken: AtomicBool::new(false),
            shard: UnsafeCell::new(None),
        }
    }
}

/// Exclusive use of a shard until dropped.
pub(super) struct Claim {
    slot: &'static Slot,
    shard: &'static mut Shard,
}

impl Deref for Claim {
    type Target = Shard;

    fn deref(&self) -> &Shard {
        self.shard
    }
}

impl DerefMut for Claim {
    fn deref_mut(&mut self) -> &mut Shard {
        self.shard
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.slot.is_taken.store(false, Ordering::Release);
    }
}

/// Claims a shard for the calling thread; `None` if all are in use.
pub(super) fn claim() -> Option<Claim> {
    let mut preferred = PREFERRED.get();
    if preferred == u32::MAX {
        preferred = NEXT_THREAD.fetch_add(1, Ordering::Relaxed) % SHARDS as u32;
        PREFERRED.set(preferred);
    }
    let (before, from) = ALL.split_at(preferred as usize);
    let slot = from.iter().chain(before).find(|slot| {
        slot.is_taken
            .compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    })?;
    // SAFETY: the slot was free and is taken until the claim is dropped; slots are static.
    let shard = unsafe { &mut *slot.shard.get() };
    let shard = shard.get_or_insert_with(|| Box::new(Shard::new()));
    Some(Claim { slot, shard })
}

pub(super) struct Shard {
    /// Known loaded code; `None` if it is unavailable so far.
    pub(super) loaded: Option<Arc<Loaded>>,
    pub(super) rules: Rules,
    pub(super) traces: Traces,
    /// Buffer for the words that unwinding reads.
    pub(super) reads: Reads,
    pub(super) stacks: Stacks,
    pub(super) page: Page,
    /// Buffer for the addresses of a stack.
    pub(super) addresses: [u64; MAX_DEPTH],
}

impl Shard {
    pub(super) fn new() -> Self {
        Self {
            loaded: None,
            rules: Rules::new(),
            traces: Traces::new(),
            reads: Reads::default(),
            stacks: Stacks::default(),
            page: Page::new(),
            addresses: [0; MAX_DEPTH],
        }
    }

    /// Switches to the newest known loaded code.
    pub(super) fn update(&mut self) {
        let is_newest = self
            .loaded
            .as_ref()
            .is_some_and(|loaded| loaded.version == modules::version());
        if !is_newest && let Some(newest) = modules::newest() {
            self.loaded = Some(newest);
            // The old rules and traces refer to other code.
            self.rules = Rules::new();
            self.traces = Traces::new();
        }
    }
}

/// Written stacks and their numbers.
#[derive(Default)]
pub(super) struct Stacks {
    numbers: HashMap<Box<[u64]>, u32, BuildHasherDefault<AddressHasher>>,
    addresses: usize,
    /// Whether stacks were forgotten for lack of room.
    has_forgotten: bool,
}

impl Stacks {
    /// The number of a written stack.
    pub(super) fn find(&self, stack: &[u64]) -> Option<u32> {
        self.numbers.get(stack).copied()
    }

    /// Writes the first `frames` addresses if they are new. Returns their number, which from now on also stands for the
    /// whole stack; 0 if the log is full. `None` if there are no frames.
    pub(super) fn write(&mut self, stack: &[u64], frames: usize) -> Option<u32> {
        let written = stack.get(..frames).unwrap_or(stack);
        if written.is_empty() {
            return None;
        }
        let number = match self.find(written) {
            Some(number) => number,
            None => {
                let number = NEXT_STACK.fetch_add(1, Ordering::Relaxed);
                let head = Stack {
                    number,
                    frames: written.len() as u32,
                };
                let bytes: Vec<u8> = written.iter().flat_map(|at| at.to_le_bytes()).collect();
                if !modules::write_pending() || !log::put(Kind::Stack, &[&head.to_bytes(), &bytes])
                {
                    return Some(0);
                }
                self.insert(written, number);
                number
            }
        };
        if written.len() < stack.len() {
            self.insert(stack, number);
        }
        Some(number)
    }

    /// Whether all written stacks are here.
    pub(super) fn are_complete(&self) -> bool {
        !self.has_forgotten
    }

    pub(super) fn insert(&mut self, stack: &[u64], number: u32) {
        if self.addresses + stack.len() > MAX_ADDRESSES {
            self.numbers.clear();
            self.has_forgotten = true;
            self.addresses = 0;
        }
        self.addresses += stack.len();
        self.numbers.insert(stack.into(), number);
    }
}

/// Hashes addresses, eight bytes at a time, by folding 128-bit products.
#[derive(Default)]
struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(size_of::<u64>()) {
            let mut word = [0; size_of::<u64>()];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u64(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word ^ 0x2D35_8DCC_AA6C_78A5) * 0x9E37_79B9_7F4A_7C15;
        self.0 = product as u64 ^ (product >> 64) as u64;
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
