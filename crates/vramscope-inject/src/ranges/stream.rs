//! Ranges that begin and end when a stream reaches them. Host functions in the stream write them.

use std::ffi::{c_int, c_void};

use vramscope_record::layout::{AnnotationOp, Loss, SUCCESS};

use super::{annotation, is_recording, new_number};
use crate::driver;
use crate::log::{self, Domain, PendingRange};

/// Begins a range on a stream. Returns its number. Returns 0 if nothing is recorded, if CUDA refuses, or if the
/// stream is being captured into a graph, which could run the host function more than once.
///
/// # Safety
/// `stream` must be one of CUDA's.
pub(crate) unsafe fn start_on_stream(domain: Domain, name: &[u8], stream: *mut c_void) -> u64 {
    if !is_recording() {
        return 0;
    }
    let range = new_number();
    // SAFETY: as the caller promises.
    if unsafe { enqueue(AnnotationOp::Start, range, domain, name, stream) } {
        return range;
    }
    log::lost(Loss::NoStreamRange);
    0
}

/// Ends a range on a stream; 0 is ignored.
///
/// # Safety
/// `stream` must be one of CUDA's.
pub(crate) unsafe fn end_on_stream(range: u64, stream: *mut c_void) {
    if range != 0 && log::exists() {
        // SAFETY: as the caller promises.
        unsafe { enqueue(AnnotationOp::End, range, Domain::DEFAULT, b"", stream) };
    }
}

/// # Safety
/// `stream` must be one of CUDA's.
unsafe fn enqueue(
    op: AnnotationOp,
    range: u64,
    domain: Domain,
    name: &[u8],
    stream: *mut c_void,
) -> bool {
    type Function = unsafe extern "C" fn(*mut c_void);
    let capturing = driver::function!(cuStreamIsCapturing: fn(*mut c_void, *mut c_int) -> u32);
    let launch = driver::function!(cuLaunchHostFunc: fn(*mut c_void, Function, *mut c_void) -> u32);
    let (Some(capturing), Some(launch)) = (capturing, launch) else {
        return false;
    };
    let mut is_capturing = 0;
    // SAFETY: as the caller promises; the out-pointer is valid.
    let known = unsafe { capturing(stream, &raw mut is_capturing) };
    if known != SUCCESS || is_capturing != 0 {
        return false;
    }
    let mut annotation = annotation(op, range);
    annotation.stream = stream.addr() as u64;
    let (depth, name) = (0, name.into());
    let pending = Box::into_raw(Box::new(PendingRange {
        annotation,
        domain,
        depth,
        name,
    }));
    // SAFETY: as the caller promises; the function is called once and then owns the box.
    let is_launched = unsafe { launch(stream, write_on_stream, pending.cast()) } == SUCCESS;
    if !is_launched {
        // SAFETY: the launch failed, so nothing else owns the box.
        drop(unsafe { Box::from_raw(pending) });
    }
    is_launched
}

/// Runs on a thread of CUDA, which must not call CUDA.
///
/// # Safety
/// `pending` must be a `PendingRange` in a box that the callee may own.
unsafe extern "C" fn write_on_stream(pending: *mut c_void) {
    log::guard(|| {
        // SAFETY: as the caller promises.
        let mut pending = unsafe { Box::from_raw(pending.cast::<PendingRange>()) };
        pending.annotation.time_ns = log::now_ns();
        log::annotate(pending.annotation, pending.domain, &pending.name);
    });
}
