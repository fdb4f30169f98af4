//! Who called: the stack by unwinding in process, written once and named by a number.

/// The number of the caller's stack, at most `depth` frames; 0 if it cannot be had.
pub(crate) fn number(_depth: u32) -> u32 {
    0
}
