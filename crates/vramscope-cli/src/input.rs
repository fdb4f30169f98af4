//! Reads a snapshot from a file or from standard input, with a progress line when it takes long.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use vramscope_core::analysis::history::History;
use vramscope_core::decode::{Options, Progress, decode_with};
use vramscope_core::units::Bytes;
use vramscope_core::{Limits, Snapshot};

use crate::failure::Failure;
use crate::output;

/// How long reading stays silent.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often the line changes after that.
const REFRESH: Duration = Duration::from_millis(200);

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

/// Reads and replays a snapshot.
///
/// # Errors
/// When the file cannot be read or is no snapshot.
pub(crate) fn load(path: &Path) -> Result<Loaded, Failure> {
    let name = display_name(path);
    let snapshot = if is_stdin(path) {
        decode(&name, io::stdin().lock(), None)?
    } else {
        let file = open_file(path)?;
        let file_bytes = file
            .metadata()
            .ok()
            .filter(|metadata| metadata.is_file())
            .map(|metadata| metadata.len());
        decode(&name, file, file_bytes)?
    };
    let mut devices = snapshot.devices();
    if devices.len() > DEVICES {
        let number = devices.len();
        output::note(&format!(
            "{name} names {number} devices; only the first {DEVICES} are read\n"
        ));
        devices.truncate(DEVICES);
    }
    let histories = devices
        .into_iter()
        .map(|device| History::of(&snapshot, device))
        .collect();
    Ok(Loaded {
        name,
        snapshot,
        histories,
    })
}

/// Opens a file; a folder is refused here, as reading it fails with less to the point.
///
/// # Errors
/// When that is not possible.
pub(crate) fn open_file(path: &Path) -> Result<File, Failure> {
    let doing = || format!("cannot read {}", path.display());
    let file = File::open(path).map_err(Failure::io(doing()))?;
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return Err(Failure::io(doing())(io::ErrorKind::IsADirectory.into()));
    }
    Ok(file)
}

fn decode(name: &str, input: impl Read, file_bytes: Option<u64>) -> Result<Snapshot, Failure> {
    let mut line = ProgressLine::new(name, file_bytes);
    let options = Options {
        limits: Limits::default(),
        file_bytes,
        on_progress: &mut |progress| {
            line.show(progress);
            ControlFlow::Continue(())
        },
    };
    let result = decode_with(input, options);
    line.clear();
    result.map_err(|error| Failure::Decode {
        file: name.to_owned(),
        error: Box::new(error),
    })
}

/// One line on the terminal, rewritten while reading.
struct ProgressLine<'a> {
    name: &'a str,
    file_bytes: Option<u64>,
    /// `None` = standard error is no terminal.
    next: Option<Instant>,
    is_shown: bool,
}

impl<'a> ProgressLine<'a> {
    fn new(name: &'a str, file_bytes: Option<u64>) -> Self {
        let next = io::stderr()
            .is_terminal()
            .then(|| Instant::now() + PATIENCE);
        Self {
            name,
            file_bytes,
            next,
            is_shown: false,
        }
    }

    fn show(&mut self, progress: Progress) {
        let now = Instant::now();
        if self.next.is_none_or(|next| now < next) {
            return;
        }
        let of = self
            .file_bytes
            .map(|bytes| format!(" of {}", Bytes(bytes)))
            .unwrap_or_default();
        let (read, events) = (Bytes(progress.file_bytes), progress.events);
        output::note(&format!(
            "\r\x1b[Kreading {}: {read}{of}, {events} events",
            self.name
        ));
        self.next = Some(now + REFRESH);
        self.is_shown = true;
    }

    fn clear(&mut self) {
        if self.is_shown {
            output::note("\r\x1b[K");
        }
    }
}
