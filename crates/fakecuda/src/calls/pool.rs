//! Memory pools.

use std::ffi::{c_int, c_uint, c_void};

use super::stream::forbid_in_captures;
use crate::driver::{Driver, Place, Pool};
use crate::entry::{Answer, Handle, handle, number, read_in, result, write_out};

driver! {
    fn cuMemPoolCreate(pool: *mut Handle, properties: *const Properties) |driver| {
        if !driver.has_pools {
            return Err(result::NOT_SUPPORTED);
        }
        let properties = read_in(properties)?;
        let place = match (properties.kind, properties.location_type) {
            (1, 1) => Place::Device,
            (2, 1) => Place::Managed,
            (1, 2) => Place::Host,
            _ => return Err(result::INVALID_VALUE),
        };
        let (device, _) = driver.device(properties.location)?;
        let created = driver.new_handle();
        driver.pools.insert(created, Pool::new(device, place));
        driver.note("pool", device, &[("handle", created)]);
        write_out(pool, handle(created))
    }

    fn cuMemPoolDestroy(pool: Handle) |driver| {
        let pool = number(pool);
        if driver.devices.iter().any(|device| device.default_pool == pool) {
            return Err(result::INVALID_VALUE);
        }
        let it = living_pool(driver, pool)?;
        it.is_ending = true;
        let device = it.device;
        driver.note("pool_end", device, &[("handle", pool)]);
        let device = &mut driver.devices[device];
        if device.pool == pool {
            device.pool = device.default_pool;
        }
        driver.trim(pool, 0);
        Ok(())
    }

    fn cuMemPoolTrimTo(pool: Handle, keep: usize) |driver| {
        living_pool(driver, number(pool))?;
        driver.trim(number(pool), keep as u64);
        Ok(())
    }

    fn cuMemPoolGetAttribute(pool: Handle, attribute: c_uint, value: *mut c_void) |driver| {
        forbid_in_captures(driver)?;
        let pool = living_pool(driver, number(pool))?;
        let stored = pool.attributes.get(attribute as usize).copied();
        match attribute {
            1..=3 => write_out(value.cast(), stored.unwrap_or_default() as c_int),
            5 => write_out(value.cast(), pool.heap.reserved),
            7 => write_out(value.cast(), pool.heap.used),
            4 | 6 | 8 => write_out(value.cast(), stored.unwrap_or_default()),
            _ => Err(result::INVALID_VALUE),
        }
    }

    fn cuMemPoolSetAttribute(pool: Handle, attribute: c_uint, value: *mut c_void) |driver| {
        let pool = living_pool(driver, number(pool))?;
        let value = match attribute {
            1..=3 => u64::from(read_in(value.cast::<c_int>())? != 0),
            4 => read_in(value.cast::<u64>())?,
            // The high-water marks can only be reset to the current values.
            6 if read_in(value.cast::<u64>())? == 0 => pool.heap.reserved,
            8 if read_in(value.cast::<u64>())? == 0 => pool.heap.used,
            _ => return Err(result::INVALID_VALUE),
        };
        pool.attributes[attribute as usize] = value;
        Ok(())
    }

    fn cuMemPoolSetAccess(pool: Handle, _map: *const c_void, _count: usize) |driver| {
        living_pool(driver, number(pool)).map(|_| ())
    }

    fn cuMemPoolGetAccess(flags: *mut c_uint, pool: Handle, _location: *const c_void) |driver| {
        living_pool(driver, number(pool))?;
        write_out(flags, 3)
    }
}

/// The beginning of `CUmemPoolProps`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Properties {
    kind: c_int,
    handles: c_int,
    location_type: c_int,
    location: c_int,
}

/// Finds a pool that was not destroyed.
///
/// # Errors
///
/// `CUDA_ERROR_INVALID_VALUE`.
fn living_pool(driver: &mut Driver, pool: u64) -> Answer<&mut Pool> {
    let pool = driver.pools.get_mut(&pool).filter(|pool| !pool.is_ending);
    pool.ok_or(result::INVALID_VALUE)
}
