//! Reads a snapshot from a file or from standard input, with a progress bar when it takes long.

use std::fs::File;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::path::Path;

use vramscope_core::analysis::history::History;
use vramscope_core::decode::{Options, decode_with};
use vramscope_core::{Limits, Snapshot};

use crate::failure::Failure;
use crate::output;
use crate::progress::Reading;

/// More devices than any machine has: a hostile file can name millions, each as costly as a real one.
const DEVICES: usize = 128;

/// A snapshot with the histories of all its devices, in the order of [`Snapshot::devices`].
pub(crate) struct Loaded {
    /// As the user named it.
    pub(crate) name: String,
    pub(crate) snapshot: Snapshot,
    pub(crate) histories: Vec<History>,
}

/// Whether a path stands for standard input.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// What a file is called in messages.
pub(crate) fn display_name(path: &Path) -> String {
    if is_stdin(path) {
        "standard input".to_owned()
    } else {
        path.display().to_string()
    }
}

/// Reads a snapshot.
///
/// # Errors
/// When the file cannot be read or is no snapshot.
pub(crate) fn read(path: &Path) -> Result<Snapshot, Failure> {
    let name = display_name(path);
    if is_stdin(path) {
        return decode(&name, io::stdin().lock(), None);
    }
    let file = open_file(path)?;
    let file_bytes = file
        .metadata()
        .ok()
        .filter(|metadata| metadata.is_file())
        .map(|metadata| metadata.len());
    decode(&name, file, file_bytes)
}

/// Reads and replays a snapshot.
///
/// # Errors
/// When the file cannot be read or is no snapshot.
pub(crate) fn load(path: &Path) -> Result<Loaded, Failure> {
    Ok(replay(display_name(path), read(path)?))
}

/// Replays a snapshot that was read from a file of that name.
pub(crate) fn replay(name: String, snapshot: Snapshot) -> Loaded {
    let mut devices = snapshot.devices();
    if devices.len() > DEVICES {
        let number = devices.len();
        output::note(&format!(
            "{} names {number} devices; only the first {DEVICES} are read\n",
            output::printable(&name)
        ));
        devices.truncate(DEVICES);
    }
    let histories = devices
        .into_iter()
        .map(|device| History::of(&snapshot, device))
        .collect();
    Loaded {
        name,
        snapshot,
        histories,
    }
}

/// Opens a file; a folder is refused here, as reading it fails with less to the point.
///
/// # Errors
/// When that is not possible.
pub(crate) fn open_file(path: &Path) -> Result<File, Failure> {
    let unread = |error| Failure::unread(path, error);
    let file = File::open(path).map_err(unread)?;
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return Err(unread(io::ErrorKind::IsADirectory.into()));
    }
    Ok(file)
}

fn decode(name: &str, input: impl Read, file_bytes: Option<u64>) -> Result<Snapshot, Failure> {
    let mut reading = Reading::new(name, file_bytes);
    let options = Options {
        limits: Limits::default(),
        file_bytes,
        on_progress: &mut |progress| {
            reading.show(progress.file_bytes);
            ControlFlow::Continue(())
        },
    };
    decode_with(input, options).map_err(|error| Failure::Decode {
        file: name.to_owned(),
        error: Box::new(error),
    })
}
