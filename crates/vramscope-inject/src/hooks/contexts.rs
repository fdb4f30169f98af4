//! The end of contexts, with which everything in them ends.

use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, Ordering};

use vramscope_record::layout::{Call, Event, NO_DEVICE, SUCCESS};

use super::{CUresult, Handle, entry, events, pools};
use crate::driver::{current_device, function};
use crate::log;

/// The primary contexts of devices, by ordinal, as far as they were retained.
static PRIMARY: [AtomicU64; 64] = [const { AtomicU64::new(0) }; 64];

fn primary(device: c_int) -> Option<&'static AtomicU64> {
    PRIMARY.get(usize::try_from(device).ok()?)
}

/// After `cuDevicePrimaryCtxRetain`.
pub(super) fn retained(place: *const Handle, device: c_int) -> impl FnOnce(CUresult) {
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

/// After `cuDevicePrimaryCtxRelease`: the context ends if nobody holds it any more.
pub(super) fn released(device: c_int) -> impl FnOnce(CUresult) {
    move |result| {
        if result == SUCCESS && is_active(device) == Some(false) {
            primary_ended(Call::cuDevicePrimaryCtxRelease, device);
        }
    }
}

/// After `cuDevicePrimaryCtxReset`: it ends, whoever holds it.
pub(super) fn reset(device: c_int) -> impl FnOnce(CUresult) {
    move |result| {
        if result == SUCCESS {
            primary_ended(Call::cuDevicePrimaryCtxReset, device);
        }
    }
}

/// After `cuCtxDestroy`.
pub(super) fn destroyed(context: Handle) -> impl FnOnce(CUresult) {
    let context = context as u64;
    let is_current = events::current_context() == context;
    let device = current_device().filter(|_| is_current).unwrap_or(NO_DEVICE);
    move |result| {
        if result == SUCCESS {
            ended(Call::cuCtxDestroy, context, device);
        }
    }
}

fn primary_ended(call: Call, device: c_int) {
    // Its pools stay; those that are used again are found again.
    pools::forget(|_, of| c_int::from(of) == device);
    let context = primary(device).map_or(0, |primary| primary.load(Ordering::Relaxed));
    ended(call, context, i16::try_from(device).unwrap_or(NO_DEVICE));
}

fn ended(call: Call, context: u64, device: i16) {
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
    // SAFETY: places for the answers.
    (unsafe { get(device, &raw mut flags, &raw mut active) } == SUCCESS).then_some(active != 0)
}
