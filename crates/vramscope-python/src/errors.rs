//! Failures as exceptions, with the command line's messages.

use std::io::{self, ErrorKind};
use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::create_exception;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use vramscope_cli::Failure;

create_exception!(
    vramscope,
    SnapshotError,
    PyValueError,
    "A problem with a snapshot or with a question about it: what, where, and what to do."
);

/// Does work while other Python threads continue.
///
/// # Errors
/// The failure as an exception. A panic is a bug of ours, and becomes an exception that says so.
pub(crate) fn apart<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, Failure> + Send,
) -> PyResult<T> {
    match py.detach(|| catch_unwind(AssertUnwindSafe(work))) {
        Ok(done) => done.map_err(|failure| exception(&failure)),
        Err(_) => Err(SnapshotError::new_err(
            "this is a bug in vramscope, not in your program: please report it, if possible with the file",
        )),
    }
}

/// A file that cannot be read raises Python's matching kind of `OSError`, everything else a [`SnapshotError`].
fn exception(failure: &Failure) -> PyErr {
    let text = failure.to_string();
    match system(failure).map(|error| (error.raw_os_error(), error.kind())) {
        None | Some((None, ErrorKind::Other)) => SnapshotError::new_err(text),
        Some((None, kind)) => io::Error::new(kind, text).into(),
        Some((Some(number), _)) => PyOSError::new_err((number, text)),
    }
}

/// The system's error, if reading failed.
fn system(failure: &Failure) -> Option<&io::Error> {
    match failure {
        Failure::Io { error, .. } => Some(error),
        Failure::Explained { failure, .. } => system(failure),
        _ => None,
    }
}
