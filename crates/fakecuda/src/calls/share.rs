//! Memory of other processes: IPC handles, shareable handles, external memory. What is imported takes addresses, but
//! no memory of this process.

use std::ffi::{c_int, c_uint, c_ulonglong, c_void};
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::mem::ManuallyDrop;
use std::os::fd::{FromRawFd, IntoRawFd};

use crate::driver::{Driver, Owner};
use crate::entry::{Answer, Handle, give, handle, number, result, take};

/// What is handed to other processes: which device, how many bytes.
#[derive(Clone, Copy)]
#[repr(C)]
struct Ticket {
    device: u64,
    bytes: u64,
    rest: [u64; 6],
}

driver! {
    fn cuIpcGetMemHandle(ticket: *mut Ticket, address: u64) |driver| {
        give(ticket, ticket_of(driver, address)?)
    }

    fn cuIpcOpenMemHandle_v2(address: *mut u64, ticket: Ticket, _flags: c_uint) |driver| {
        let given = import(driver, ticket)?;
        give(address, given)
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

    fn cuMemPoolExportPointer(ticket: *mut Ticket, address: u64) |driver| {
        give(ticket, ticket_of(driver, address)?)
    }

    fn cuMemPoolImportPointer(address: *mut u64, _pool: Handle, ticket: *const Ticket) |driver| {
        let given = import(driver, take(ticket)?)?;
        give(address, given)
    }

    fn cuMemExportToShareableHandle(shared: *mut c_void, physical: u64, kind: c_int, _flags: c_ulonglong) |driver| {
        let it = driver.physical.get(&physical).ok_or(result::INVALID_VALUE)?;
        if kind != 1 {
            return Err(result::NOT_SUPPORTED);
        }
        give(shared.cast(), write(it.device as u64, it.bytes)?)
    }

    fn cuMemImportFromShareableHandle(physical: *mut u64, shared: *mut c_void, kind: c_int) |driver| {
        if kind != 1 {
            return Err(result::NOT_SUPPORTED);
        }
        // A file descriptor is passed as if it were the pointer.
        let [device, bytes] = read(shared as usize as c_int)?;
        driver.device(device as c_int)?;
        give(physical, driver.add_physical(device as usize, bytes, false))
    }

    fn cuImportExternalMemory(memory: *mut Handle, descriptor: *const External) |driver| {
        let descriptor = take(descriptor)?;
        let made = driver.new_handle();
        driver.external.insert(made, descriptor.bytes);
        give(memory, handle(made))
    }

    fn cuExternalMemoryGetMappedBuffer(address: *mut u64, memory: Handle, buffer: *const Buffer) |driver| {
        let buffer = take(buffer)?;
        let &bytes = driver.external.get(&number(memory)).ok_or(result::INVALID_HANDLE)?;
        if buffer.offset.checked_add(buffer.bytes).is_none_or(|end| end > bytes) {
            return Err(result::INVALID_VALUE);
        }
        let (context, current) = driver.current()?;
        let device = current.device;
        // Freed by cuMemFree, so not one of the imports, which are closed.
        let given = driver.allocate(Owner::Managed, device, context, 0, buffer.bytes)?;
        give(address, given)
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

fn ticket_of(driver: &Driver, address: u64) -> Answer<Ticket> {
    let (_, block) = driver.block_at(address).ok_or(result::INVALID_VALUE)?;
    Ok(Ticket {
        device: block.device as u64,
        bytes: block.requested,
        rest: [0; 6],
    })
}

fn import(driver: &mut Driver, ticket: Ticket) -> Answer<u64> {
    let (context, _) = driver.current()?;
    let (device, _) = driver.device(ticket.device as c_int)?;
    if ticket.bytes == 0 {
        return Err(result::INVALID_VALUE);
    }
    driver.allocate(Owner::Import, device, context, 0, ticket.bytes)
}

/// A file that other processes can be given, as a descriptor.
fn write(device: u64, bytes: u64) -> Answer<c_int> {
    // SAFETY: a name that ends in zero; the descriptor is new.
    let descriptor = unsafe { libc::memfd_create(c"fakecuda".as_ptr(), 0) };
    if descriptor < 0 {
        return Err(result::OUT_OF_MEMORY);
    }
    // SAFETY: nobody else has it yet.
    let mut file = unsafe { File::from_raw_fd(descriptor) };
    let content = [device.to_le_bytes(), bytes.to_le_bytes()].concat();
    file.write_all(&content)
        .map_err(|_full| result::OUT_OF_MEMORY)?;
    Ok(file.into_raw_fd())
}

fn read(descriptor: c_int) -> Answer<[u64; 2]> {
    // SAFETY: the caller's, and left open.
    let mut file = ManuallyDrop::new(unsafe { File::from_raw_fd(descriptor) });
    let mut words = [[0; 8]; 2];
    let content = words.as_flattened_mut();
    file.rewind()
        .and_then(|()| file.read_exact(content))
        .map_err(|_unreadable| result::INVALID_VALUE)?;
    Ok(words.map(u64::from_le_bytes))
}
