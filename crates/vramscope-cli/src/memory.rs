//! The system's allocator, which remembers whether it refused memory, so that `interruption` can recognise such an
//! abort. It can also limit how much it allocates.

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicIsize, Ordering};

#[global_allocator]
static ALLOCATOR: Remembering = Remembering;

static WAS_REFUSED: AtomicBool = AtomicBool::new(false);

static WAS_OVER_LIMIT: AtomicBool = AtomicBool::new(false);

/// The most bytes that may be allocated, in addition to those from before the limit.
static LIMIT: AtomicIsize = AtomicIsize::new(UNLIMITED);

const UNLIMITED: isize = isize::MAX;

/// Bytes allocated; counted only while there is a limit.
static HELD: AtomicIsize = AtomicIsize::new(0);

struct Remembering;

/// Whether memory was refused so far.
pub(crate) fn was_refused() -> bool {
    WAS_REFUSED.load(Ordering::Relaxed)
}

/// Whether not even a little memory is available now: as much as a C library takes at once. Such libraries allocate
/// from the system directly, so a refusal is not remembered here.
#[expect(unsafe_code, reason = "it asks the allocator")]
pub(crate) fn is_exhausted() -> bool {
    const LITTLE: Layout = Layout::new::<[u8; 1 << 20]>();
    // SAFETY: the layout is not empty.
    let memory = hint::black_box(unsafe { System.alloc(LITTLE) });
    if memory.is_null() {
        return true;
    }
    // SAFETY: it was allocated with this layout.
    unsafe { System.dealloc(memory, LITTLE) };
    false
}

/// From now on, refuses allocations beyond this many bytes.
#[cfg(feature = "sql")]
pub(crate) fn limit(bytes: u64) {
    LIMIT.store(
        isize::try_from(bytes).unwrap_or(isize::MAX),
        Ordering::Relaxed,
    );
}

/// Whether memory was refused because of [`limit`].
pub(crate) fn was_over_limit() -> bool {
    WAS_OVER_LIMIT.load(Ordering::Relaxed)
}

/// Counts an allocation if there is a limit; returns whether it is allowed.
fn take(bytes: usize) -> bool {
    let limit = LIMIT.load(Ordering::Relaxed);
    if limit == UNLIMITED {
        return true;
    }
    let held = HELD.fetch_add(bytes.cast_signed(), Ordering::Relaxed);
    let is_over = held.saturating_add(bytes.cast_signed()) > limit;
    if is_over {
        WAS_OVER_LIMIT.store(true, Ordering::Relaxed);
    }
    !is_over
}

/// Counts freed memory. Memory from before the limit makes the count negative.
fn give(bytes: usize) {
    if LIMIT.load(Ordering::Relaxed) != UNLIMITED {
        HELD.fetch_sub(bytes.cast_signed(), Ordering::Relaxed);
    }
}

/// Allocates unless that exceeds the limit, and remembers a refusal.
fn taken(bytes: usize, allocate: impl FnOnce() -> *mut u8) -> *mut u8 {
    let memory = match take(bytes) {
        true => allocate(),
        false => ptr::null_mut(),
    };
    if memory.is_null() {
        give(bytes);
        WAS_REFUSED.store(true, Ordering::Relaxed);
    }
    memory
}

#[expect(unsafe_code, reason = "an allocator is")]
// SAFETY: everything is the system allocator's, or refused.
unsafe impl GlobalAlloc for Remembering {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller's.
        taken(layout.size(), || unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller's.
        taken(layout.size(), || unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: as the caller's.
        let new = taken(bytes, || unsafe { System.realloc(memory, layout, bytes) });
        if !new.is_null() {
            give(layout.size());
        }
        new
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        give(layout.size());
        // SAFETY: as the caller's.
        unsafe { System.dealloc(memory, layout) }
    }
}
