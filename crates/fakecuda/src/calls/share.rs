//! Memory of other processes: IPC handles, shareable handles, external memory. Imported memory takes addresses, but
//! none of this process's memory.

use std::ffi::{c_int, c_uint, c_ulonglong, c_void};
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::mem::ManuallyDrop;
use std::os::fd::{FromRawFd, IntoRawFd};

use crate::driver::{Driver, Owner};
use crate::entry::{Answer, Handle, handle, number, read_in, result, write_out};

/// The content of a handle for another process: device and size.
#[derive(Clone, Copy)]
#[repr(C)]
struct ExportHandle {
    device: u64,
    bytes: u64,
    rest: [u64; 6],
}

driver! {
    fn cuIpcGetMemHandle(exported: *mut ExportHandle, address: u64) |driver| {
        write_out(exported, export(driver, address)?)
    }

    fn cuIpcOpenMemHandle_v2, cuIpcOpenMemHandle(address: *mut u64, exported: ExportHandle, _flags: c_uint) |driver| {
        let allocated = import(driver, exported)?;
        write_out(address, allocated)
    }

    fn cuIpcCloseMemHandle(address: u64) |driver| {
        match driver.blocks.get(&address).map(|block| block.owner) {
            Some(Owner::Import) => driver.free(address, 0),
            _ => {
                driver.note("fail", 0, &[("address", address), ("result", 1)]);
                Err(result::INVALID_VALUE)
            }
        }
    }

    fn cuMemPoolExportPointer(exported: *mut ExportHandle, address: u64) |driver| {
        write_out(exported, export(driver, address)?)
    }

    fn cuMemPoolImportPointer(address: *mut u64, _pool: Handle, exported: *const ExportHandle) |driver| {
        let allocated = import(driver, read_in(exported)?)?;
        write_out(address, allocated)
    }

    fn cuMemExportToShareableHandle(shared: *mut c_void, physical: u64, kind: c_int, _flags: c_ulonglong) |driver| {
        let it = driver.physical.get(&physical).ok_or(result::INVALID_VALUE)?;
        if kind != 1 {
            return Err(result::NOT_SUPPORTED);
        }
        write_out(shared.cast(), create_descriptor(it.device as u64, it.bytes)?)
    }

    fn cuMemImportFromShareableHandle(physical: *mut u64, shared: *mut c_void, kind: c_int) |driver| {
        if kind != 1 {
            return Err(result::NOT_SUPPORTED);
        }
        // A file descriptor is passed in place of the pointer.
        let [device, bytes] = read_descriptor(shared as usize as c_int)?;
        driver.device(device as c_int)?;
        write_out(physical, driver.add_physical(device as usize, bytes, false))
    }

    fn cuImportExternalMemory(memory: *mut Handle, descriptor: *const External) |driver| {
        let descriptor = read_in(descriptor)?;
        let created = driver.new_handle();
        driver.external.insert(created, descriptor.bytes);
        write_out(memory, handle(created))
    }

    fn cuExternalMemoryGetMappedBuffer(address: *mut u64, memory: Handle, buffer: *const Buffer) |driver| {
        let buffer = read_in(buffer)?;
        let &bytes = driver.external.get(&number(memory)).ok_or(result::INVALID_HANDLE)?;
        if buffer.offset.checked_add(buffer.bytes).is_none_or(|end| end > bytes) {
            return Err(result::INVALID_VALUE);
        }
        let (context, current) = driver.current()?;
        let device = current.device;
        // Managed, as it is freed by cuMemFree, unlike imports.
        let allocated = driver.allocate(Owner::Managed, device, context, 0, buffer.bytes)?;
        write_out(address, allocated)
    }

    fn cuDestroyExternalMemory(memory: Handle) |driver| {
        driver.external.remove(&number(memory)).ok_or(result::INVALID_HANDLE).map(|_| ())
    }
}

/// The beginning of `CUDA_EXTERNAL_MEMORY_HANDLE_DESC`.
#[derive(Clone, Copy)]
#[repr(C)]
struct External {
    kind: c_int,
    handle: [u64; 2],
    bytes: u64,
}

/// The beginning of `CUDA_EXTERNAL_MEMORY_BUFFER_DESC`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Buffer {
    offset: u64,
    bytes: u64,
}

fn export(driver: &Driver, address: u64) -> Answer<ExportHandle> {
    let (_, block) = driver.block_at(address).ok_or(result::INVALID_VALUE)?;
    Ok(ExportHandle {
        device: block.device as u64,
        bytes: block.requested,
        rest: [0; 6],
    })
}

fn import(driver: &mut Driver, exported: ExportHandle) -> Answer<u64> {
    let (context, _) = driver.current()?;
    let (device, _) = driver.device(exported.device as c_int)?;
    if exported.bytes == 0 {
        return Err(result::INVALID_VALUE);
    }
    driver.allocate(Owner::Import, device, context, 0, exported.bytes)
}

/// Creates a file descriptor that can be passed to another process.
fn create_descriptor(device: u64, bytes: u64) -> Answer<c_int> {
    // SAFETY: a C string; the descriptor is new.
    let descriptor = unsafe { libc::memfd_create(c"fakecuda".as_ptr(), 0) };
    if descriptor < 0 {
        return Err(result::OUT_OF_MEMORY);
    }
    // SAFETY: nothing else has the descriptor.
    let mut file = unsafe { File::from_raw_fd(descriptor) };
    let content = [device.to_le_bytes(), bytes.to_le_bytes()].concat();
    file.write_all(&content)
        .map_err(|_full| result::OUT_OF_MEMORY)?;
    Ok(file.into_raw_fd())
}

fn read_descriptor(descriptor: c_int) -> Answer<[u64; 2]> {
    // SAFETY: the caller's descriptor, which stays open.
    let mut file = ManuallyDrop::new(unsafe { File::from_raw_fd(descriptor) });
    let mut words = [[0; 8]; 2];
    let content = words.as_flattened_mut();
    file.rewind()
        .and_then(|()| file.read_exact(content))
        .map_err(|_unreadable| result::INVALID_VALUE)?;
    Ok(words.map(u64::from_le_bytes))
}
