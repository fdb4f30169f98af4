//! Reading a stack's memory: directly within the thread's own stack, else by asking the kernel, which does not fault.
//!
//! Signal handlers' and coroutines' stacks are not the thread's own, and where unwinding goes astray it asks for any
//! address at all.

use std::cell::Cell;
use std::mem::{MaybeUninit, size_of};

/// The unit in which the kernel is asked. No page is smaller.
const PAGE_BYTES: u64 = 4096;
const WORD_BYTES: u64 = size_of::<u64>() as u64;

thread_local! {
    /// First address of the thread's stack and the one behind it; both 0 until they were asked for.
    static BOUNDS: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

/// Memory that the kernel copied.
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

/// Copies memory of this process; false if it cannot be read.
pub(super) fn copy(address: u64, bytes: &mut [u8]) -> bool {
    let here = libc::iovec {
        iov_base: bytes.as_mut_ptr().cast(),
        iov_len: bytes.len(),
    };
    let there = libc::iovec {
        iov_base: address as *mut libc::c_void,
        iov_len: bytes.len(),
    };
    // SAFETY: The kernel writes to nothing but `bytes`, and answers with an error for what cannot be read.
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
    /// Address of what `page` holds; `None` for nothing.
    page_address: Option<u64>,
}

impl<'p> StackMemory<'p> {
    /// That above `stack_pointer`, which is the calling thread's.
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

    /// Whether a word at this address is one of the thread's own stack.
    #[inline]
    pub(super) fn holds(&self, address: u64) -> bool {
        self.start <= address && address <= self.last
    }

    /// The word at an address; `None` if it cannot be read.
    #[inline]
    pub(super) fn read(&mut self, address: u64) -> Option<u64> {
        if self.holds(address) {
            // SAFETY: Between this thread's stack pointer and the end of its stack all is mapped.
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

/// First address of the calling thread's stack, and the one behind it; an empty range if that is unknown.
fn bounds() -> (u64, u64) {
    let known = BOUNDS.get();
    if known != (0, 0) {
        return known;
    }
    let asked = ask_bounds().unwrap_or((u64::MAX, 0));
    BOUNDS.set(asked);
    asked
}

#[cold]
fn ask_bounds() -> Option<(u64, u64)> {
    let mut attributes = MaybeUninit::uninit();
    let (mut start, mut bytes) = (std::ptr::null_mut(), 0);
    // SAFETY: The attributes are read only after they were filled, and destroyed once.
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
