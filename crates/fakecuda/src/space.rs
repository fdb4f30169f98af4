//! A device's memory: how much of it is taken, and at which addresses.

use std::collections::BTreeMap;

use crate::entry::{Answer, result};

/// What the driver maps memory by.
pub(crate) const PAGE: u64 = 2 << 20;
/// Address space of a device. Nothing backs it until it is touched.
const ARENA_BYTES: u64 = 64 << 30;

/// One device's address space and memory.
pub(crate) struct Space {
    /// Free address ranges: start to bytes.
    free: BTreeMap<u64, u64>,
    /// Bytes of memory in all.
    pub(crate) total: u64,
    /// Bytes taken by this process.
    pub(crate) used: u64,
    /// Bytes taken by others.
    pub(crate) others: u64,
}

impl Space {
    pub(crate) fn new(total: u64, others: u64) -> Self {
        // SAFETY: a new private mapping, which is never unmapped.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                (ARENA_BYTES + PAGE) as usize,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        let mut free = BTreeMap::new();
        // Without an address space every allocation is out of memory.
        if start != libc::MAP_FAILED {
            free.insert((start as u64).next_multiple_of(PAGE), ARENA_BYTES);
        }
        Self {
            free,
            total,
            used: 0,
            others: others.min(total),
        }
    }

    /// Bytes that nobody has taken.
    pub(crate) fn free_bytes(&self) -> u64 {
        self.total - self.used - self.others
    }

    /// Takes an address range of `bytes`, a multiple of the page: the lowest that is free, so that addresses come
    /// back as soon as they can.
    ///
    /// # Errors
    ///
    /// `CUDA_ERROR_OUT_OF_MEMORY`.
    pub(crate) fn take_range(&mut self, bytes: u64) -> Answer<u64> {
        let fitting = self.free.iter().find(|(_, free)| **free >= bytes);
        let (&start, &free) = fitting.ok_or(result::OUT_OF_MEMORY)?;
        self.free.remove(&start);
        if free > bytes {
            self.free.insert(start + bytes, free - bytes);
        }
        Ok(start)
    }

    /// Gives an address range back, and what it held to the system.
    pub(crate) fn give_range(&mut self, mut start: u64, mut bytes: u64) {
        // SAFETY: a range of our own mapping that no block uses any more.
        unsafe { libc::madvise(start as *mut _, bytes as usize, libc::MADV_DONTNEED) };
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
