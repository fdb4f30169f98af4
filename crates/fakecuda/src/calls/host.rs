//! Pinned host memory.

use std::ffi::{c_uint, c_void};

use crate::driver::{Driver, Host};
use crate::entry::{Answer, result, write_out};

driver! {
    fn cuMemHostAlloc(address: *mut *mut c_void, bytes: usize, flags: c_uint) |driver| {
        allocate(driver, address, bytes, flags)
    }

    fn cuMemAllocHost_v2(address: *mut *mut c_void, bytes: usize) |driver| {
        allocate(driver, address, bytes, 0)
    }

    fn cuMemFreeHost(address: *mut c_void) |driver| {
        match driver.host.get(&(address as u64)) {
            Some(host) if !host.is_registered => driver.free_host(address as u64),
            _ => fail(driver, address, result::INVALID_VALUE),
        }
    }

    fn cuMemHostRegister_v2, cuMemHostRegister(address: *mut c_void, bytes: usize, flags: c_uint) |driver| {
        let (context, _) = driver.current()?;
        if address.is_null() || bytes == 0 {
            return Err(result::INVALID_VALUE);
        }
        if driver.host.contains_key(&(address as u64)) {
            return Err(result::HOST_MEMORY_ALREADY_REGISTERED);
        }
        add(driver, address, bytes, context, flags, true);
        Ok(())
    }

    fn cuMemHostUnregister(address: *mut c_void) |driver| {
        match driver.host.get(&(address as u64)) {
            Some(host) if host.is_registered => driver.free_host(address as u64),
            _ => fail(driver, address, result::HOST_MEMORY_NOT_REGISTERED),
        }
    }

    fn cuMemHostGetDevicePointer_v2(device: *mut u64, address: *mut c_void, _flags: c_uint) |driver| {
        match driver.host.contains_key(&(address as u64)) {
            true => write_out(device, address as u64),
            false => Err(result::INVALID_VALUE),
        }
    }

    fn cuMemHostGetFlags(flags: *mut c_uint, address: *mut c_void) |driver| {
        let host = driver.host.get(&(address as u64)).ok_or(result::INVALID_VALUE)?;
        write_out(flags, host.flags)
    }
}

fn allocate(driver: &mut Driver, place: *mut *mut c_void, bytes: usize, flags: c_uint) -> Answer {
    let (context, _) = driver.current()?;
    if bytes == 0 {
        return Err(result::INVALID_VALUE);
    }
    // SAFETY: a new mapping.
    let address = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    if address == libc::MAP_FAILED {
        return Err(result::OUT_OF_MEMORY);
    }
    add(driver, address, bytes, context, flags, false);
    write_out(place, address)
}

fn add(
    driver: &mut Driver,
    address: *mut c_void,
    bytes: usize,
    context: u64,
    flags: u32,
    is_registered: bool,
) {
    let host = Host {
        bytes: bytes as u64,
        context,
        flags,
        is_registered,
    };
    driver.host.insert(address as u64, host);
    driver.note(
        "host_alloc",
        0,
        &[("address", address as u64), ("requested", bytes as u64)],
    );
}

fn fail(driver: &mut Driver, address: *mut c_void, error: u32) -> Answer {
    driver.note(
        "fail",
        0,
        &[("address", address as u64), ("result", u64::from(error))],
    );
    Err(error)
}

impl Driver {
    /// Frees pinned memory, or unregisters memory of the program.
    ///
    /// # Errors
    ///
    /// `CUDA_ERROR_INVALID_VALUE`.
    pub(super) fn free_host(&mut self, address: u64) -> Answer {
        let host = self.host.remove(&address).ok_or(result::INVALID_VALUE)?;
        self.note(
            "host_free",
            0,
            &[("address", address), ("requested", host.bytes)],
        );
        if !host.is_registered {
            // SAFETY: mapped by `allocate` with this length, and removed from the list.
            unsafe { libc::munmap(address as *mut c_void, host.bytes as usize) };
        }
        Ok(())
    }
}
