//! Devices: names, sizes and attributes.

use std::ffi::{c_char, c_int, c_uint};

use crate::entry::{Answer, Handle, handle, initialise, number, result, write_out};

const NAME: &[u8] = b"FakeCUDA 9000\0";

driver! {
    fn cuInit(flags: c_uint) {
        match (flags, initialise()) {
            (0, result::SUCCESS) => Ok(()),
            (0, error) => Err(error),
            _ => Err(result::INVALID_VALUE),
        }
    }

    fn cuDriverGetVersion(version: *mut c_int) {
        write_out(version, 13000)
    }

    fn cuDeviceGet(device: *mut c_int, ordinal: c_int) |driver| {
        driver.device(ordinal)?;
        write_out(device, ordinal)
    }

    fn cuDeviceGetCount(count: *mut c_int) |driver| {
        write_out(count, driver.devices.len() as c_int)
    }

    fn cuDeviceGetName(name: *mut c_char, room: c_int, device: c_int) |driver| {
        driver.device(device)?;
        let room = usize::try_from(room).map_err(|_negative| result::INVALID_VALUE)?;
        for (at, &byte) in NAME.iter().take(room).enumerate() {
            write_out(name.wrapping_add(at), byte as c_char)?;
        }
        Ok(())
    }

    fn cuDeviceGetUuid(uuid: *mut [u8; 16], device: c_int) |driver| {
        driver.device(device)?;
        write_out(uuid, uuid_of(device))
    }

    fn cuDeviceGetUuid_v2(uuid: *mut [u8; 16], device: c_int) |driver| {
        driver.device(device)?;
        write_out(uuid, uuid_of(device))
    }

    fn cuDeviceGetPCIBusId(text: *mut c_char, room: c_int, device: c_int) |driver| {
        driver.device(device)?;
        let room = usize::try_from(room).map_err(|_negative| result::INVALID_VALUE)?;
        for (at, byte) in format!("0000:{device:02x}:00.0\0").bytes().take(room).enumerate() {
            write_out(text.wrapping_add(at), byte as c_char)?;
        }
        Ok(())
    }

    fn cuDeviceTotalMem_v2(bytes: *mut usize, device: c_int) |driver| {
        let (_, device) = driver.device(device)?;
        write_out(bytes, device.space.total as usize)
    }

    fn cuDeviceComputeCapability(major: *mut c_int, minor: *mut c_int, device: c_int) |driver| {
        driver.device(device)?;
        write_out(major, 9)?;
        write_out(minor, 0)
    }

    fn cuDeviceGetAttribute(value: *mut c_int, attribute: c_uint, device: c_int) |driver| {
        driver.device(device)?;
        write_out(value, attribute_of(attribute, driver.has_pools))
    }

    fn cuDeviceCanAccessPeer(can: *mut c_int, device: c_int, peer: c_int) |driver| {
        driver.device(device)?;
        driver.device(peer)?;
        write_out(can, c_int::from(device != peer))
    }

    fn cuDeviceGetDefaultMemPool(pool: *mut Handle, device: c_int) |driver| {
        check_pools(driver.has_pools)?;
        let (_, device) = driver.device(device)?;
        write_out(pool, handle(device.default_pool))
    }

    fn cuDeviceGetMemPool(pool: *mut Handle, device: c_int) |driver| {
        check_pools(driver.has_pools)?;
        let (_, device) = driver.device(device)?;
        write_out(pool, handle(device.pool))
    }

    fn cuDeviceSetMemPool(device: c_int, pool: Handle) |driver| {
        check_pools(driver.has_pools)?;
        let is_of = driver.pools.get(&number(pool)).map(|pool| pool.device);
        let (index, device) = driver.device(device)?;
        if is_of != Some(index) {
            return Err(result::INVALID_VALUE);
        }
        device.pool = number(pool);
        Ok(())
    }
}

/// Checks that devices have memory pools.
///
/// # Errors
///
/// `CUDA_ERROR_NOT_SUPPORTED` if they do not.
fn check_pools(has_pools: bool) -> Answer {
    if has_pools {
        Ok(())
    } else {
        Err(result::NOT_SUPPORTED)
    }
}

fn uuid_of(device: c_int) -> [u8; 16] {
    let mut uuid = *b"fake-gpu-0000000";
    uuid[15] = uuid[15].wrapping_add(device as u8);
    uuid
}

/// The attributes that cudarc and cubecl query, with the values of an H100.
fn attribute_of(attribute: c_uint, has_pools: bool) -> c_int {
    match attribute {
        1 => 1024,                     // MAX_THREADS_PER_BLOCK
        2 | 3 => 1024,                 // MAX_BLOCK_DIM_X, _Y
        4 => 64,                       // MAX_BLOCK_DIM_Z
        5 => c_int::MAX,               // MAX_GRID_DIM_X
        6 | 7 => 65_535,               // MAX_GRID_DIM_Y, _Z
        8 => 49_152,                   // MAX_SHARED_MEMORY_PER_BLOCK
        10 => 32,                      // WARP_SIZE
        12 => 65_536,                  // MAX_REGISTERS_PER_BLOCK
        13 => 1_980_000,               // CLOCK_RATE
        16 => 132,                     // MULTIPROCESSOR_COUNT
        39 => 2048,                    // MAX_THREADS_PER_MULTIPROCESSOR
        41 => 1,                       // UNIFIED_ADDRESSING
        75 => 9,                       // COMPUTE_CAPABILITY_MAJOR
        81 => 233_472,                 // MAX_SHARED_MEMORY_PER_MULTIPROCESSOR
        82 => 65_536,                  // MAX_REGISTERS_PER_MULTIPROCESSOR
        83 | 89 => 1,                  // MANAGED_MEMORY, CONCURRENT_MANAGED_ACCESS
        95 | 120 => 1,                 // COOPERATIVE_LAUNCH, UNIFIED_FUNCTION_POINTERS
        97 => 232_448,                 // MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
        102 | 103 => 1, // VIRTUAL_MEMORY_MANAGEMENT, HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
        106 => 32,      // MAX_BLOCKS_PER_MULTIPROCESSOR
        115 => c_int::from(has_pools), // MEMORY_POOLS_SUPPORTED
        _ => 0,
    }
}
