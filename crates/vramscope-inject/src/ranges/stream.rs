//! Ranges that begin and end when a stream reaches them. Host functions in the stream write them: this library's,
//! enqueued by [`start_on_stream`], or the program's own, run by [`run_at`].

use std::cell::Cell;
use std::ffi::{c_int, c_void};

use vramscope_record::layout::{AnnotationOp, Loss, ON_STREAM, SUCCESS};

use super::{annotation, is_recording, new_number};
use crate::driver;
use crate::log::{self, Domain, Label, PendingRange};

/// A stream and its device, as number and ordinal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Point {
    pub(crate) stream: u64,
    pub(crate) device: i16,
}

thread_local! {
    /// The stream whose host function the calling thread runs.
    static REACHED: Cell<Option<Point>> = const { Cell::new(None) };
}

/// The stream whose host function the calling thread runs; if there is one, the driver must not be called.
pub(super) fn reached() -> Option<Point> {
    REACHED.get()
}

/// Runs a host function of a stream. Annotations made in it belong to the stream.
pub(crate) fn run_at(point: Point, function: impl FnOnce()) {
    /// Also restores the value if the function unwinds.
    struct Restore(Option<Point>);
    impl Drop for Restore {
        fn drop(&mut self) {
            REACHED.set(self.0);
        }
    }
    let _restore = Restore(REACHED.replace(Some(point)));
    function();
}

/// Begins a range on a stream. Returns its number. Returns 0 if nothing is recorded, if CUDA refuses, or if the
/// stream is being captured into a graph, which could run the host function more than once.
///
/// # Safety
/// `stream` must be one of CUDA's.
pub(crate) unsafe fn start_on_stream(label: Label<'_>, stream: *mut c_void) -> u64 {
    if !is_recording() {
        return 0;
    }
    let range = new_number();
    // SAFETY: as the caller promises.
    if unsafe { enqueue(AnnotationOp::Start, range, label, stream) } {
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
        unsafe {
            enqueue(
                AnnotationOp::End,
                range,
                Label::end(Domain::DEFAULT),
                stream,
            )
        };
    }
}

/// # Safety
/// `stream` must be one of CUDA's.
unsafe fn enqueue(op: AnnotationOp, range: u64, label: Label<'_>, stream: *mut c_void) -> bool {
    type Function = unsafe extern "C" fn(*mut c_void);
    let launch = driver::function!(cuLaunchHostFunc: fn(*mut c_void, Function, *mut c_void) -> u32);
    // SAFETY: as the caller promises.
    let (Some(false), Some(launch)) = (unsafe { is_capturing(stream) }, launch) else {
        return false;
    };
    let mut annotation = annotation(op, range);
    annotation.stream = stream.addr() as u64;
    annotation.flags = ON_STREAM;
    let pending = Box::into_raw(Box::new(PendingRange {
        annotation,
        label: label.into_owned(),
        depth: 0,
    }));
    // SAFETY: as the caller promises; the function is called once and then owns the box.
    let is_launched = unsafe { launch(stream, write_on_stream, pending.cast()) } == SUCCESS;
    if !is_launched {
        // SAFETY: the launch failed, so nothing else owns the box.
        drop(unsafe { Box::from_raw(pending) });
    }
    is_launched
}

/// Runs on one of CUDA's threads, which must not call CUDA.
///
/// # Safety
/// `pending` must be a `PendingRange` in a box that the callee may own.
unsafe extern "C" fn write_on_stream(pending: *mut c_void) {
    log::guard(|| {
        // SAFETY: as the caller promises.
        let mut pending = unsafe { Box::from_raw(pending.cast::<PendingRange>()) };
        pending.annotation.time_ns = log::now_ns();
        log::annotate(pending.annotation, &pending.label);
    });
}

/// Whether a stream is being captured into a graph; `None` if the driver does not say.
///
/// # Safety
/// `stream` must be one of CUDA's.
pub(crate) unsafe fn is_capturing(stream: *mut c_void) -> Option<bool> {
    let capturing = driver::function!(cuStreamIsCapturing: fn(*mut c_void, *mut c_int) -> u32)?;
    let mut status = 0;
    // SAFETY: as the caller promises; the out-pointer is valid.
    let result = unsafe { capturing(stream, &raw mut status) };
    (result == SUCCESS).then_some(status != 0)
}
