//! Opens a file: takes off its containers, reads its encoding, and returns a [`Snapshot`].
//!
//! ```text
//! container ─┬─> decode (pickle, JSON) ─┬─> invariants
//!            └─> vram_format (columns) ┘
//! ```

use std::io::Read;
use std::ops::ControlFlow;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use crate::container::{self, Encoding, Unwrapped};
pub use crate::decode::Arrival;
use crate::decode::{Unread, invariants, read_json, read_pickle, read_timeline};
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

impl Default for Options<'_> {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            file_bytes: None,
            // Boxing a closure without captures allocates nothing.
            on_progress: Box::leak(Box::new(|_| ControlFlow::Continue(()))),
        }
    }
}

/// Reads a snapshot from `input`, removing its containers.
///
/// # Errors
/// See [`ErrorKind`]. Damage that leaves the rest readable is a warning in the snapshot, not an error.
pub fn decode_with(input: impl Read, options: Options<'_>) -> Result<Snapshot, Error> {
    let unwrapped = container::unwrap(input, &options.limits)?;
    let encoding = unwrapped.encoding;
    now(read_unwrapped(
        unwrapped,
        options,
        async |unread| match encoding {
            Encoding::Packed => vram_format::read(unread),
            Encoding::Pickle => read_pickle(unread, &mut || None).await,
            Encoding::Json => read_json(unread),
            Encoding::Timeline => read_timeline(unread),
        },
    ))
}

/// [`decode_with`] for plain pickles, as recognised by [`is_plain_pickle`](container::is_plain_pickle). A program that
/// reads only these contains no code for containers and other encodings.
///
/// # Errors
/// As [`decode_with`].
pub fn decode_pickle(input: impl Read, options: Options<'_>) -> Result<Snapshot, Error> {
    now(arriving(Box::new(input), options, &mut || None))
}

/// [`decode_with`] for packed snapshots without a container. A program that reads only these has no code for containers and other
/// encodings.
///
/// # Errors
/// As [`decode_with`].
pub fn decode_packed(input: impl Read, options: Options<'_>) -> Result<Snapshot, Error> {
    let unwrapped = container::plain(Box::new(input), Encoding::Packed, &options.limits)?;
    now(read_unwrapped(unwrapped, options, async |unread| {
        vram_format::read(unread)
    }))
}

/// [`decode_pickle`] while the bytes arrive. `arrival` is called as often as progress is reported, and its result is
/// awaited before more of `input` is read.
///
/// # Errors
/// As [`decode_with`].
pub async fn decode_arriving_pickle(
    input: impl Read,
    options: Options<'_>,
    arrival: &mut dyn FnMut() -> Option<Arrival>,
) -> Result<Snapshot, Error> {
    arriving(Box::new(input), options, arrival).await
}

/// Shared by all readers.
async fn arriving(
    input: Box<dyn Read + '_>,
    options: Options<'_>,
    arrival: &mut dyn FnMut() -> Option<Arrival>,
) -> Result<Snapshot, Error> {
    let unwrapped = container::plain(input, Encoding::Pickle, &options.limits)?;
    let read = async |unread: Unread<'_>| read_pickle(unread, arrival).await;
    read_unwrapped(unwrapped, options, read).await
}

/// The result of a future that never waits.
pub(crate) fn now<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(result) = future
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
        {
            return result;
        }
    }
}

async fn read_unwrapped(
    unwrapped: Unwrapped<'_>,
    options: Options<'_>,
    read: impl AsyncFnOnce(Unread<'_>) -> Result<Snapshot, Error>,
) -> Result<Snapshot, Error> {
    let Options {
        limits,
        file_bytes,
        on_progress,
    } = options;
    let Unwrapped {
        input,
        mut containers,
        head,
        counters,
        ..
    } = unwrapped;
    // The file's size is the amount of data only if there are no containers.
    let expected_bytes = file_bytes.filter(|_| containers.is_empty());
    let mut on_events = |events| {
        let file_bytes = counters.file_bytes.get();
        match on_progress(Progress { file_bytes, events }) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(ErrorKind::Cancelled),
        }
    };
    let read = read(Unread {
        input,
        limits,
        expected_bytes,
        counters: &counters,
        on_events: &mut on_events,
    });
    let read = read.await;
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
        let warnings = &mut snapshot.warnings;
        warnings.add_times(further, WarningKind::FurtherFiles, String::new);
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
    decode_with(input, Options::default())
}
