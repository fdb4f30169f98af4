//! Bytes into a [`Snapshot`], in one streaming pass.

use std::io::Read;
use std::ops::ControlFlow;

use crate::{Error, Limits, Snapshot};

/// How far decoding has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Progress {
    /// Bytes of the file read so far, wrappings included.
    pub file_bytes: u64,
    /// Events decoded so far.
    pub events: u64,
}

/// What a caller may set.
pub struct Options<'a> {
    /// Bounds against hostile files.
    pub limits: Limits,
    /// Size of the file in bytes if known: lets columns be sized once instead of doubling.
    pub file_bytes: Option<u64>,
    /// Called every few hundred kilobytes; `Break` ends decoding with [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled).
    pub on_progress: &'a mut dyn FnMut(Progress) -> ControlFlow<()>,
}

/// Reads a snapshot from `input`, whatever it is wrapped in.
///
/// # Errors
/// See [`ErrorKind`](crate::ErrorKind). Damage that leaves the rest readable is no error but a warning of the snapshot.
pub fn decode_with(_input: impl Read, _options: Options<'_>) -> Result<Snapshot, Error> {
    Err(crate::ErrorKind::Empty.into())
}

/// [`decode_with`] the default limits and nobody watching.
///
/// # Errors
/// As [`decode_with`].
pub fn decode(input: impl Read) -> Result<Snapshot, Error> {
    let options = Options {
        limits: Limits::default(),
        file_bytes: None,
        on_progress: &mut |_| ControlFlow::Continue(()),
    };
    decode_with(input, options)
}
