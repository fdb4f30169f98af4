//! Opens a file: takes off its containers, reads its encoding, and returns a [`Snapshot`].
//!
//! ```text
//! container ─┬─> decode (pickle, JSON) ─┬─> invariants
//!            └─> vram_format (columns) ┘
//! ```

use std::io::Read;
use std::ops::ControlFlow;

use crate::container::{self, Encoding, Unwrapped};
use crate::decode::{invariants, read_values};
use crate::model::WarningKind;
use crate::vram_format;
use crate::{Error, ErrorKind, Limits, Snapshot};

/// Progress of decoding.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Progress {
    /// Bytes of the file read so far, containers included.
    pub file_bytes: u64,
    /// Events decoded so far.
    pub events: u64,
}

/// Options of [`decode_with`].
pub struct Options<'a> {
    /// Limits against hostile files.
    pub limits: Limits,
    /// Size of the file in bytes, if known. It lets columns be sized once instead of doubling.
    pub file_bytes: Option<u64>,
    /// Called every few hundred kilobytes; `Break` ends decoding with [`ErrorKind::Cancelled`].
    pub on_progress: &'a mut dyn FnMut(Progress) -> ControlFlow<()>,
}

/// Reads a snapshot from `input`, and takes off its containers.
///
/// # Errors
/// See [`ErrorKind`]. Damage that leaves the rest readable is a warning of the snapshot, not an error.
pub fn decode_with(input: impl Read, options: Options<'_>) -> Result<Snapshot, Error> {
    let Options {
        limits,
        file_bytes,
        on_progress,
    } = options;
    let Unwrapped {
        encoding,
        input,
        mut containers,
        head,
        counters,
    } = container::unwrap(input, &limits)?;
    // The file's size tells the amount of data only if there is no container.
    let expected_bytes = file_bytes.filter(|_| containers.is_empty());
    let mut on_events = |events| {
        let file_bytes = counters.file_bytes.get();
        match on_progress(Progress { file_bytes, events }) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(ErrorKind::Cancelled),
        }
    };
    let read = match encoding {
        Encoding::Packed => vram_format::read(input, &limits, &counters, &mut on_events),
        Encoding::Pickle | Encoding::Json => read_values(
            encoding,
            input,
            limits,
            expected_bytes,
            &counters,
            &mut on_events,
        ),
    };
    let mut snapshot = match read {
        Ok(snapshot) => snapshot,
        Err(error) => {
            containers.extend(error.containers);
            return Err(Error {
                containers,
                head,
                ..error
            });
        }
    };
    containers.append(&mut snapshot.source.containers);
    snapshot.source.containers = containers;
    snapshot.source.file_bytes = counters.file_bytes.get();
    let further = counters.further_files.get();
    if further > 0 {
        let place = || "the container".to_owned();
        let warnings = &mut snapshot.warnings;
        warnings.add_times(further, WarningKind::FurtherFiles, place);
    }
    if counters.has_trailing_bytes.get() {
        snapshot
            .warnings
            .add(WarningKind::TrailingBytes, || "the container".to_owned());
    }
    invariants::check(&mut snapshot);
    Ok(snapshot)
}

/// [`decode_with`] the default limits and without progress reports.
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
