//! Memory of contexts and of pools (`cuMemAlloc`, `cuMemAllocAsync` and similar functions), and arrays.

use std::ffi::{c_int, c_uint};

use crate::driver::{Array, Driver, Owner};
use crate::entry::{Answer, Handle, handle, number, read_in, result, write_out};
use crate::habits::habits;

/// Alignment of rows in pitched memory, in bytes.
const PITCH_BYTES: usize = 512;
/// Granularity of array sizes, in bytes.
const ARRAY_GRANULE_BYTES: u64 = 64 << 10;

driver! {
    fn cuMemAlloc_v2(address: *mut u64, bytes: usize) |driver| {
        let allocated = allocate(driver, Owner::Context, bytes)?;
        write_out(address, allocated)
    }

    fn cuMemAllocPitch_v2(address: *mut u64, pitch: *mut usize, width: usize, height: usize, element: c_uint) |driver| {
        if !matches!(element, 4 | 8 | 16) {
            return Err(result::INVALID_VALUE);
        }
        let row = width.checked_next_multiple_of(PITCH_BYTES).ok_or(result::INVALID_VALUE)?;
        let bytes = row.checked_mul(height).ok_or(result::INVALID_VALUE)?;
        let allocated = allocate(driver, Owner::Context, bytes)?;
        write_out(pitch, row)?;
        write_out(address, allocated)
    }

    fn cuMemAllocManaged(address: *mut u64, bytes: usize, flags: c_uint) |driver| {
        if !matches!(flags, 1 | 2 | 4) {
            return Err(result::INVALID_VALUE);
        }
        let allocated = allocate(driver, Owner::Managed, bytes)?;
        write_out(address, allocated)
    }

    fn cuMemFree_v2(address: u64) |driver| {
        let work = |driver: &mut Driver| match driver.blocks.get(&address).map(|block| block.owner) {
            Some(Owner::Range(_) | Owner::Import) | None => Err(result::INVALID_VALUE),
            Some(Owner::Pool(_)) if habits().code_free_of_pooled != 0 => Err(habits().code_free_of_pooled as u32),
            Some(_) => driver.free(address, 0),
        };
        free(driver, address, work)
    }

    fn cuMemAllocAsync, cuMemAllocAsync_ptsz(address: *mut u64, bytes: usize, stream: Handle) |driver| {
        let device = driver.device_of_stream(number(stream))?;
        let pool = driver.devices[device].pool;
        let allocated = from_pool(driver, pool, bytes, stream)?;
        write_out(address, allocated)
    }

    fn cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync_ptsz(address: *mut u64, bytes: usize, pool: Handle, stream: Handle) |driver| {
        let allocated = from_pool(driver, number(pool), bytes, stream)?;
        write_out(address, allocated)
    }

    fn cuMemFreeAsync, cuMemFreeAsync_ptsz(address: u64, stream: Handle) |driver| {
        driver.context_of_stream(number(stream))?;
        let work = |driver: &mut Driver| match driver.blocks.get(&address).map(|block| block.owner) {
            // In a graph, the free becomes a node: the graph can use the memory again.
            Some(Owner::Pool(_) | Owner::Graph(_)) => driver.free(address, number(stream)),
            Some(Owner::Context) if habits().code_free_async_of_plain == 0 => driver.free(address, number(stream)),
            _ => Err(result::INVALID_VALUE),
        };
        free(driver, address, work)
    }

    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) |driver| {
        let (_, context) = driver.current()?;
        let device = context.device;
        let space = &driver.devices[device].space;
        write_out(free, space.free_bytes() as usize)?;
        write_out(total, space.total as usize)
    }

    fn cuMemGetAddressRange_v2(base: *mut u64, bytes: *mut usize, address: u64) |driver| {
        let (start, block) = driver.block_at(address).ok_or(result::NOT_FOUND)?;
        crate::entry::write_optional(base, start);
        crate::entry::write_optional(bytes, block.requested as usize);
        Ok(())
    }

    fn cuArrayCreate_v2(array: *mut Handle, descriptor: *const Descriptor) |driver| {
        let it = read_in(descriptor)?;
        create(driver, array, [it.width, it.height, 0], it.format, it.channels, 1)
    }

    fn cuArray3DCreate_v2(array: *mut Handle, descriptor: *const Descriptor3d) |driver| {
        let it = read_in(descriptor)?;
        create(driver, array, [it.width, it.height, it.depth], it.format, it.channels, 1)
    }

    fn cuMipmappedArrayCreate(array: *mut Handle, descriptor: *const Descriptor3d, levels: c_uint) |driver| {
        let it = read_in(descriptor)?;
        create(driver, array, [it.width, it.height, it.depth], it.format, it.channels, levels.max(1))
    }

    fn cuArrayDestroy(array: Handle) |driver| {
        driver.free_array(number(array))
    }

    fn cuMipmappedArrayDestroy(array: Handle) |driver| {
        driver.free_array(number(array))
    }

    fn cuArrayGetMemoryRequirements(requirements: *mut Requirements, array: Handle, _device: c_int) |driver| {
        requirements_of(driver, array, requirements)
    }

    fn cuMipmappedArrayGetMemoryRequirements(requirements: *mut Requirements, array: Handle, _device: c_int) |driver| {
        requirements_of(driver, array, requirements)
    }

    fn cuMemAdvise(_address: u64, _bytes: usize, _advice: c_uint, _device: c_int) {
        Ok(())
    }

    fn cuMemPrefetchAsync, cuMemPrefetchAsync_ptsz(_address: u64, _bytes: usize, _device: c_int, _stream: Handle) {
        Ok(())
    }
}

/// `CUDA_ARRAY_DESCRIPTOR`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Descriptor {
    width: usize,
    height: usize,
    format: c_uint,
    channels: c_uint,
}

/// `CUDA_ARRAY3D_DESCRIPTOR`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Descriptor3d {
    width: usize,
    height: usize,
    depth: usize,
    format: c_uint,
    channels: c_uint,
    flags: c_uint,
}

/// `CUDA_ARRAY_MEMORY_REQUIREMENTS`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Requirements {
    bytes: usize,
    alignment: usize,
    reserved: [c_uint; 4],
}

fn allocate(driver: &mut Driver, owner: Owner, bytes: usize) -> Answer<u64> {
    let (context, current) = driver.current()?;
    let device = current.device;
    if bytes == 0 && habits().code_alloc_of_0 != 0 {
        return Err(habits().code_alloc_of_0 as u32);
    }
    driver.allocate(owner, device, context, 0, bytes as u64)
}

/// Allocates from a pool, or from the graph that captures the stream.
fn from_pool(driver: &mut Driver, pool: u64, bytes: usize, stream: Handle) -> Answer<u64> {
    if !driver.has_pools {
        return Err(result::NOT_SUPPORTED);
    }
    driver.context_of_stream(number(stream))?;
    let device = match driver.pools.get(&pool) {
        Some(pool) if !pool.is_ending => pool.device,
        _ => return Err(result::INVALID_VALUE),
    };
    if bytes == 0 {
        // Success gives a null address, which needs no free.
        return match habits().code_alloc_async_of_0 {
            0 => Ok(0),
            code => Err(code as u32),
        };
    }
    let owner = match driver.captures.get(&number(stream)) {
        Some(capture) => Owner::Graph(capture.graph),
        None => Owner::Pool(pool),
    };
    let context = match habits().pool_context_is_null {
        0 => driver.devices[device].primary,
        _ => 0,
    };
    driver.allocate(owner, device, context, number(stream), bytes as u64)
}

/// Frees by `work`. A failure goes into the ledger.
fn free(driver: &mut Driver, address: u64, work: impl FnOnce(&mut Driver) -> Answer) -> Answer {
    if address == 0 {
        return Ok(());
    }
    work(driver).inspect_err(|&error| {
        let device = driver
            .block_at(address)
            .map_or(0, |(_, block)| block.device);
        driver.note(
            "fail",
            device,
            &[("address", address), ("result", u64::from(error))],
        );
    })
}

fn create(
    driver: &mut Driver,
    place: *mut Handle,
    size: [usize; 3],
    format: c_uint,
    channels: c_uint,
    levels: c_uint,
) -> Answer {
    let (context, current) = driver.current()?;
    let device = current.device;
    // CU_AD_FORMAT_*: the low bits distinguish signed from unsigned; floats have a bit of their own.
    let element = match format {
        0x01 | 0x08 => 1,
        0x02 | 0x09 | 0x10 => 2,
        0x03 | 0x0a | 0x20 => 4,
        _ => return Err(result::INVALID_VALUE),
    };
    let mut bytes = 0_u64;
    for level in 0..levels.min(32) {
        let texels = size.iter().try_fold(1_u64, |texels, &side| {
            texels.checked_mul((side as u64 >> level).max(1))
        });
        let level = texels.and_then(|texels| texels.checked_mul(element * u64::from(channels)));
        let more = level.and_then(|level| bytes.checked_add(level));
        bytes = more.ok_or(result::INVALID_VALUE)?;
    }
    let bytes = bytes
        .checked_next_multiple_of(ARRAY_GRANULE_BYTES)
        .ok_or(result::INVALID_VALUE)?;
    let space = &mut driver.devices[device].space;
    if bytes > space.free_bytes() {
        let total = space.total;
        driver.note(
            "oom",
            device,
            &[("requested", bytes), ("total_bytes", total)],
        );
        return Err(result::OUT_OF_MEMORY);
    }
    space.used += bytes;
    let array = driver.new_handle();
    let created = Array {
        device,
        context,
        bytes,
    };
    driver.arrays.insert(array, created);
    driver.note("array", device, &[("handle", array), ("bytes", bytes)]);
    write_out(place, handle(array))
}

fn requirements_of(driver: &Driver, array: Handle, place: *mut Requirements) -> Answer {
    let array = driver
        .arrays
        .get(&number(array))
        .ok_or(result::INVALID_HANDLE)?;
    let requirements = Requirements {
        bytes: array.bytes as usize,
        alignment: ARRAY_GRANULE_BYTES as usize,
        reserved: [0; 4],
    };
    write_out(place, requirements)
}

impl Driver {
    /// Frees an array.
    ///
    /// # Errors
    ///
    /// `CUDA_ERROR_INVALID_HANDLE`.
    pub(super) fn free_array(&mut self, array: u64) -> Answer {
        let it = self.arrays.remove(&array).ok_or(result::INVALID_HANDLE)?;
        self.devices[it.device].space.used -= it.bytes;
        self.note(
            "array_free",
            it.device,
            &[("handle", array), ("bytes", it.bytes)],
        );
        Ok(())
    }
}
