//! Decodes a pickle or JSON into a [`Snapshot`], in one streaming pass.
//!
//! ```text
//! pickle ─┐
//!         ├─> machine ─> records (rows of tables) ─> finish ─> invariants
//! json ───┤                                          │
//!         └─> kineto, timeline (torch.profiler's) ───┘
//! ```
//!
//! Memory: the snapshot's own tables, plus about 12 bytes for each container and each memoised text in a file, released at
//! the end. All of it is counted by the machine's budget, within [`Limits`].

mod containers;
mod final_state;
mod finish;
mod generic;
mod integer;
pub(crate) mod invariants;
mod json;
mod key;
mod kineto;
mod known_records;
mod known_stacks;
mod machine;
pub(crate) mod opcode;
mod path;
mod pickle;
#[cfg(test)]
mod pieces_tests;
pub(crate) mod producer;
mod records;
pub(crate) mod sizes;
mod timeline;
mod unplaced;
mod value;

use std::io::BufRead;
use std::pin::Pin;

pub use key::Key;

use crate::container::Counters;
use crate::model::ContainerKind;
use crate::{Error, ErrorKind, Limits, Snapshot};
pub(crate) use finish::MOST_DEVICES;
use machine::Machine;
use value::Fault;

/// A file without its containers, and where to report progress.
pub(crate) struct Unread<'a> {
    pub(crate) input: Box<dyn BufRead + 'a>,
    pub(crate) limits: Limits,
    /// The size of `input`, if known. Columns are then sized once.
    pub(crate) expected_bytes: Option<u64>,
    /// The counters of the file that `input` was unwrapped from.
    pub(crate) counters: &'a Counters,
    pub(crate) on_events: &'a mut dyn FnMut(u64) -> Result<(), ErrorKind>,
}

/// Resolves when more bytes of the input have arrived.
pub type Arrival = Pin<Box<dyn Future<Output = ()>>>;

/// Reads a pickle, and adds it to the containers of the source or of the error. `arrival` is as in
/// [`decode_arriving_pickle`](crate::open::decode_arriving_pickle).
pub(crate) async fn read_pickle(
    unread: Unread<'_>,
    arrival: &mut dyn FnMut() -> Option<Arrival>,
) -> Result<Snapshot, Error> {
    let (input, mut machine, mut told) = begun(unread);
    let end = pickle::read(input, &mut machine, &mut told, arrival).await;
    let kind = ContainerKind::Pickle(machine.protocol);
    ended(machine, end, kind)
}

/// Reads JSON, and adds it to the containers of the source or of the error.
pub(crate) fn read_json(unread: Unread<'_>) -> Result<Snapshot, Error> {
    read_json_of(unread, json::Form::Dict)
}

/// Like [`read_json`], for a memory timeline of torch.profiler.
pub(crate) fn read_timeline(unread: Unread<'_>) -> Result<Snapshot, Error> {
    read_json_of(unread, json::Form::Timeline)
}

fn read_json_of(unread: Unread<'_>, form: json::Form) -> Result<Snapshot, Error> {
    let (input, mut machine, mut told) = begun(unread);
    let end = json::read(input, form, &mut machine, &mut told);
    ended(machine, end, ContainerKind::Json)
}

/// Receives progress for each piece of the input.
struct Told<'a> {
    counters: &'a Counters,
    on_events: &'a mut dyn FnMut(u64) -> Result<(), ErrorKind>,
}

impl Told<'_> {
    /// Reports the unwrapped bytes read so far. An error ends decoding.
    fn chunk(&mut self, machine: &mut Machine, decoded_bytes: u64) -> Result<(), ErrorKind> {
        let read = self.counters.read(decoded_bytes, machine.has_records());
        let window_bytes = self.counters.window_bytes.get();
        machine.budget.update(read, window_bytes)?;
        (self.on_events)(machine.events())
    }
}

fn begun(unread: Unread<'_>) -> (Box<dyn BufRead + '_>, Machine, Told<'_>) {
    let Unread {
        input,
        limits,
        expected_bytes,
        counters,
        on_events,
    } = unread;
    let machine = Machine::new(limits, expected_bytes);
    let told = Told {
        counters,
        on_events,
    };
    (input, machine, told)
}

fn ended(machine: Machine, end: End, kind: ContainerKind) -> Result<Snapshot, Error> {
    let End { fault, offset } = end;
    let containers = vec![kind];
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

/// How reading the unwrapped data ended.
struct End {
    fault: Option<Fault>,
    offset: u64,
}
