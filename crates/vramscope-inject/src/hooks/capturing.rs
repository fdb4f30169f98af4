//! Streams that are being captured into graphs: then memory belongs to the graph, and the driver must not be asked
//! what could spoil the capture. As long as no capture has begun, nothing here costs a call.

use std::ffi::c_uint;
use std::sync::atomic::{AtomicU32, Ordering};

use vramscope_record::layout::flags::PER_THREAD_STREAM;
use vramscope_record::layout::{Call, Event, SUCCESS};

use super::CUresult;
use crate::driver::function;

/// Captures that have begun and not ended.
static CAPTURES: AtomicU32 = AtomicU32::new(0);

/// After a call that begins a capture.
pub(super) fn begun() -> impl FnOnce(CUresult) {
    |result| {
        if result == SUCCESS {
            CAPTURES.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// After a call that ends one.
pub(super) fn ended() -> impl FnOnce(CUresult) {
    /// Errors of captures that went wrong, which end all the same: `CUDA_ERROR_STREAM_CAPTURE_…`. Not among them are
    /// 903, on a stream where none began, and 908, on another thread than may end it: that goes on.
    const SPOILT: [CUresult; 7] = [900, 901, 902, 904, 905, 906, 907];
    |result| {
        if result == SUCCESS || SPOILT.contains(&result) {
            // One that began before we looked must not make it wrap.
            let _ = CAPTURES.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| {
                count.checked_sub(1)
            });
        }
    }
}

/// The graph that an event's stream is captured into, 0 if that cannot be told; `None` if it is not captured.
pub(super) fn graph_of(event: &Event) -> Option<u64> {
    /// `CU_STREAM_PER_THREAD`: what 0 stands for in functions for it.
    const PER_THREAD: u64 = 2;
    const ORDERED: [u8; 3] = [
        Call::cuMemAllocAsync as u8,
        Call::cuMemAllocFromPoolAsync as u8,
        Call::cuMemFreeAsync as u8,
    ];
    if CAPTURES.load(Ordering::Relaxed) == 0 || !ORDERED.contains(&event.call) {
        return None;
    }
    let stream = match event.stream {
        0 if event.flags & PER_THREAD_STREAM != 0 => PER_THREAD,
        stream => stream,
    };
    let ask = function!(
        cuStreamGetCaptureInfo_v2: fn(u64, *mut c_uint, *mut u64, *mut u64, *mut *const u64, *mut usize) -> u32
    )?;
    let (mut status, mut graph) = (0, 0);
    let none = std::ptr::null_mut();
    // SAFETY: places for the answers; those that are null are not wanted.
    let result = unsafe {
        ask(
            stream,
            &raw mut status,
            none,
            &raw mut graph,
            none.cast(),
            none.cast(),
        )
    };
    match (result, status) {
        (SUCCESS, 0) => None,
        (SUCCESS, _) => Some(graph),
        // The default stream while another one is captured: rather ask nothing.
        _ => Some(0),
    }
}

/// Asks the driver something in such a way that no capture is spoilt; `None` if that cannot be.
pub(super) fn relaxed<T>(ask: impl FnOnce() -> T) -> Option<T> {
    /// `CU_STREAM_CAPTURE_MODE_RELAXED`
    const RELAXED: c_uint = 2;
    if CAPTURES.load(Ordering::Relaxed) == 0 {
        return Some(ask());
    }
    let exchange = function!(cuThreadExchangeStreamCaptureMode: fn(*mut c_uint) -> u32)?;
    let mut mode = RELAXED;
    // SAFETY: the mode to be set, and the place for the former one.
    if unsafe { exchange(&raw mut mode) } != SUCCESS {
        return None;
    }
    let answer = ask();
    // SAFETY: as above.
    unsafe { exchange(&raw mut mode) };
    Some(answer)
}
