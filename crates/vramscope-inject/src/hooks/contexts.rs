//! The end of contexts, which frees all memory in them.

use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, Ordering};

use vramscope_record::layout::{Call, Event, NO_DEVICE, SUCCESS};

use super::{CUresult, Handle, entry, events, pools};
use crate::driver::{current_device, function};
use crate::log;

/// Primary contexts by device ordinal, if they were retained; 0 if unknown.
static PRIMARY: [AtomicU64; 64] = [const { AtomicU64::new(0) }; 64];

fn primary(device: c_int) -> Option<&'static AtomicU64> {
    PRIMARY.get(usize::try_from(device).ok()?)
}

/// Runs after a thread's context was set. Hooked only because a thread that has a context will call the driver.
pub(super) fn after_switch() -> impl FnOnce(CUresult) {
    |_| ()
}

/// Runs after `cuDevicePrimaryCtxRetain`.
pub(super) fn after_retain(place: *const Handle, device: c_int) -> impl FnOnce(CUresult) {
    move |result| {
        if result == SUCCESS
            && !place.is_null()
            && let Some(primary) = primary(device)
        {
            // SAFETY: not null, and the driver has just written there.
            primary.store(unsafe { place.read_unaligned() } as u64, Ordering::Relaxed);
        }
    }
}

/// Runs after `cuDevicePrimaryCtxRelease`. The context ends with its last release.
pub(super) fn after_release(device: c_int) -> impl FnOnce(CUresult) {
    move |result| {
        if result == SUCCESS && is_active(device) == Some(false) {
            write_primary_end(Call::cuDevicePrimaryCtxRelease, device);
        }
    }
}

/// Runs after `cuDevicePrimaryCtxReset`. The context ends even if it is still retained.
pub(super) fn after_reset(device: c_int) -> impl FnOnce(CUresult) {
    move |result| {
        if result == SUCCESS {
            write_primary_end(Call::cuDevicePrimaryCtxReset, device);
        }
    }
}

/// Runs after `cuCtxDestroy`. Looks up the context's device beforehand.
pub(super) fn after_destroy(context: Handle) -> impl FnOnce(CUresult) {
    let context = context as u64;
    let is_current = events::current_context() == context;
    let device = current_device().filter(|_| is_current).unwrap_or(NO_DEVICE);
    move |result| {
        if result == SUCCESS {
            write_end(Call::cuCtxDestroy, context, device);
        }
    }
}

fn write_primary_end(call: Call, device: c_int) {
    let context = primary(device).map_or(0, |primary| primary.load(Ordering::Relaxed));
    let device = i16::try_from(device).unwrap_or(NO_DEVICE);
    // A pool that survives and is used again is registered again.
    let had_pools = pools::forget(|_, of| of == device);
    write_end(call, context, device);
    if had_pools && log::is_recording() {
        pools::sample_after_context_end(device);
    }
}

fn write_end(call: Call, context: u64, device: i16) {
    if log::is_recording() {
        let event = Event {
            context,
            device,
            ..entry::blank(call)
        };
        events::write(event, true);
    }
}

/// Whether a device's primary context exists.
fn is_active(device: c_int) -> Option<bool> {
    let get = function!(cuDevicePrimaryCtxGetState: fn(c_int, *mut u32, *mut c_int) -> CUresult)?;
    let (mut flags, mut active) = (0, 0);
    // SAFETY: the out-pointers are valid.
    (unsafe { get(device, &raw mut flags, &raw mut active) } == SUCCESS).then_some(active != 0)
}
