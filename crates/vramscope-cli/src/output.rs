//! The only place that writes to the terminal.

use std::io::{self, Write};

use crate::failure::Failure;

/// Writes a command's result to standard output.
///
/// # Errors
/// [`Failure::ClosedPipe`] when nobody reads any more, else what went wrong.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
    {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(Failure::ClosedPipe),
        result => result.map_err(Failure::io("cannot write to standard output")),
    }
}

/// Tells why a command failed.
pub(crate) fn report(failure: &Failure) {
    note(&format!("error: {failure}\n"));
}

/// Writes to standard error. That this can fail as well is nothing anyone could be told.
pub(crate) fn note(text: &str) {
    let mut stderr = io::stderr().lock();
    drop(
        stderr
            .write_all(text.as_bytes())
            .and_then(|()| stderr.flush()),
    );
}
