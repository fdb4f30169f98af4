//! Virtual memory: address ranges, physical allocations, and mappings between them.

use std::ffi::{c_int, c_uint, c_ulonglong, c_void};

use crate::driver::{Block, Driver, Owner, Physical};
use crate::entry::{Answer, read_in, result, write_out};
use crate::habits::habits;
use crate::space::PAGE_BYTES;

driver! {
    fn cuMemGetAllocationGranularity(bytes: *mut usize, _properties: *const Properties, _option: c_uint) {
        write_out(bytes, PAGE_BYTES as usize)
    }

    fn cuMemAddressReserve(address: *mut u64, bytes: usize, _alignment: usize, _wish: u64, _flags: c_ulonglong) |driver| {
        let bytes = check_pages(bytes)?;
        let device = driver.current().map_or(0, |(_, context)| context.device);
        let start = driver.devices[device].space.allocate_range(bytes)?;
        driver.ranges.insert(start, (device, bytes));
        write_out(address, start)
    }

    fn cuMemAddressFree(address: u64, bytes: usize) |driver| {
        let bytes = check_pages(bytes)?;
        let &(device, reserved) = driver.ranges.get(&address).ok_or(result::INVALID_VALUE)?;
        let is_mapped = driver.mappings.range(address..address + reserved).next().is_some();
        if reserved != bytes || is_mapped {
            return Err(result::INVALID_VALUE);
        }
        driver.ranges.remove(&address);
        driver.devices[device].space.free_range(address, bytes);
        Ok(())
    }

    fn cuMemCreate(handle: *mut u64, bytes: usize, properties: *const Properties, _flags: c_ulonglong) |driver| {
        let properties = read_in(properties)?;
        let bytes = check_pages(bytes)?;
        if properties.location_type != 1 {
            return Err(result::INVALID_VALUE);
        }
        let (device, of) = driver.device(properties.location)?;
        if bytes > of.space.free_bytes() {
            let total = of.space.total;
            driver.note("oom", device, &[("requested", bytes), ("total_bytes", total)]);
            return Err(result::OUT_OF_MEMORY);
        }
        of.space.used += bytes;
        write_out(handle, driver.add_physical(device, bytes, true))
    }

    fn cuMemRelease(handle: u64) |driver| {
        let physical = driver.physical.get_mut(&handle).ok_or(result::INVALID_VALUE)?;
        physical.handles = physical.handles.checked_sub(1).ok_or(result::INVALID_VALUE)?;
        driver.drop_physical(handle);
        Ok(())
    }

    fn cuMemRetainAllocationHandle(handle: *mut u64, address: *mut c_void) |driver| {
        match driver.block_at(address as u64).map(|(_, block)| block.owner) {
            Some(Owner::Range(physical)) => {
                let it = driver.physical.get_mut(&physical).ok_or(result::INVALID_VALUE)?;
                it.handles += 1;
                write_out(handle, physical)
            }
            _ => Err(result::INVALID_VALUE),
        }
    }

    /// Its handle is mapped like that of memory, but takes none.
    fn cuMulticastCreate(handle: *mut u64, properties: *const [u64; 4]) |driver| {
        let [_devices, bytes, ..] = read_in(properties)?;
        let bytes = check_pages(bytes as usize)?;
        let device = driver.current().map_or(0, |(_, context)| context.device);
        write_out(handle, driver.add_physical(device, bytes, false))
    }

    fn cuMemMap(address: u64, bytes: usize, offset: usize, handle: u64, _flags: c_ulonglong) |driver| {
        let bytes = check_pages(bytes)?;
        let end = address.checked_add(bytes).ok_or(result::INVALID_VALUE)?;
        let range = driver.ranges.range(..=address).next_back();
        let is_reserved = range.is_some_and(|(start, (_, reserved))| end <= start + reserved);
        let before = driver.mappings.range(..end).next_back();
        let is_taken = before.is_some_and(|(start, mapping)| start + mapping.bytes > address);
        let physical = driver.physical.get_mut(&handle).ok_or(result::INVALID_VALUE)?;
        let is_within = offset as u64 + bytes <= physical.bytes;
        let (with_offset, of_part) = (habits().code_map_with_offset, habits().code_map_of_part);
        match (offset, bytes == physical.bytes) {
            (1.., _) if with_offset != 0 => return Err(with_offset as u32),
            (0, false) if of_part != 0 => return Err(of_part as u32),
            _ => {}
        }
        if !is_reserved || is_taken || !is_within {
            return Err(result::INVALID_VALUE);
        }
        physical.mappings += 1;
        let device = physical.device;
        map(driver, address, bytes, device, handle);
        Ok(())
    }

    fn cuMemUnmap(address: u64, bytes: usize) |driver| {
        let end = address.checked_add(check_pages(bytes)?).ok_or(result::INVALID_VALUE)?;
        let inside = driver.blocks.range(address..end);
        let inside: Vec<_> = inside.map(|(&start, block)| (start, block.bytes, block.owner)).collect();
        let covers_whole = inside.iter().try_fold(address, |at, &(start, bytes, owner)| {
            let is_next = start == at && matches!(owner, Owner::Range(_));
            is_next.then_some(start + bytes)
        });
        let is_refused = inside.len() > 1 && habits().code_unmap_of_two != 0;
        if covers_whole != Some(end) || is_refused {
            let device = driver.block_at(address).map_or(0, |(_, block)| block.device);
            driver.note("fail", device, &[("address", address), ("result", 1)]);
            return Err(result::INVALID_VALUE);
        }
        for (start, _, owner) in inside {
            driver.free(start, 0)?;
            if let Owner::Range(handle) = owner {
                if let Some(physical) = driver.physical.get_mut(&handle) {
                    physical.mappings -= 1;
                }
                driver.drop_physical(handle);
            }
        }
        Ok(())
    }

    fn cuMemSetAccess(_address: u64, _bytes: usize, _descriptors: *const c_void, _count: usize) {
        Ok(())
    }

    fn cuMemGetAccess(flags: *mut c_ulonglong, _location: *const c_void, _address: u64) {
        write_out(flags, 3)
    }

    fn cuMemGetAllocationPropertiesFromHandle(properties: *mut Properties, handle: u64) |driver| {
        let physical = driver.physical.get(&handle).ok_or(result::INVALID_VALUE)?;
        let it = Properties {
            kind: 1,
            handles: 1,
            location_type: 1,
            location: physical.device as c_int,
            rest: [0; 2],
        };
        write_out(properties, it)
    }
}

/// `CUmemAllocationProp`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Properties {
    kind: c_int,
    handles: c_int,
    location_type: c_int,
    location: c_int,
    rest: [u64; 2],
}

/// Checks a size.
///
/// # Errors
///
/// `CUDA_ERROR_INVALID_VALUE` if it is 0 or not a multiple of the page size.
fn check_pages(bytes: usize) -> Answer<u64> {
    let bytes = bytes as u64;
    if bytes == 0 || !bytes.is_multiple_of(PAGE_BYTES) {
        return Err(result::INVALID_VALUE);
    }
    Ok(bytes)
}

fn map(driver: &mut Driver, address: u64, bytes: u64, device: usize, handle: u64) {
    let owner = Owner::Range(handle);
    driver.map(address, bytes, device, false, owner);
    let id = driver.new_block();
    let block = Block {
        requested: bytes,
        bytes,
        device,
        context: 0,
        owner,
        mapping: address,
        id,
    };
    driver.blocks.insert(address, block);
    driver.note(
        "alloc",
        device,
        &[
            ("address", address),
            ("requested", bytes),
            ("bytes", bytes),
            ("context", 0),
            ("stream", 0),
            ("pool", 0),
            ("graph", 0),
            ("mapping", address),
            ("mapping_bytes", bytes),
        ],
    );
}

impl Driver {
    /// Adds a physical allocation with one handle.
    pub(super) fn add_physical(&mut self, device: usize, bytes: u64, is_owned: bool) -> u64 {
        let handle = self.new_handle();
        let physical = Physical {
            device,
            bytes,
            handles: 1,
            mappings: 0,
            is_owned,
        };
        self.physical.insert(handle, physical);
        self.note("create", device, &[("handle", handle), ("bytes", bytes)]);
        handle
    }

    /// Ends a physical allocation without handles and mappings.
    fn drop_physical(&mut self, handle: u64) {
        let Some(it) = self.physical.get(&handle) else {
            return;
        };
        if it.handles > 0 || it.mappings > 0 {
            return;
        }
        let (device, bytes) = (it.device, it.bytes);
        if it.is_owned {
            self.devices[device].space.used -= bytes;
        }
        self.physical.remove(&handle);
        self.note("release", device, &[("handle", handle), ("bytes", bytes)]);
    }
}
