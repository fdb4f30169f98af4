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

mod finish;
mod generic;
mod input;
mod invariants;
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
    let Options { limits, file_bytes, on_progress } = options;
    let mut machine = Machine::new(limits, file_bytes);
    let mut input = input::Input::new(Box::new(std::io::BufReader::new(input)));
    let mut on_chunk = |machine: &mut Machine, decoded_bytes: u64| {
        machine.decoded_bytes = decoded_bytes;
        check_memory(machine)?;
        let progress = Progress { file_bytes: decoded_bytes, events: machine.tables.events.len() as u64 };
        match on_progress(progress) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(ErrorKind::Cancelled),
        }
    };
    let result = pickle::run(&mut input, &mut machine, &mut on_chunk);
    if let Err(Fault { kind, field }) = result {
        let path = path::of(&machine, field);
        return Err(Error { kind, offset: input.offset(), path, containers: Vec::new(), head: Vec::new() });
    }
    let mut snapshot = match finish::snapshot(machine) {
        Ok(snapshot) => snapshot,
        Err(Fault { kind, field }) => {
            let path = field.unwrap_or_default().to_owned();
            return Err(Error { kind, offset: input.offset(), path, containers: Vec::new(), head: Vec::new() });
        }
    };
    invariants::check(&mut snapshot);
    Ok(snapshot)
}

/// Whether decoding keeps within its memory.
fn check_memory(machine: &Machine) -> Result<(), ErrorKind> {
    let allowed = (machine.decoded_bytes.saturating_mul(machine.limits.memory_per_decoded_byte as u64))
        .max(machine.limits.memory_bytes as u64);
    if machine.heap_bytes() as u64 > allowed {
        return Err(ErrorKind::Limit { what: "the memory in bytes that this file asks for", limit: allowed });
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
