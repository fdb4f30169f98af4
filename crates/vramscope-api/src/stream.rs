//! Ranges on a stream.
#![expect(unsafe_code, reason = "streams are pointers that nobody can check")]

use std::ffi::c_void;
use std::fmt::Display;

use crate::symbols::capture;

/// A range on a stream, from [`device_range_start`].
#[derive(Clone, Copy, Debug)]
#[must_use = "it lasts until `device_range_end`"]
pub struct DeviceRange {
    /// 0 if no range was begun.
    number: u64,
}

/// Begins a range when the stream reaches this point. A host function in the stream records the time, which costs
/// the stream a few microseconds. Does nothing while the stream is being captured into a graph.
///
/// # Safety
/// `stream` must be a living stream (`CUstream`) of the driver; null is the default stream.
pub unsafe fn device_range_start(name: impl Display, stream: *mut c_void) -> DeviceRange {
    // SAFETY: as the caller promises.
    let start = |capture: &crate::symbols::Functions| unsafe {
        capture.stream_range_start(0, name, stream)
    };
    let number = capture().map_or(0, start);
    DeviceRange { number }
}

/// Ends a range when this stream reaches this point. The stream may differ from the one on which it began.
///
/// # Safety
/// As for [`device_range_start`].
pub unsafe fn device_range_end(range: DeviceRange, stream: *mut c_void) {
    if range.number != 0
        && let Some(capture) = capture()
    {
        // SAFETY: as the caller promises.
        unsafe { capture.stream_range_end(range.number, stream) };
    }
}
