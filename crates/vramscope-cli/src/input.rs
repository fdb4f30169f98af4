//! Reads a snapshot, or a text, from a file or from standard input, with a progress bar if it takes long.

use std::fs::File;
use std::io::{self, BufRead as _, Read};
use std::ops::ControlFlow;
use std::path::Path;

use vramscope_core::analysis::report::facts::warning_line;
use vramscope_core::container::{FileKind, HEAD_BYTES};
use vramscope_core::model::Warnings;
use vramscope_core::open::{Options, Progress, decode_with};
use vramscope_core::{Limits, Snapshot};

use crate::failure::Failure;
use crate::guarded;
use crate::output;
use crate::progress::Reading;

/// Whether a path stands for standard input.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// The name of standard input for messages.
pub(crate) const STANDARD_INPUT: &str = "standard input";

/// The name of a file for messages.
pub(crate) fn display_name(path: &Path) -> String {
    if is_stdin(path) {
        STANDARD_INPUT.to_owned()
    } else {
        path.display().to_string()
    }
}

/// Reads a file, and prints damage found in it to standard error.
pub(crate) fn read(path: &Path) -> Result<Snapshot, Failure> {
    let snapshot = read_silently(path)?;
    tell_damage(&display_name(path), &snapshot.warnings);
    Ok(snapshot)
}

/// Reads a file.
pub(crate) fn read_silently(path: &Path) -> Result<Snapshot, Failure> {
    let name = display_name(path);
    guarded::check(path).map_err(|error| Failure::unread(path, error))?;
    if is_stdin(path) {
        return decode_shown(&name, io::stdin().lock(), None);
    }
    let file = open_file(path)?;
    let file_bytes = regular_bytes(&file);
    decode_shown(&name, file, file_bytes)
}

/// The size of a regular file; others, such as pipes, have none.
pub(crate) fn regular_bytes(file: &File) -> Option<u64> {
    let metadata = file.metadata().ok();
    let regular = metadata.filter(|metadata| metadata.is_file());
    regular.map(|metadata| metadata.len())
}

/// Opens a file. A folder fails here, where the error is clearer than when reading it.
pub(crate) fn open_file(path: &Path) -> Result<File, Failure> {
    let unread = |error| Failure::unread(path, error);
    guarded::check(path).map_err(unread)?;
    let file = File::open(path).map_err(unread)?;
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return Err(unread(io::ErrorKind::IsADirectory.into()));
    }
    Ok(file)
}

/// Decodes a file without printing anything.
pub(crate) fn decode(
    name: &str,
    input: impl Read,
    file_bytes: Option<u64>,
    on_progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Snapshot, Failure> {
    let options = Options {
        limits: Limits::default(),
        file_bytes,
        on_progress,
    };
    decode_with(input, options).map_err(|error| Failure::Decode {
        file: name.to_owned(),
        error: Box::new(error),
    })
}

/// Prints damage in a file to standard error.
pub(crate) fn tell_damage(name: &str, warnings: &Warnings) {
    for warning in warnings.damage() {
        output::warn(&format!("{name}: {}", warning_line(warning)));
    }
}

/// Decodes a file with a progress bar.
fn decode_shown(
    name: &str,
    input: impl Read,
    file_bytes: Option<u64>,
) -> Result<Snapshot, Failure> {
    let mut reading = Reading::new(name, file_bytes);
    decode(name, input, file_bytes, &mut |progress| {
        reading.show(progress.file_bytes);
        ControlFlow::Continue(())
    })
}

/// The first bytes of a file, as many as tell its kind; empty if it cannot be read, or is no ordinary file.
pub(crate) fn head(path: &Path) -> Vec<u8> {
    let mut head = Vec::new();
    // Opening another kind may wait for ever.
    let file = path.is_file().then(|| File::open(path));
    let Some(Ok(mut file)) = file else {
        return head;
    };
    let _cut = (&mut file).take(HEAD_BYTES as u64).read_to_end(&mut head);
    let more = FileKind::head_bytes(&head).saturating_sub(head.len());
    let _cut = file.take(more as u64).read_to_end(&mut head);
    head
}

/// Whether a file is text that is not a snapshot: a log, or a pasted error. Reads nothing from standard input.
pub(crate) fn is_log_file(path: &Path) -> bool {
    if guarded::check(path).is_err() {
        return false;
    }
    if is_stdin(path) {
        let mut input = io::stdin().lock();
        return input
            .fill_buf()
            .is_ok_and(|head| FileKind::of(head) == FileKind::Log);
    }
    FileKind::of(&head(path)) == FileKind::Log
}

/// Reads reports about memory in a text, piece by piece, with a progress bar.
pub(crate) fn read_text(path: &Path) -> Result<vramscope_text::Reading, Failure> {
    let name = display_name(path);
    let unread = |error| Failure::unread(path, error);
    guarded::check(path).map_err(unread)?;
    if is_stdin(path) {
        return pieces(&name, io::stdin().lock(), None)
            .map_err(Failure::io(format!("cannot read {name}")));
    }
    let file = open_file(path)?;
    let file_bytes = regular_bytes(&file);
    pieces(&name, file, file_bytes).map_err(unread)
}

fn pieces(
    name: &str,
    input: impl Read,
    file_bytes: Option<u64>,
) -> io::Result<vramscope_text::Reading> {
    let mut reading = Reading::new(name, file_bytes);
    vramscope_text::read_from(input, |bytes| reading.show(bytes))
}
