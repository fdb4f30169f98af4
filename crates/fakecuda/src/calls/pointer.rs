//! Attributes of pointers.

use std::ffi::{c_int, c_uint, c_void};

use crate::driver::{Driver, Owner, Place};
use crate::entry::{Answer, read_in, result, write_out};
use crate::habits::habits;

driver! {
    fn cuPointerGetAttribute(value: *mut c_void, attribute: c_uint, address: u64) |driver| {
        match attribute_of(driver, attribute, address) {
            Some(known) => write_attribute(value, attribute, known),
            None => Err(result::INVALID_VALUE),
        }
    }

    /// Unknown attributes are 0, without an error.
    fn cuPointerGetAttributes(count: c_uint, attributes: *mut c_uint, values: *mut *mut c_void, address: u64) |driver| {
        let odd = driver.block_at(address).is_some_and(|(_, block)| Some(block.requested) == driver.odd_bytes);
        for at in 0..count as usize {
            let attribute = read_in(attributes.wrapping_add(at))?;
            let value = read_in(values.wrapping_add(at))?;
            if odd && !matches!(attribute, 1 | 9) {
                return Err(result::INVALID_VALUE);
            }
            let known = attribute_of(driver, attribute, address);
            write_attribute(value, attribute, known.unwrap_or(if attribute == 9 { -2_i64 as u64 } else { 0 }))?;
        }
        Ok(())
    }

    fn cuPointerSetAttribute(_value: *const c_void, _attribute: c_uint, _address: u64) {
        Ok(())
    }
}

/// Writes a value with the size that `cuda.h` specifies for the attribute.
fn write_attribute(place: *mut c_void, attribute: c_uint, value: u64) -> Answer {
    match attribute {
        2 | 9 => write_out(place.cast(), value as c_int),
        6 | 8 | 10 | 13 => write_out(place.cast(), value != 0),
        1..=20 => write_out(place.cast(), value),
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
    let is_of_host = match block.owner {
        Owner::Pool(pool) => driver
            .pools
            .get(&pool)
            .is_some_and(|it| it.place == Place::Host),
        _ => false,
    };
    let is_unplaced = habits().pool_mapping_is_chunk == 0 && matches!(block.owner, Owner::Pool(_));
    // A graph gets its memory when it is launched.
    let is_of_graph = matches!(block.owner, Owner::Graph(_));
    Some(match attribute {
        9 if is_of_graph => -2_i64 as u64,
        18 | 19 if is_of_graph => 0,
        1 => block.context,
        2 => DEVICE,
        3 => address,
        7 | 20 => block.id,
        8 => u64::from(block.owner == Owner::Managed),
        9 if is_of_host => -2_i64 as u64,
        9 => block.device as u64,
        11 => start,
        12 => block.requested,
        13 => 1,
        17 => match block.owner {
            Owner::Pool(pool) => pool,
            _ => 0,
        },
        18 if is_unplaced => block.bytes,
        19 if is_unplaced => start,
        18 => mapping?.bytes,
        19 => block.mapping,
        _ => 0,
    })
}
