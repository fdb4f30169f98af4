//! Bytes into a [`Snapshot`], in one streaming pass.
//!
//! ```text
//! container ─> pickle ─┐
//!     │                ├─> machine ─> records (rows of tables) ─> finish ─> invariants
//!     └──────> json ───┘
//! ```
//!
//! Memory: the snapshot's own tables, plus about 12 bytes for each container and each memoised text
//! that a file holds, released at the end. Never more than [`Limits`] allow.

mod containers;
mod final_state;
mod finish;
mod generic;
mod input;
mod invariants;
mod json;
mod key;
mod machine;
mod path;
mod pickle;
mod producer;
mod records;
mod value;

use std::io::Read;
use std::ops::ControlFlow;

pub use key::Key;

use crate::container::{self, Encoding, Unwrapped};
use crate::model::{ContainerKind, Source, WarningKind};
use crate::{Error, ErrorKind, Limits, Snapshot};
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
    let mut machine = Machine::new(limits, expected_bytes);
    let mut on_chunk = |machine: &mut Machine, decoded_bytes: u64| {
        machine.decoded_bytes = decoded_bytes;
        check_memory(machine)?;
        let events = machine.tables.events.len() as u64;
        match on_progress(Progress {
            file_bytes: counters.file_bytes.get(),
            events,
        }) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(ErrorKind::Cancelled),
        }
    };
    let end = match encoding {
        Encoding::Pickle => pickle::read(input, &mut machine, &mut on_chunk),
        Encoding::Json => json::read(input, &mut machine, &mut on_chunk),
    };
    containers.push(match encoding {
        Encoding::Pickle => ContainerKind::Pickle(machine.protocol),
        Encoding::Json => ContainerKind::Json,
    });
    let End { fault, offset } = end;
    let mut snapshot = match finished(machine, fault) {
        Ok(snapshot) => snapshot,
        Err((kind, path)) => {
            return Err(Error {
                kind,
                offset,
                path,
                containers,
                head,
            });
        }
    };
    snapshot.source = Source {
        containers,
        file_bytes: counters.file_bytes.get(),
        decoded_bytes: offset,
    };
    if counters.further_files.get() > 0 {
        snapshot
            .warnings
            .add(WarningKind::FurtherFiles, || "the container".to_owned());
    }
    invariants::check(&mut snapshot);
    Ok(snapshot)
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
