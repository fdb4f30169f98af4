//! Bytes into a [`Snapshot`], in one streaming pass.
//!
//! ```text
//! container ─> pickle ─┐
//!     │                ├─> machine ─> records (rows of tables) ─> finish ─> invariants
//!     ├──────> json ───┘
//!     └──────> columns ([`pack`], as they are)
//! ```
//!
//! Memory: the snapshot's own tables, plus about 12 bytes for each container and each memoised text
//! that a file holds, released at the end. Never more than [`Limits`] allow.

mod containers;
mod final_state;
mod finish;
mod generic;
mod input;
pub(crate) mod invariants;
mod json;
mod key;
mod machine;
mod path;
mod pickle;
pub(crate) mod producer;
mod records;
mod value;

use std::io::{BufRead, Read};
use std::ops::ControlFlow;

pub use key::Key;

use crate::container::{self, Encoding, Unwrapped};
use crate::model::{ContainerKind, WarningKind};
use crate::pack;
use crate::{Error, ErrorKind, Limits, Snapshot};
pub(crate) use finish::MOST_DEVICES;
pub(crate) use input::Input;
use machine::Machine;
use value::Fault;

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
    /// Called every few hundred kilobytes; `Break` ends decoding with [`ErrorKind::Cancelled`].
    pub on_progress: &'a mut dyn FnMut(Progress) -> ControlFlow<()>,
}

/// Reads a snapshot from `input`, whatever it is wrapped in.
///
/// # Errors
/// See [`ErrorKind`]. Damage that leaves the rest readable is no error but a warning of the snapshot.
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
    // The size says how much is to come only if nothing unpacks to more.
    let expected_bytes = file_bytes.filter(|_| containers.is_empty());
    let mut on_events = |events| {
        let file_bytes = counters.file_bytes.get();
        match on_progress(Progress { file_bytes, events }) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(ErrorKind::Cancelled),
        }
    };
    let read = match encoding {
        Encoding::Packed => pack::read(input, &limits, &mut on_events),
        Encoding::Pickle | Encoding::Json => {
            let machine = Machine::new(limits, expected_bytes);
            read_values(encoding, input, machine, &mut on_events)
        }
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
    if counters.further_files.get() > 0 {
        snapshot
            .warnings
            .add(WarningKind::FurtherFiles, || "the container".to_owned());
    }
    // Packed ones keep the warnings that their file had.
    if encoding != Encoding::Packed {
        invariants::check(&mut snapshot);
    }
    Ok(snapshot)
}

/// Reads a pickle or JSON. What it is called stands in the error's or source's containers.
fn read_values(
    encoding: Encoding,
    input: Box<dyn BufRead + '_>,
    mut machine: Machine,
    on_events: &mut dyn FnMut(u64) -> Result<(), ErrorKind>,
) -> Result<Snapshot, Error> {
    let mut on_chunk = |machine: &mut Machine, decoded_bytes: u64| {
        machine.decoded_bytes = decoded_bytes;
        check_memory(machine)?;
        on_events(machine.tables.events.len() as u64)
    };
    let End { fault, offset } = match encoding {
        Encoding::Json => json::read(input, &mut machine, &mut on_chunk),
        _ => pickle::read(input, &mut machine, &mut on_chunk),
    };
    let containers = vec![match encoding {
        Encoding::Json => ContainerKind::Json,
        _ => ContainerKind::Pickle(machine.protocol),
    }];
    match finished(machine, fault) {
        Ok(mut snapshot) => {
            snapshot.source.containers = containers;
            snapshot.source.decoded_bytes = offset;
            Ok(snapshot)
        }
        Err((kind, path)) => Err(Error {
            offset,
            path,
            containers,
            ..kind.into()
        }),
    }
}

/// The snapshot, or what is wrong and in which record.
fn finished(machine: Machine, fault: Option<Fault>) -> Result<Snapshot, (ErrorKind, String)> {
    match fault {
        Some(Fault { kind, field }) => Err((kind, path::of(&machine, field))),
        None => finish::snapshot(machine)
            .map_err(|Fault { kind, field }| (kind, field.unwrap_or_default().to_owned())),
    }
}

/// How reading the unwrapped data ended.
struct End {
    /// What was wrong, if anything.
    fault: Option<Fault>,
    /// Where in the unwrapped data.
    offset: u64,
}

/// Whether decoding keeps within its memory.
fn check_memory(machine: &Machine) -> Result<(), ErrorKind> {
    let allowed = (machine
        .decoded_bytes
        .saturating_mul(machine.limits.memory_per_decoded_byte as u64))
    .max(machine.limits.memory_bytes as u64);
    if machine.used_bytes() as u64 > allowed {
        return Err(ErrorKind::Limit {
            what: "the memory in bytes that this file asks for",
            limit: allowed,
        });
    }
    Ok(())
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
