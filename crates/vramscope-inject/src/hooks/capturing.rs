//! Streams that are being captured into graphs. Their memory belongs to the graph, and many driver queries would
//! invalidate the capture.

use std::ffi::c_uint;
use std::sync::atomic::{AtomicU32, Ordering};

use vramscope_record::layout::flags::PER_THREAD_STREAM;
use vramscope_record::layout::{Call, Event, Loss, SUCCESS};

use super::CUresult;
use crate::driver::function;
use crate::log;

/// Number of captures that are active or about to begin. Streams are queried only while there are any.
static CAPTURES: AtomicU32 = AtomicU32::new(0);

/// Runs around a call that begins a capture. Counts the capture beforehand: another thread may use the stream while the
/// call runs.
pub(super) fn around_begin() -> impl FnOnce(CUresult) {
    CAPTURES.fetch_add(1, Ordering::Relaxed);
    |result| {
        if result != SUCCESS {
            forget_capture();
        }
    }
}

/// Runs after a call that ends a capture.
pub(super) fn after_end() -> impl FnOnce(CUresult) {
    /// `CUDA_ERROR_STREAM_CAPTURE_…`: errors of a failed capture, which also end it. Not 903 (no capture on this
    /// stream) and 908 (wrong thread, the capture continues).
    const INVALIDATED: [CUresult; 7] = [900, 901, 902, 904, 905, 906, 907];
    |result| {
        if result == SUCCESS || INVALIDATED.contains(&result) {
            forget_capture();
        }
    }
}

fn forget_capture() {
    // A capture that began before recording would make the counter wrap.
    let _ = CAPTURES.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| {
        count.checked_sub(1)
    });
}

/// The graph that captures an event's stream; 0 if unknown, `None` if the stream is not being captured.
pub(super) fn graph_of(event: &Event) -> Option<u64> {
    /// `CU_STREAM_PER_THREAD`: the meaning of stream 0 in `_ptsz` functions.
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
    let get_info = function!(
        cuStreamGetCaptureInfo_v2: fn(u64, *mut c_uint, *mut u64, *mut u64, *mut *const u64, *mut usize) -> u32
    )?;
    let (mut status, mut graph) = (0, 0);
    let none = std::ptr::null_mut();
    // SAFETY: the out-pointers are valid or null, which the driver accepts.
    let result = unsafe {
        get_info(
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
        // The default stream while another stream is captured: any query may invalidate the capture, so treat it as
        // captured.
        _ => {
            log::lost(Loss::CaptureUnknown);
            Some(0)
        }
    }
}

/// Runs queries to the driver without invalidating captures. `None` if that is impossible.
///
/// The thread's mode is always exchanged, as another thread may begin a capture at any time.
pub(super) fn run_relaxed<T>(query: impl FnOnce() -> T) -> Option<T> {
    /// `CU_STREAM_CAPTURE_MODE_RELAXED`
    const RELAXED: c_uint = 2;
    let mut mode = RELAXED;
    let exchange = function!(cuThreadExchangeStreamCaptureMode: fn(*mut c_uint) -> u32);
    // SAFETY: `mode` is valid; the driver swaps it with the thread's mode.
    let exchange = exchange.filter(|exchange| unsafe { exchange(&raw mut mode) } == SUCCESS);
    // Drivers without captures have no modes.
    if exchange.is_none() && CAPTURES.load(Ordering::Relaxed) != 0 {
        log::lost(Loss::NotAsked);
        return None;
    }
    let answer = query();
    if let Some(exchange) = exchange {
        // SAFETY: as above.
        unsafe { exchange(&raw mut mode) };
    }
    Some(answer)
}
