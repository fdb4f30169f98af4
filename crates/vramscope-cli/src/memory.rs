//! The system's allocator, which remembers whether it refused memory: `interruption` has to tell such an abort from others.
//! And a limit to what it hands out.

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint;
use std::sync::atomic::{AtomicBool, Ordering};

#[global_allocator]
static ALLOCATOR: Remembering = Remembering;

static WAS_REFUSED: AtomicBool = AtomicBool::new(false);

static IS_LIMITED: AtomicBool = AtomicBool::new(false);

struct Remembering;

/// Whether memory was refused so far.
pub(crate) fn was_refused() -> bool {
    WAS_REFUSED.load(Ordering::Relaxed)
}

/// Whether not even a little memory is to be had now: as much as a library in C takes at once. Such libraries ask the
/// system themselves, so what they are refused is not remembered.
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

/// Has the system refuse more memory than this, in bytes, unless it already does. The error then speaks of `--memory`.
#[cfg(all(feature = "sql", target_os = "linux"))]
#[expect(unsafe_code, reason = "the standard library knows no limits")]
pub(crate) fn limit(bytes: u64) {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` may be written.
    if unsafe { libc::getrlimit(libc::RLIMIT_DATA, &raw mut limit) } == 0 && limit.rlim_cur > bytes
    {
        limit.rlim_cur = bytes;
        // SAFETY: `limit` is read. Without the limit, queries are only bounded by the machine.
        IS_LIMITED.store(
            unsafe { libc::setrlimit(libc::RLIMIT_DATA, &raw const limit) } == 0,
            Ordering::Relaxed,
        );
    }
}

/// Whether [`limit`] bounds this program.
pub(crate) fn is_limited() -> bool {
    IS_LIMITED.load(Ordering::Relaxed)
}

fn remember(memory: *mut u8) -> *mut u8 {
    if memory.is_null() {
        WAS_REFUSED.store(true, Ordering::Relaxed);
    }
    memory
}

#[expect(unsafe_code, reason = "an allocator is")]
// SAFETY: everything is the system allocator's.
unsafe impl GlobalAlloc for Remembering {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller's.
        remember(unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller's.
        remember(unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: as the caller's.
        remember(unsafe { System.realloc(memory, layout, bytes) })
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as the caller's.
        unsafe { System.dealloc(memory, layout) }
    }
}
