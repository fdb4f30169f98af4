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

use crate::container::Counters;
use crate::model::ContainerKind;
use crate::{Error, ErrorKind, Limits, Snapshot};
pub(crate) use finish::MOST_DEVICES;
use machine::Machine;
use value::Fault;

/// A file without its containers, and what is told while it is read.
pub(crate) struct Unread<'a> {
    pub(crate) input: Box<dyn BufRead + 'a>,
    pub(crate) limits: Limits,
    /// The size of `input`, if known. Columns are then sized once.
    pub(crate) expected_bytes: Option<u64>,
    /// Those of the file that `input` was unwrapped from.
    pub(crate) counters: &'a Counters,
    pub(crate) on_events: &'a mut dyn FnMut(u64) -> Result<(), ErrorKind>,
}

/// Reads a pickle, and names it in the containers of the source or of the error.
pub(crate) fn read_pickle(unread: Unread<'_>) -> Result<Snapshot, Error> {
    let kind = |machine: &Machine| ContainerKind::Pickle(machine.protocol);
    read_values(unread, pickle::read, kind)
}

/// Reads JSON, and names it in the containers of the source or of the error.
pub(crate) fn read_json(unread: Unread<'_>) -> Result<Snapshot, Error> {
    read_values(unread, json::read, |_| ContainerKind::Json)
}

/// Called for each piece of the input that was read, with the bytes read so far.
type OnChunk<'a> = &'a mut dyn FnMut(&mut Machine, u64) -> Result<(), ErrorKind>;

fn read_values<'a>(
    unread: Unread<'a>,
    read: fn(Box<dyn BufRead + 'a>, &mut Machine, OnChunk<'_>) -> End,
    kind: fn(&Machine) -> ContainerKind,
) -> Result<Snapshot, Error> {
    let Unread {
        input,
        limits,
        expected_bytes,
        counters,
        on_events,
    } = unread;
    let mut machine = Machine::new(limits, expected_bytes);
    let mut on_chunk = |machine: &mut Machine, decoded_bytes: u64| {
        let read = counters.read(decoded_bytes, machine.has_records());
        machine.budget.update(read, counters.window_bytes.get())?;
        on_events(machine.tables.events.len() as u64)
    };
    let End { fault, offset } = read(input, &mut machine, &mut on_chunk);
    let containers = vec![kind(&machine)];
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
