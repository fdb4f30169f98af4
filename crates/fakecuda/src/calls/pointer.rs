//! What is known about a pointer.

use std::ffi::{c_int, c_uint, c_void};

use crate::driver::{Driver, Owner};
use crate::entry::{Answer, give, result, take};

driver! {
    fn cuPointerGetAttribute(value: *mut c_void, attribute: c_uint, address: u64) |driver| {
        match attribute_of(driver, attribute, address) {
            Some(known) => put(value, attribute, known),
            None => Err(result::INVALID_VALUE),
        }
    }

    /// What is not known is zero, and that is no error.
    fn cuPointerGetAttributes(count: c_uint, attributes: *mut c_uint, values: *mut *mut c_void, address: u64) |driver| {
        for at in 0..count as usize {
            let attribute = take(attributes.wrapping_add(at))?;
            let value = take(values.wrapping_add(at))?;
            let known = attribute_of(driver, attribute, address);
            put(value, attribute, known.unwrap_or(if attribute == 9 { -2_i64 as u64 } else { 0 }))?;
        }
        Ok(())
    }

    fn cuPointerSetAttribute(_value: *const c_void, _attribute: c_uint, _address: u64) {
        Ok(())
    }
}

/// Values are as wide as `cuda.h` says.
fn put(place: *mut c_void, attribute: c_uint, value: u64) -> Answer {
    match attribute {
        2 | 9 => give(place.cast(), value as c_int),
        6 | 8 | 10 | 13 => give(place.cast(), value != 0),
        1..=20 => give(place.cast(), value),
        _ => Err(result::INVALID_VALUE),
    }
}

fn attribute_of(driver: &Driver, attribute: c_uint, address: u64) -> Option<u64> {
    const HOST: u64 = 1;
    const DEVICE: u64 = 2;
    let Some((start, block)) = driver.block_at(address) else {
        let (&start, host) = driver.host.range(..=address).next_back()?;
        if address >= start + host.bytes {
            return None;
        }
        return Some(match attribute {
            1 => host.context,
            2 => HOST,
            3 | 4 => address,
            11 => start,
            12 => host.bytes,
            13 => 1,
            _ => 0,
        });
    };
    let mapping = driver.mappings.get(&block.mapping);
    Some(match attribute {
        1 => block.context,
        2 => DEVICE,
        3 => address,
        7 | 20 => block.id,
        8 => u64::from(block.owner == Owner::Managed),
        9 => block.device as u64,
        11 => start,
        12 => block.requested,
        13 => 1,
        17 => match block.owner {
            Owner::Pool(pool) => pool,
            _ => 0,
        },
        18 => mapping?.bytes,
        19 => block.mapping,
        _ => 0,
    })
}
