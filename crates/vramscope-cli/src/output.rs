//! All writing to the terminal, except the bars of `progress`.

pub(crate) mod wrap;

use std::io::{self, IsTerminal, Write};

use crate::failure::Failure;
use crate::harmless::{Harmless, printable};
use crate::progress;

/// Prints a text. Colours are removed where they would not be seen: in a file, a pipe, or with `NO_COLOR` set. Parts of
/// the text that come from a snapshot must have gone through [`printable`].
///
/// # Errors
/// [`Failure::ClosedPipe`] when the reader has closed the pipe, else the write error.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    styled(|out| out.write_all(text.as_bytes()))
}

/// Like [`print`], for a text that `write` produces piece by piece.
pub(crate) fn styled(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    let stdout = anstream::AutoStream::auto(io::stdout().lock());
    let mut out = io::BufWriter::new(stdout);
    write(&mut out)
        .and_then(|()| out.flush())
        .map_err(unwritten)
}

/// Writes bytes that are already in memory, like [`pipe`].
pub(crate) fn print_bytes(bytes: &[u8]) -> Result<(), Failure> {
    stream(|out| out.write_all(bytes))
}

/// Writes data of any length to standard output while it is produced: unchanged into a pipe or a file, through
/// [`Harmless`] on a terminal.
///
/// # Errors
/// [`Failure::ClosedPipe`] when the reader has closed the pipe, [`Failure::Usage`] for binary data on a terminal, else
/// the write error.
pub(crate) fn pipe(
    is_text: bool,
    write: impl FnOnce(&mut dyn Write) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let stdout = io::stdout().lock();
    let mut out: Box<dyn Write> = match (stdout.is_terminal(), is_text) {
        (false, _) => Box::new(io::BufWriter::new(stdout)),
        (true, true) => Box::new(io::BufWriter::new(Harmless::new(stdout))),
        (true, false) => {
            let text = "binary data is not shown on a terminal; write it to a file with -o FILE, or pipe it";
            return Err(Failure::Usage(text.to_owned()));
        }
    };
    write(&mut out)?;
    out.flush().map_err(unwritten)
}

/// Wraps an error of writing to standard output, for [`Result::map_err`].
pub(crate) fn unwritten(error: io::Error) -> Failure {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return Failure::ClosedPipe;
    }
    Failure::io("cannot write to standard output")(error)
}

/// Unwraps the I/O error below the CSV writer's, such as a closed pipe.
pub(crate) fn csv_error(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        kind => io::Error::other(format!("{kind:?}")),
    }
}

/// Lets `write` print a text piece by piece, if it is too long to be held at once.
pub(crate) fn stream(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    pipe(true, |out| write(out).map_err(unwritten))
}

/// Prints why a command failed; [`Failure`] keeps texts from files on one line. A closed pipe needs no message: its
/// reader had all it wanted. Nor does a program that has itself said why it ended.
pub(crate) fn report(failure: &Failure) {
    match failure {
        Failure::ClosedPipe => return,
        Failure::Ended { text, .. } if text.is_empty() => return,
        _ => {}
    }
    note(&format!("error: {failure}\n"));
}

/// Prints a reason to doubt an answer, on one line.
pub(crate) fn warn(text: &str) {
    note(&format!("warning: {}\n", printable(text)));
}

/// Writes to standard error. If that fails too, there is nowhere to report it.
pub(crate) fn note(text: &str) {
    progress::suspend(|| {
        let mut stderr = io::stderr().lock();
        let written = stderr.write_all(text.as_bytes());
        drop(written.and_then(|()| stderr.flush()));
    });
}
