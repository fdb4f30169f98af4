//! Reads memory of a stack: directly within the thread's own stack, otherwise through the kernel, which never
//! faults.
//!
//! The stacks of signal handlers and coroutines are not the thread's own. Unwinding that has gone astray may read any
//! address.

use std::cell::Cell;
use std::mem::{MaybeUninit, size_of};

/// Size of a read through the kernel. No page is smaller.
const PAGE_BYTES: u64 = 4096;
const WORD_BYTES: u64 = size_of::<u64>() as u64;

thread_local! {
    /// Start and end of the thread's stack; both 0 until they were queried.
    static BOUNDS: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

/// Memory copied by the kernel.
pub(super) struct Page {
    bytes: [u8; PAGE_BYTES as usize],
}

impl Page {
    pub(super) const fn new() -> Self {
        Self {
            bytes: [0; PAGE_BYTES as usize],
        }
    }
}

/// Copies memory of this process. Returns false if it is not readable.
pub(super) fn copy(address: u64, bytes: &mut [u8]) -> bool {
    let here = libc::iovec {
        iov_base: bytes.as_mut_ptr().cast(),
        iov_len: bytes.len(),
    };
    let there = libc::iovec {
        iov_base: address as *mut libc::c_void,
        iov_len: bytes.len(),
    };
    // SAFETY: the kernel writes only to `bytes` and returns an error for unreadable memory.
    let copied = unsafe { libc::process_vm_readv(libc::getpid(), &here, 1, &there, 1, 0) };
    usize::try_from(copied) == Ok(bytes.len())
}

/// The calling thread's stack above an address.
pub(super) struct StackMemory<'p> {
    /// First address that may be read directly.
    start: u64,
    /// Last address of a word that may be read directly.
    last: u64,
    page: &'p mut Page,
    /// Address of the memory in `page`; `None` if `page` is empty.
    page_address: Option<u64>,
}

impl<'p> StackMemory<'p> {
    /// The memory above `stack_pointer`, which must be the calling thread's.
    pub(super) fn above(stack_pointer: u64, page: &'p mut Page) -> Self {
        let (start, end) = bounds();
        let is_own = start <= stack_pointer && stack_pointer + WORD_BYTES <= end;
        Self {
            start: if is_own { stack_pointer } else { u64::MAX },
            last: if is_own { end - WORD_BYTES } else { 0 },
            page,
            page_address: None,
        }
    }

    /// Whether the word at this address is in the thread's own stack.
    #[inline]
    pub(super) fn holds(&self, address: u64) -> bool {
        self.start <= address && address <= self.last
    }

    /// The word at an address; `None` if it is not readable.
    #[inline]
    pub(super) fn read(&mut self, address: u64) -> Option<u64> {
        if self.holds(address) {
            // SAFETY: everything between this thread's stack pointer and the end of its stack is mapped.
            return Some(unsafe { (address as *const u64).read_unaligned() });
        }
        self.read_elsewhere(address)
    }

    #[cold]
    fn read_elsewhere(&mut self, address: u64) -> Option<u64> {
        if !address.is_multiple_of(WORD_BYTES) {
            return None;
        }
        let page = address & !(PAGE_BYTES - 1);
        if self.page_address != Some(page) {
            self.page_address = None;
            if !copy(page, &mut self.page.bytes) {
                return None;
            }
            self.page_address = Some(page);
        }
        let (_, from) = self
            .page
            .bytes
            .split_at_checked((address - page) as usize)?;
        from.first_chunk().map(|word| u64::from_le_bytes(*word))
    }
}

/// Start and end of the calling thread's stack; an empty range if unknown.
fn bounds() -> (u64, u64) {
    let known = BOUNDS.get();
    if known != (0, 0) {
        return known;
    }
    let bounds = query_bounds().unwrap_or((u64::MAX, 0));
    BOUNDS.set(bounds);
    bounds
}

#[cold]
fn query_bounds() -> Option<(u64, u64)> {
    let mut attributes = MaybeUninit::uninit();
    let (mut start, mut bytes) = (std::ptr::null_mut(), 0);
    // SAFETY: the attributes are read only after they were filled, and destroyed once.
    let result = unsafe {
        if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) != 0 {
            return None;
        }
        let result = libc::pthread_attr_getstack(attributes.as_ptr(), &mut start, &mut bytes);
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        result
    };
    let start = start as u64;
    let end = start.checked_add(bytes as u64)?;
    (result == 0 && bytes as u64 >= WORD_BYTES).then_some((start, end))
}
