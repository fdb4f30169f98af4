//! Memory of contexts and of pools: `cuMemAlloc`, `cuMemAllocAsync` and their like; arrays.

use std::ffi::{c_int, c_uint};

use crate::driver::{Array, Driver, Owner};
use crate::entry::{Answer, Handle, give, handle, number, result, take};

/// What rows of pitched memory begin at multiples of.
const PITCH: usize = 512;
/// What arrays take multiples of.
const ARRAY: u64 = 64 << 10;

driver! {
    fn cuMemAlloc_v2(address: *mut u64, bytes: usize) |driver| {
        let given = allocate(driver, Owner::Context, bytes)?;
        give(address, given)
    }

    fn cuMemAllocPitch_v2(address: *mut u64, pitch: *mut usize, width: usize, height: usize, element: c_uint) |driver| {
        if !matches!(element, 4 | 8 | 16) {
            return Err(result::INVALID_VALUE);
        }
        let row = width.checked_next_multiple_of(PITCH).ok_or(result::INVALID_VALUE)?;
        let bytes = row.checked_mul(height).ok_or(result::INVALID_VALUE)?;
        let given = allocate(driver, Owner::Context, bytes)?;
        give(pitch, row)?;
        give(address, given)
    }

    fn cuMemAllocManaged(address: *mut u64, bytes: usize, flags: c_uint) |driver| {
        if !matches!(flags, 1 | 2 | 4) {
            return Err(result::INVALID_VALUE);
        }
        let given = allocate(driver, Owner::Managed, bytes)?;
        give(address, given)
    }

    fn cuMemFree_v2(address: u64) |driver| {
        let is_free = |driver: &mut Driver| match driver.blocks.get(&address).map(|block| block.owner) {
            Some(Owner::Range(_) | Owner::Import) | None => Err(result::INVALID_VALUE),
            Some(_) => driver.free(address, 0),
        };
        free(driver, address, is_free)
    }

    fn cuMemAllocAsync, cuMemAllocAsync_ptsz(address: *mut u64, bytes: usize, stream: Handle) |driver| {
        let device = driver.device_of_stream(number(stream))?;
        let pool = driver.devices[device].pool;
        let given = from_pool(driver, pool, bytes, stream)?;
        give(address, given)
    }

    fn cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync_ptsz(address: *mut u64, bytes: usize, pool: Handle, stream: Handle) |driver| {
        let given = from_pool(driver, number(pool), bytes, stream)?;
        give(address, given)
    }

    fn cuMemFreeAsync, cuMemFreeAsync_ptsz(address: u64, stream: Handle) |driver| {
        driver.context_of_stream(number(stream))?;
        let is_free = |driver: &mut Driver| match driver.blocks.get(&address).map(|block| block.owner) {
            // In a graph it becomes a node: the block's place can be given out again within the graph.
            Some(Owner::Pool(_) | Owner::Graph(_)) => driver.free(address, number(stream)),
            _ => Err(result::INVALID_VALUE),
        };
        free(driver, address, is_free)
    }

    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) |driver| {
        let (_, context) = driver.current()?;
        let device = context.device;
        let space = &driver.devices[device].space;
        give(free, space.free_bytes() as usize)?;
        give(total, space.total as usize)
    }

    fn cuMemGetAddressRange_v2(base: *mut u64, bytes: *mut usize, address: u64) |driver| {
        let (start, block) = driver.block_at(address).ok_or(result::NOT_FOUND)?;
        crate::entry::give_if_wanted(base, start);
        crate::entry::give_if_wanted(bytes, block.requested as usize);
        Ok(())
    }

    fn cuArrayCreate_v2(array: *mut Handle, descriptor: *const Descriptor) |driver| {
        let it = take(descriptor)?;
        create(driver, array, [it.width, it.height, 0], it.format, it.channels, 1)
    }

    fn cuArray3DCreate_v2(array: *mut Handle, descriptor: *const Descriptor3d) |driver| {
        let it = take(descriptor)?;
        create(driver, array, [it.width, it.height, it.depth], it.format, it.channels, 1)
    }

    fn cuMipmappedArrayCreate(array: *mut Handle, descriptor: *const Descriptor3d, levels: c_uint) |driver| {
        let it = take(descriptor)?;
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
    if bytes == 0 {
        return Err(result::INVALID_VALUE);
    }
    driver.allocate(owner, device, context, 0, bytes as u64)
}

/// A block of a pool; while the stream is captured, of the graph.
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
        // Success, and nothing to free: cudarc's `null()` lives on it.
        return Ok(0);
    }
    let owner = match driver.captures.get(&number(stream)) {
        Some(&graph) => Owner::Graph(graph),
        None => Owner::Pool(pool),
    };
    driver.allocate(owner, device, 0, number(stream), bytes as u64)
}

/// Frees by `work`, and says in the ledger if that failed.
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
    // CU_AD_FORMAT_*: the low bits tell signed from unsigned, and a float has a bit of its own.
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
        .checked_next_multiple_of(ARRAY)
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
    let made = Array {
        device,
        context,
        bytes,
    };
    driver.arrays.insert(array, made);
    driver.note("array", device, &[("handle", array), ("bytes", bytes)]);
    give(place, handle(array))
}

fn requirements_of(driver: &Driver, array: Handle, place: *mut Requirements) -> Answer {
    let array = driver
        .arrays
        .get(&number(array))
        .ok_or(result::INVALID_HANDLE)?;
    let requirements = Requirements {
        bytes: array.bytes as usize,
        alignment: ARRAY as usize,
        reserved: [0; 4],
    };
    give(place, requirements)
}

impl Driver {
    /// Takes an array back.
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
