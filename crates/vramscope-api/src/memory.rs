//! Control of the recording, and memory that only the program knows about.

use std::ffi::c_void;
use std::fmt::Display;
use std::path::Path;

use crate::symbols::capture;

/// Whether the program's memory is being recorded: `vramscope-capture run` started it, and recording is on.
#[must_use]
pub fn is_captured() -> bool {
    capture().is_some_and(|capture| capture.is_recording())
}

/// Starts recording, after [`stop`] or `vramscope-capture run --start-paused`.
pub fn start() {
    if let Some(capture) = capture() {
        capture.start();
    }
}

/// Pauses recording. Memory that is allocated and freed before the next [`start`] does not appear in the snapshot.
pub fn stop() {
    if let Some(capture) = capture() {
        capture.stop();
    }
}

/// Requests a snapshot of everything up to now. Does not wait: `vramscope-capture run` writes the snapshot shortly
/// afterwards. Returns whether the request was recorded.
///
/// ```
/// vramscope_api::dump("after-warm-up.pickle");
/// ```
pub fn dump(path: impl AsRef<Path>) -> bool {
    let path = path.as_ref().as_os_str().as_encoded_bytes();
    capture().is_some_and(|capture| capture.dump(path))
}

/// Reports that the program hands out a part of one of its allocations, as an arena or a cache does. In the
/// snapshot, the allocation becomes a segment and its parts become blocks.
///
/// `address` is a device address. The part is to be used on `stream` (a `CUstream`); null is the default stream.
///
/// ```
/// # let (arena, offset) = (0x7000_0000_u64, 4096);
/// # let stream = std::ptr::null_mut();
/// vramscope_api::suballoc(arena + offset, 1 << 20, stream);
/// // …
/// vramscope_api::subfree(arena + offset, stream);
/// ```
pub fn suballoc(address: u64, bytes: usize, stream: *mut c_void) {
    if let Some(capture) = capture() {
        capture.suballoc(address, bytes, stream);
    }
}

/// Reports that the part at this address was freed.
pub fn subfree(address: u64, stream: *mut c_void) {
    if let Some(capture) = capture() {
        capture.subfree(address, stream);
    }
}

/// Names a live allocation, or a part of one. The name appears in the snapshot.
///
/// ```
/// # let weights = 0x7000_0000_u64;
/// vramscope_api::annotate(weights, "embedding weights");
/// ```
pub fn annotate(address: u64, name: impl Display) {
    if let Some(capture) = capture() {
        capture.annotate(address, name);
    }
}
