//! Ranges that begin and end when a stream gets there: host functions in the stream write them.

use std::ffi::{c_int, c_void};

use vramscope_record::layout::{AnnotationOp, SUCCESS};

use super::{Domain, Waiting, annotation, is_recording, new_number, write};
use crate::{driver, log};

/// Begins a range there. Returns its number, or 0 if there is none: nothing is recorded, CUDA refuses, or the stream is
/// being captured into a graph, which would run the function more than once.
///
/// # Safety
/// `stream` must be one of CUDA's.
pub(crate) unsafe fn start_on_stream(domain: Domain, name: &[u8], stream: *mut c_void) -> u64 {
    let range = new_number();
    // SAFETY: as the caller promises.
    let is_enqueued =
        is_recording() && unsafe { enqueue(AnnotationOp::Start, range, domain, name, stream) };
    if is_enqueued { range } else { 0 }
}

/// Ends it there. 0 is none.
///
/// # Safety
/// `stream` must be one of CUDA's.
pub(crate) unsafe fn end_on_stream(range: u64, stream: *mut c_void) {
    if range != 0 && log::is_made() {
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
    // SAFETY: as the caller promises, and a place for the answer.
    let known = unsafe { capturing(stream, &raw mut is_capturing) };
    if known != SUCCESS || is_capturing != 0 {
        return false;
    }
    let mut annotation = annotation(op, range);
    annotation.stream = stream.addr() as u64;
    let (depth, name) = (0, name.into());
    let waiting = Box::into_raw(Box::new(Waiting {
        annotation,
        domain,
        depth,
        name,
    }));
    // SAFETY: as the caller promises; the function is called once, and then owns the box.
    let is_launched = unsafe { launch(stream, arrived, waiting.cast()) } == SUCCESS;
    if !is_launched {
        // SAFETY: nobody else has it.
        drop(unsafe { Box::from_raw(waiting) });
    }
    is_launched
}

/// Called by CUDA, on a thread of its own, in which CUDA must not be called.
///
/// # Safety
/// `waiting` must be a box of it that is given away.
unsafe extern "C" fn arrived(waiting: *mut c_void) {
    log::guarded(|| {
        // SAFETY: as the caller promises.
        let mut waiting = unsafe { Box::from_raw(waiting.cast::<Waiting>()) };
        waiting.annotation.time_ns = log::now_ns();
        write(waiting.annotation, waiting.domain, &waiting.name);
    });
}
