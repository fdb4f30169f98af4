//! Contexts. Memory of `cuMemAlloc` and similar functions ends with its context. Pools and address ranges belong to
//! their device and survive (see [`habits`]).

use std::ffi::{c_int, c_uint};

use crate::driver::{Context, Driver, Owner};
use crate::entry::{Answer, Handle, contexts, handle, number, result, write_optional, write_out};
use crate::habits::habits;
use crate::heap::Heap;

driver! {
    fn cuDevicePrimaryCtxRetain(context: *mut Handle, device: c_int) |driver| {
        let (index, of) = driver.device(device)?;
        of.retained += 1;
        let primary = of.primary;
        driver.contexts.entry(primary).or_insert_with(|| new(index));
        write_out(context, handle(primary))
    }

    fn cuDevicePrimaryCtxRelease_v2, cuDevicePrimaryCtxRelease(device: c_int) |driver| {
        let (_, of) = driver.device(device)?;
        of.retained = of.retained.checked_sub(1).ok_or(result::INVALID_CONTEXT)?;
        match (of.retained, of.primary) {
            (0, primary) => end_context(driver, primary),
            _ => Ok(()),
        }
    }

    fn cuDevicePrimaryCtxReset_v2, cuDevicePrimaryCtxReset(device: c_int) |driver| {
        let (index, of) = driver.device(device)?;
        let (primary, is_held) = (of.primary, of.retained > 0);
        end_context(driver, primary)?;
        if is_held {
            driver.contexts.insert(primary, new(index));
        }
        Ok(())
    }

    fn cuDevicePrimaryCtxGetState(device: c_int, flags: *mut c_uint, active: *mut c_int) |driver| {
        let (_, of) = driver.device(device)?;
        write_optional(flags, 0);
        write_optional(active, c_int::from(of.retained > 0));
        Ok(())
    }

    fn cuDevicePrimaryCtxSetFlags_v2(device: c_int, _flags: c_uint) |driver| {
        driver.device(device).map(|_| ())
    }

    fn cuCtxCreate_v2(context: *mut Handle, _flags: c_uint, device: c_int) |driver| {
        create(driver, context, device)
    }

    fn cuCtxCreate_v3(context: *mut Handle, _affinity: Handle, _count: c_int, _flags: c_uint, device: c_int) |driver| {
        create(driver, context, device)
    }

    fn cuCtxCreate_v4(context: *mut Handle, _params: Handle, _flags: c_uint, device: c_int) |driver| {
        create(driver, context, device)
    }

    fn cuCtxDestroy_v2, cuCtxDestroy(context: Handle) |driver| {
        let context = number(context);
        if driver.devices.iter().any(|device| device.primary == context) {
            return Err(result::INVALID_CONTEXT);
        }
        end_context(driver, context)?;
        contexts(|stack| {
            if stack.last() == Some(&context) {
                stack.pop();
            }
        });
        Ok(())
    }

    fn cuCtxSetCurrent(context: Handle) |driver| {
        check_context(driver, context)?;
        contexts(|stack| {
            stack.pop();
            if !context.is_null() {
                stack.push(number(context));
            }
        });
        Ok(())
    }

    fn cuCtxPushCurrent_v2(context: Handle) |driver| {
        check_context(driver, context)?;
        contexts(|stack| stack.push(number(context)));
        Ok(())
    }

    fn cuCtxPopCurrent_v2(context: *mut Handle) {
        let popped = contexts(Vec::pop).ok_or(result::INVALID_CONTEXT)?;
        write_optional(context, handle(popped));
        Ok(())
    }

    fn cuCtxGetCurrent(context: *mut Handle) {
        write_out(context, handle(contexts(|stack| stack.last().copied()).unwrap_or(0)))
    }

    fn cuCtxGetDevice(device: *mut c_int) |driver| {
        let (_, context) = driver.current()?;
        write_out(device, context.device as c_int)
    }

    fn cuCtxGetApiVersion(context: Handle, version: *mut c_uint) |driver| {
        check_context(driver, context)?;
        write_out(version, 3020)
    }

    fn cuCtxGetFlags(flags: *mut c_uint) |driver| {
        driver.current()?;
        write_out(flags, 0)
    }

    fn cuCtxSetFlags(_flags: c_uint) |driver| {
        driver.current().map(|_| ())
    }

    fn cuCtxGetLimit(value: *mut usize, _limit: c_uint) |driver| {
        driver.current()?;
        write_out(value, 8 << 20)
    }

    fn cuCtxSetLimit(_limit: c_uint, _value: usize) |driver| {
        driver.current().map(|_| ())
    }

    fn cuCtxSynchronize() |driver| {
        let (_, context) = driver.current()?;
        let device = context.device;
        driver.synchronise(device);
        Ok(())
    }

    fn cuCtxGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int) {
        write_optional(least, 0);
        write_optional(greatest, -5);
        Ok(())
    }

    fn cuCtxEnablePeerAccess(context: Handle, _flags: c_uint) |driver| {
        check_context(driver, context)
    }
}

fn new(device: usize) -> Context {
    Context {
        device,
        small: Heap::default(),
    }
}

fn create(driver: &mut Driver, place: *mut Handle, device: c_int) -> Answer {
    let (index, _) = driver.device(device)?;
    let context = driver.new_handle();
    driver.contexts.insert(context, new(index));
    contexts(|stack| stack.push(context));
    write_out(place, handle(context))
}

/// Checks a context; null is allowed.
///
/// # Errors
///
/// `CUDA_ERROR_INVALID_CONTEXT` if it is not a living context.
fn check_context(driver: &Driver, context: Handle) -> Answer {
    if context.is_null() || driver.contexts.contains_key(&number(context)) {
        Ok(())
    } else {
        Err(result::INVALID_CONTEXT)
    }
}

/// Ends a context and everything that belongs to it.
fn end_context(driver: &mut Driver, context: u64) -> Answer {
    let Some(ended) = driver.contexts.get(&context) else {
        return Err(result::INVALID_CONTEXT);
    };
    let device = ended.device;
    driver.note("context_end", device, &[("handle", context)]);
    driver.free_all(|block| {
        let owned = [Owner::Context, Owner::Managed, Owner::Import];
        block.context == context && owned.contains(&block.owner)
    });
    if habits().pool_memory_outlives_context == 0 && driver.devices[device].primary == context {
        driver.free_all(|block| block.device == device && matches!(block.owner, Owner::Pool(_)));
        driver.synchronise(device);
    }
    let arrays = driver.arrays.iter();
    let arrays: Vec<_> = arrays
        .filter(|(_, array)| array.context == context)
        .map(|(&handle, _)| handle)
        .collect();
    for array in arrays {
        driver.free_array(array)?;
    }
    let host = driver
        .host
        .iter()
        .filter(|(_, host)| host.context == context);
    let host: Vec<_> = host.map(|(&address, _)| address).collect();
    for address in host {
        driver.free_host(address)?;
    }
    driver.streams.retain(|_, of| *of != context);
    driver.contexts.remove(&context);
    Ok(())
}
