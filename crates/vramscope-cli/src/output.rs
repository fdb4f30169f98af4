//! The only place that writes to the terminal, but for the bars of `progress`.

mod harmless;

use std::io::{self, IsTerminal, Write};

use self::harmless::Harmless;
use crate::failure::Failure;
use crate::progress;

/// Writes a text of ours to standard output, without its colours where they would not be seen as such: in a
/// file, a pipe, with `NO_COLOR` set. What came from a file is [`printable`] in it.
///
/// # Errors
/// [`Failure::ClosedPipe`] when nobody reads any more, else what went wrong.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = anstream::AutoStream::auto(io::stdout().lock());
    stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
        .map_err(unwritten)
}

/// Writes data to standard output, as [`pipe`].
///
/// # Errors
/// As [`print`](fn@print).
pub(crate) fn print_bytes(bytes: &[u8]) -> Result<(), Failure> {
    stream(|out| out.write_all(bytes))
}

/// Writes data to standard output as they are made, however many there are: unchanged into a pipe or a file,
/// [`Harmless`] on a terminal.
///
/// # Errors
/// [`Failure::ClosedPipe`] when nobody reads any more, [`Failure::Usage`] for what is no text on a terminal, else
/// what went wrong.
pub(crate) fn pipe(
    is_text: bool,
    write: impl FnOnce(&mut dyn Write) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let stdout = io::stdout().lock();
    let mut out: Box<dyn Write> = match (stdout.is_terminal(), is_text) {
        (false, _) => Box::new(io::BufWriter::new(stdout)),
        (true, true) => Box::new(io::BufWriter::new(Harmless::new(stdout))),
        (true, false) => {
            let text = "this is no text to show on a terminal; write it to a file with -o FILE, or pipe it on";
            return Err(Failure::Usage(text.to_owned()));
        }
    };
    write(&mut out)?;
    out.flush().map_err(unwritten)
}

/// For [`Result::map_err`] on what is written.
pub(crate) fn unwritten(error: io::Error) -> Failure {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return Failure::ClosedPipe;
    }
    Failure::io("cannot write to standard output")(error)
}

/// What went wrong below the writer of CSV, such as a closed pipe.
pub(crate) fn csv_error(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        kind => io::Error::other(format!("{kind:?}")),
    }
}

/// Lets `write` write to standard output bit by bit, for what may be too long to be held as one text.
///
/// # Errors
/// As [`print`](fn@print).
pub(crate) fn stream(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    pipe(true, |out| write(out).map_err(unwritten))
}

/// Tells why a command failed.
pub(crate) fn report(failure: &Failure) {
    note(&format!("error: {}\n", printable(&failure.to_string())));
}

/// Writes to standard error. That this can fail as well is nothing anyone could be told.
pub(crate) fn note(text: &str) {
    progress::suspend(|| {
        let mut stderr = io::stderr().lock();
        let written = stderr.write_all(text.as_bytes());
        drop(written.and_then(|()| stderr.flush()));
    });
}

/// A text in which nothing but line breaks can move the cursor: names in a file may hold any
/// character, a terminal's escape sequences too.
pub(crate) fn printable(text: &str) -> String {
    let harmless = |character| match character {
        '\n' => character,
        _ if character.is_control() => char::REPLACEMENT_CHARACTER,
        _ => character,
    };
    text.chars().map(harmless).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_are_defused() {
        assert_eq!(
            printable("a\u{1b}[2Jb\nc\r\u{9b}31m"),
            "a\u{fffd}[2Jb\nc\u{fffd}\u{fffd}31m"
        );
    }
}
