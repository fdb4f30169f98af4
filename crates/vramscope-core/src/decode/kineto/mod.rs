//! Reads traces of torch.profiler (FORMAT.md 3.9): the JSON that Kineto writes, with `profile_memory=True`.
//!
//! A trace has an event for each allocation and free, with its size and address but without its origin. The origin follows
//! from the operators and Python functions that were running on the same thread at that time. Events come in any order, and
//! a thread's functions may come after its allocations. So one pass keeps the relevant fields of each event as a row (32
//! bytes for some 250 of text), and [`join`] combines the rows at the end:
//!
//! ```text
//! traceEvents ─> event (fields of one event) ─> Trace (rows) ─> join (stacks, devices, ranges) ─> Snapshot
//! ```
//!
//! Kernels, copies and flows are skipped: they hold no memory.

mod event;
mod join;
mod stacks;
#[cfg(test)]
mod tests;

pub(super) use event::EventsNode;
pub(super) use join::snapshot;

use std::borrow::Cow;

use self::event::Fields;
use super::machine::Machine;
use super::value::Fault;
use crate::ErrorKind;
use crate::budget::{Budget, NoRoom};
use crate::ids::{ContextId, FrameId, StackId, StringId};
use crate::model::{Frame, RowIndex, StringTable};

/// Stands for a total that an event does not state.
const UNKNOWN: i64 = i64::MIN;

/// Stands for a frame that has not been made yet.
const NO_FRAME: FrameId = FrameId(u32::MAX);

#[derive(Default)]
pub(super) struct Trace {
    spans: Vec<Span>,
    moves: Vec<Move>,
    ranges: Vec<NamedSpan>,
    /// Names of operators and functions as in the file; the snapshot splits them into parts.
    names: StringTable,
    /// The frame of each of these names.
    frames: Vec<FrameId>,
    /// The inputs of operators: `(float[64, 32], Scalar)`.
    inputs: StringTable,
    threads: Threads,
    /// Type and number of each device.
    devices: Vec<(i64, i64)>,
    fields: Fields,
    /// Events read so far, of every kind.
    events: u64,
    /// Memory events without a size or a time.
    left_out: u64,
}

/// The run of an operator or function.
struct Span {
    start_ns: i64,
    end_ns: i64,
    thread: u32,
    frame: FrameId,
    /// Row of [`Trace::inputs`]; the empty text for functions, and for operators without tensors.
    inputs: StringId,
    /// Position among the spans of the file.
    row: u32,
}

/// An allocation, a free, or a failed request.
struct Move {
    time_ns: i64,
    addr: u64,
    /// Negative for a free.
    bytes: i64,
    /// Bytes allocated on the device afterwards, or [`UNKNOWN`].
    allocated: i64,
    /// Bytes reserved afterwards, or [`UNKNOWN`].
    reserved: i64,
    thread: u32,
    /// Position among the moves of the file.
    row: u32,
    stack: StackId,
    context: ContextId,
    /// Row of [`Trace::devices`]; later the device's index in the snapshot.
    device: u16,
    has_failed: bool,
    has_addr: bool,
}

/// A range named by the program, such as `ProfilerStep#3`.
struct NamedSpan {
    start_ns: i64,
    end_ns: i64,
    thread: u32,
    name: StringId,
}

impl Trace {
    pub(super) fn has_events(&self) -> bool {
        self.events > 0
    }

    pub(super) fn memory_events(&self) -> u64 {
        self.moves.len() as u64
    }

    /// Stores the relevant fields of the event that was just read.
    fn add(&mut self, machine: &mut Machine) -> Result<(), Fault> {
        self.events += 1;
        let fields = std::mem::take(&mut self.fields);
        let added = match (fields.phase.as_str(), fields.category.as_str()) {
            ("i" | "I", _) => self.add_move(&fields, machine),
            ("X", "user_annotation") => self.add_range(&fields, machine),
            // In old traces the category of operators is Operator.
            ("X", "cpu_op" | "Operator" | "python_function") => self.add_span(&fields, machine),
            _ => Ok(()),
        };
        self.fields = fields;
        added
    }

    fn add_move(&mut self, fields: &Fields, machine: &mut Machine) -> Result<(), Fault> {
        let has_failed = fields.name == "[OutOfMemory]";
        if !has_failed && fields.name != "[memory]" {
            return Ok(());
        }
        let (Some(time_ns), Some(bytes)) = (fields.time_ns, fields.bytes) else {
            self.left_out += 1;
            return Ok(());
        };
        let budget = &mut machine.budget;
        let device = self.device(fields, budget)?;
        let thread = self.threads.of(fields, budget)?;
        let row = self.moves.len() as u32;
        budget.rows(&mut self.moves, 1)?;
        self.moves.push(Move {
            time_ns,
            addr: fields.addr.unwrap_or(0),
            bytes,
            allocated: fields.allocated.unwrap_or(UNKNOWN),
            reserved: fields.reserved.unwrap_or(UNKNOWN),
            thread,
            row,
            stack: StackId::ABSENT,
            context: ContextId::ABSENT,
            device,
            has_failed,
            has_addr: fields.addr.is_some(),
        });
        Ok(())
    }

    fn add_span(&mut self, fields: &Fields, machine: &mut Machine) -> Result<(), Fault> {
        let Some((start_ns, end_ns)) = fields.span() else {
            return Ok(());
        };
        let frame = self.frame(&fields.name, machine)?;
        let budget = &mut machine.budget;
        let inputs = fields.inputs();
        self.inputs.make_room(inputs.len(), budget)?;
        let inputs = self.inputs.intern(&inputs);
        let thread = self.threads.of(fields, budget)?;
        let row = self.spans.len() as u32;
        budget.rows(&mut self.spans, 1)?;
        self.spans.push(Span {
            start_ns,
            end_ns,
            thread,
            frame,
            inputs,
            row,
        });
        Ok(())
    }

    fn add_range(&mut self, fields: &Fields, machine: &mut Machine) -> Result<(), Fault> {
        let Some((start_ns, end_ns)) = fields.span() else {
            return Ok(());
        };
        let name = machine.intern(&fields.name)?;
        let thread = self.threads.of(fields, &mut machine.budget)?;
        machine.budget.rows(&mut self.ranges, 1)?;
        self.ranges.push(NamedSpan {
            start_ns,
            end_ns,
            thread,
            name,
        });
        Ok(())
    }

    /// The row of an event's device.
    fn device(&mut self, fields: &Fields, budget: &mut Budget) -> Result<u16, Fault> {
        let device = (
            fields.device_type.unwrap_or(i64::MAX),
            fields.device.unwrap_or(0),
        );
        let known = self.devices.iter().rposition(|known| *known == device);
        if let Some(row) = known {
            return Ok(row as u16);
        }
        if self.devices.len() == super::MOST_DEVICES {
            return Err(too_many_devices());
        }
        budget.room(&mut self.devices, 1)?;
        self.devices.push(device);
        Ok(self.devices.len() as u16 - 1)
    }

    /// The frame of a name.
    fn frame(&mut self, name: &str, machine: &mut Machine) -> Result<FrameId, Fault> {
        self.names.make_room(name.len(), &mut machine.budget)?;
        let id = self.names.intern(name);
        if let Some(&frame) = self.frames.get(id.index()).filter(|id| **id != NO_FRAME) {
            return Ok(frame);
        }
        let place = Place::of(name);
        let frame = Frame {
            name: machine.intern(&place.function)?,
            filename: machine.intern(place.file)?,
            line: place.line,
            fx: None,
        };
        let budget = &mut machine.budget;
        machine.tables.frames.make_room(budget)?;
        let frame = machine.tables.frames.intern(frame);
        // The empty name has a row from the beginning.
        let rows = self.frames.len().max(id.index() + 1);
        let more = rows - self.frames.len();
        budget.room(&mut self.frames, more)?;
        self.frames.resize(rows, NO_FRAME);
        self.frames[id.index()] = frame;
        Ok(frame)
    }
}

fn too_many_devices() -> Fault {
    let (what, limit) = ("the number of devices", super::MOST_DEVICES as u64);
    ErrorKind::Limit { what, limit }.into()
}

/// The parts of a span's name: `torch/nn/modules/linear.py(130): forward`, `aten::addmm`, `nn.Module: Linear_0`.
#[derive(PartialEq, Eq, Debug)]
struct Place<'n> {
    function: Cow<'n, str>,
    file: &'n str,
    line: u32,
}

impl<'n> Place<'n> {
    fn of(name: &'n str) -> Self {
        let python = name.split_once("): ").and_then(|(place, function)| {
            let (file, line) = place.rsplit_once('(')?;
            let (function, line) = (Cow::Borrowed(function), line.parse().ok()?);
            Some(Self {
                function,
                file,
                line,
            })
        });
        python.unwrap_or_else(|| Self {
            function: without_address(name),
            file: "",
            line: 0,
        })
    }
}

/// `<built-in method to of Tensor object at 0x7f21c8d1a2b0>` without the address, which would give each object its own
/// frame.
fn without_address(name: &str) -> Cow<'_, str> {
    let address = name
        .split_once(" at 0x")
        .filter(|_| name.starts_with('<'))
        .map(|(before, behind)| {
            (
                before,
                behind.trim_start_matches(|c: char| c.is_ascii_hexdigit()),
            )
        });
    match address {
        Some((before, behind)) => Cow::Owned(format!("{before}{behind}")),
        None => Cow::Borrowed(name),
    }
}

/// Numbers threads, each a pair of pid and tid.
#[derive(Default)]
struct Threads {
    rows: Vec<(i64, i64)>,
    index: RowIndex,
    /// The thread of the last event, mostly also that of the next.
    last: u32,
}

impl Threads {
    fn of(&mut self, fields: &Fields, budget: &mut Budget) -> Result<u32, NoRoom> {
        let thread = (fields.pid.unwrap_or(-1), fields.tid.unwrap_or(-1));
        if self.rows.get(self.last as usize) == Some(&thread) {
            return Ok(self.last);
        }
        let hash = self.index.hash(thread);
        let known = self
            .index
            .find(hash, |row| self.rows[row as usize] == thread);
        self.last = match known {
            Some(row) => row,
            None => {
                budget.room(&mut self.rows, 1)?;
                self.index.make_room(budget)?;
                let row = self.rows.len() as u32;
                self.rows.push(thread);
                self.index.insert(hash, row);
                row
            }
        };
        Ok(self.last)
    }

    /// The operating system's number of a thread.
    fn tid(&self, row: u32) -> Option<u64> {
        let (_, tid) = self.rows.get(row as usize)?;
        u64::try_from(*tid).ok()
    }
}
