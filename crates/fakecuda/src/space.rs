//! The memory of a device: how much is in use, and at which addresses.

use std::collections::BTreeMap;

use crate::entry::{Answer, result};

/// Size of a page of device memory, in bytes.
pub(crate) const PAGE_BYTES: u64 = 2 << 20;
/// Size of a device's address space. It takes real memory only where it is used.
const ARENA_BYTES: u64 = 256 << 30;

/// Address space and memory of a device.
pub(crate) struct Space {
    /// Free address ranges: start → bytes.
    free: BTreeMap<u64, u64>,
    /// Total bytes of memory.
    pub(crate) total: u64,
    /// Bytes held by this process.
    pub(crate) used: u64,
    /// Bytes held by other processes.
    pub(crate) others: u64,
}

impl Space {
    pub(crate) fn new(total: u64, others: u64) -> Self {
        // SAFETY: a new private mapping, which is never unmapped.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                (ARENA_BYTES + PAGE_BYTES) as usize,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        let mut free = BTreeMap::new();
        // Without an address space, every allocation fails.
        if start != libc::MAP_FAILED {
            free.insert((start as u64).next_multiple_of(PAGE_BYTES), ARENA_BYTES);
        }
        Self {
            free,
            total,
            used: 0,
            others: others.min(total),
        }
    }

    /// Bytes that no process holds.
    pub(crate) fn free_bytes(&self) -> u64 {
        self.total - self.used - self.others
    }

    /// Takes the lowest free address range of `bytes`, a multiple of [`PAGE_BYTES`]. Taking the lowest makes addresses
    /// recur as soon as possible.
    ///
    /// # Errors
    ///
    /// `CUDA_ERROR_OUT_OF_MEMORY`.
    pub(crate) fn allocate_range(&mut self, bytes: u64) -> Answer<u64> {
        let fitting = self.free.iter().find(|(_, free)| **free >= bytes);
        let (&start, &free) = fitting.ok_or(result::OUT_OF_MEMORY)?;
        self.free.remove(&start);
        if free > bytes {
            self.free.insert(start + bytes, free - bytes);
        }
        Ok(start)
    }

    /// Returns the memory of an address range to the system.
    pub(crate) fn drop_pages(&self, start: u64, bytes: u64) {
        // SAFETY: a range of this process's own mapping that no block uses any more.
        unsafe { libc::madvise(start as *mut _, bytes as usize, libc::MADV_DONTNEED) };
    }

    /// Frees an address range, and returns its memory to the system.
    pub(crate) fn free_range(&mut self, mut start: u64, mut bytes: u64) {
        self.drop_pages(start, bytes);
        if let Some((&before, &size)) = self.free.range(..start).next_back()
            && before + size == start
        {
            self.free.remove(&before);
            start = before;
            bytes += size;
        }
        if let Some(size) = self.free.remove(&(start + bytes)) {
            bytes += size;
        }
        self.free.insert(start, bytes);
    }
}
