//! The capture itself, and memory that only the program knows of.

use std::ffi::c_void;
use std::fmt::Display;
use std::path::Path;

use crate::symbols::capture;

/// Whether the program's memory is being recorded: it was started by `vramscope-capture run`, and recording is on.
#[must_use]
pub fn is_captured() -> bool {
    capture().is_some_and(|capture| capture.is_recording())
}

/// Begins recording, after [`stop`] or `vramscope-capture run --start-paused`.
pub fn start() {
    if let Some(capture) = capture() {
        capture.start();
    }
}

/// Stops recording. Memory that is allocated and freed until [`start`] is not in the snapshot.
pub fn stop() {
    if let Some(capture) = capture() {
        capture.stop();
    }
}

/// Asks for a snapshot of everything up to now. `vramscope-capture run` writes it within a moment; this does not
/// wait for that. Returns whether anybody was asked.
///
/// ```
/// vramscope_api::dump("after-warm-up.pickle");
/// ```
pub fn dump(path: impl AsRef<Path>) -> bool {
    let path = path.as_ref().as_os_str().as_encoded_bytes();
    capture().is_some_and(|capture| capture.dump(path))
}

/// Tells that the program hands out a part of an allocation of its own, as an arena or a cache does. In the snapshot the
/// allocation becomes a segment, and its parts the blocks.
///
/// `address` is the device's, `stream` the one (`CUstream`) on which it is to be used; null is the default stream.
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

/// Tells that the part at this address was given back to its arena.
pub fn subfree(address: u64, stream: *mut c_void) {
    if let Some(capture) = capture() {
        capture.subfree(address, stream);
    }
}

/// Gives a live allocation, or part of one, a name, which the snapshot has beside it.
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
