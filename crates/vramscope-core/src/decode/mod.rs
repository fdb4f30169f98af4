//! Decodes a pickle or JSON into a [`Snapshot`], in one streaming pass.
//!
//! ```text
//! pickle ─┐
//!         ├─> machine ─> records (rows of tables) ─> finish ─> invariants
//! json ───┘
//! ```
//!
//! Memory: the snapshot's own tables, plus about 12 bytes for each container and each memoised text
//! that a file holds, released at the end. All of it grows through the machine's budget, within [`Limits`].

mod containers;
mod final_state;
mod finish;
mod generic;
mod integer;
pub(crate) mod invariants;
mod json;
mod key;
mod known_records;
mod known_stacks;
mod machine;
pub(crate) mod opcode;
mod path;
mod pickle;
#[cfg(test)]
mod pieces;
pub(crate) mod producer;
mod records;
pub(crate) mod sizes;
mod value;

use std::io::BufRead;

pub use key::Key;

use crate::container::{Counters, Encoding};
use crate::model::ContainerKind;
use crate::{Error, ErrorKind, Limits, Snapshot};
pub(crate) use finish::MOST_DEVICES;
use machine::Machine;
use value::Fault;

/// Reads a pickle or JSON, and names it in the containers of the source or of the error.
///
/// `expected_bytes` is the size of `input`, if known. Columns are then sized once. `counters` count the file that
/// `input` was unwrapped from.
pub(crate) fn read_values(
    encoding: Encoding,
    input: Box<dyn BufRead + '_>,
    limits: Limits,
    expected_bytes: Option<u64>,
    counters: &Counters,
    on_events: &mut dyn FnMut(u64) -> Result<(), ErrorKind>,
) -> Result<Snapshot, Error> {
    let mut machine = Machine::new(limits, expected_bytes);
    let mut on_chunk = |machine: &mut Machine, decoded_bytes: u64| {
        let read = counters.read(decoded_bytes, machine.has_records());
        machine.budget.update(read, counters.window_bytes.get())?;
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

/// The snapshot, or the error and its path.
fn finished(machine: Machine, fault: Option<Fault>) -> Result<Snapshot, (ErrorKind, String)> {
    match fault {
        Some(Fault { kind, field }) => Err((kind, path::of(&machine, field))),
        None => finish::snapshot(machine)
            .map_err(|Fault { kind, field }| (kind, field.unwrap_or_default().to_owned())),
    }
}

/// The end of reading the unwrapped data.
struct End {
    /// The error, if there was one.
    fault: Option<Fault>,
    /// Offset in the unwrapped data.
    offset: u64,
}
