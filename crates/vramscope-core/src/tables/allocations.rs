//! The allocations of a device with all their properties.

use std::borrow::Cow;
use std::collections::HashMap;

use super::{Field, Kind, Value, Write, field};
use crate::analysis::code::frames::Location;
use crate::analysis::groups::grouping::{GroupBy, GroupColumn};
use crate::analysis::recording::Device;
use crate::analysis::roles::Role;
use crate::analysis::time::history::StackSource;
use crate::analysis::time::lifetime::lifetime;
use crate::ids::{AllocationId, EventId};

/// The columns about an allocation, which the page's table has as well.
pub(crate) const FIELDS: [Field; 29] = [
    field(
        "allocation",
        Kind::Number,
        "its number on the device, from 1, in the order of stacking",
    ),
    field(
        "name",
        Kind::Text,
        "its address and which life of that address it is, as torch's viewer has it",
    ),
    field("address", Kind::Address, "where it was"),
    field(
        "requested_bytes",
        Kind::Bytes,
        "the size that was asked for",
    ),
    field(
        "block_bytes",
        Kind::Bytes,
        "the size of its block, if it lives at the end",
    ),
    field(
        "rounding_bytes",
        Kind::Bytes,
        "the block's size less the size asked for, if it lives at the end",
    ),
    field(
        "alloc_event",
        Kind::Number,
        "the event that began it; none if it is older than the recording",
    ),
    field(
        "free_requested_event",
        Kind::Number,
        "the event that asked for its end; none if it was not asked for",
    ),
    field(
        "free_completed_event",
        Kind::Number,
        "the event that ended it; none if it lives at the end",
    ),
    field("alloc_time_us", Kind::TimeUs, "when it began"),
    field(
        "free_requested_time_us",
        Kind::TimeUs,
        "when its end was asked for",
    ),
    field("free_completed_time_us", Kind::TimeUs, "when it ended"),
    field("lifetime_events", Kind::Number, "how many events it lived"),
    field("lifetime_us", Kind::Number, "how long it lived"),
    field(
        "lifetime_is_lower_bound",
        Kind::Flag,
        "whether it began before the recording or lives at its end",
    ),
    field("stream", Kind::Number, "the CUDA stream's handle"),
    field(
        "stream_number",
        Kind::Number,
        "the stream's number in the snapshot: 0 is the default one",
    ),
    field(
        "pool",
        Kind::Text,
        "the private memory pool, (0 0) is the default one",
    ),
    field(
        "category",
        Kind::Text,
        "what the profiler says it is: parameter, gradient, activation, …",
    ),
    field(
        "role",
        Kind::Text,
        "what it is for, inferred: parameter, gradient, optimizer state, activation, …",
    ),
    field(
        "role_confidence",
        Kind::Text,
        "how sure that is: certain, likely or guess",
    ),
    field(
        "user_metadata",
        Kind::Text,
        "a text that the program set for its thread",
    ),
    field("compile_context", Kind::Text, "the region of torch.compile"),
    field(
        "call_site",
        Kind::Text,
        "the line of the user's code, or the nearest to it, and its function",
    ),
    field(
        "operator",
        Kind::Text,
        "the operator or autograd node that made it",
    ),
    field("function", Kind::Text, "the function of the call site"),
    field("file", Kind::Text, "the file of the call site"),
    field("line", Kind::Number, "the line of the call site"),
    field(
        "stack_of",
        Kind::Text,
        "what its stack was recorded with: alloc, block or free",
    ),
];

/// All columns: the device, [`FIELDS`], and references to other tables.
pub(super) fn fields_of_table() -> Vec<Field> {
    let mut fields = vec![field(
        "device",
        Kind::Number,
        "the device's index, as CUDA numbers them within the process",
    )];
    fields.extend(FIELDS);
    fields.extend([
        field(
            "annotation",
            Kind::Text,
            "the innermost annotated range it was allocated in",
        ),
        field(
            "stack_id",
            Kind::Number,
            "its stack in `stacks`, within one snapshot",
        ),
    ]);
    fields
}

pub(super) fn rows<E>(device: Device<'_>, write: &mut Write<'_, E>) -> Result<(), E> {
    let (snapshot, history) = (device.snapshot(), device.history);
    let of_device = Rows::of(device);
    let annotations = GroupColumn::of(device, GroupBy::Annotation, 1);
    let mut row = Vec::with_capacity(FIELDS.len() + 3);
    for id in (0..history.allocations.len()).map(AllocationId::from_index) {
        row.clear();
        row.push(Value::Number(device.index().into()));
        of_device.push(id, &mut row);
        row.push(Value::text(annotations.label(id)));
        row.push(Value::stack(history.stack(snapshot, id).0));
        write(&row)?;
    }
    Ok(())
}

/// Fills the values of [`FIELDS`].
pub(crate) struct Rows<'a> {
    device: Device<'a>,
    streams: HashMap<i64, u32>,
}

impl<'a> Rows<'a> {
    pub(crate) fn of(device: Device<'a>) -> Self {
        let streams = device.recording.streams().numbers();
        Self { device, streams }
    }

    /// Appends the values of one allocation.
    pub(crate) fn push(&self, id: AllocationId, row: &mut Vec<Value<'a>>) {
        let (snapshot, history) = (self.device.snapshot(), self.device.history);
        let (table, at) = (&history.allocations, id.index());
        let (address, bytes) = (table.address[at], table.bytes[at]);
        let block = history
            .final_block(id)
            .map(|block| snapshot.blocks.get(block).size);
        let name = format!("b{address:x}_{}", table.version[at]);
        row.extend([
            Value::Number(i64::from(id.0) + 1),
            Value::Text(Cow::Owned(name)),
            Value::Address(address),
            Value::Bytes(bytes),
            Value::bytes(block),
            Value::bytes(block.map(|block| block.saturating_sub(bytes))),
        ]);
        let moments = [table.born[at], table.free_requested[at], table.died[at]];
        row.extend(moments.map(Value::moment));
        let events = [
            history.alloc_event(id),
            history.free_requested_event(id),
            history.free_completed_event(id),
        ];
        row.extend(events.map(|event| self.time(event)));
        let life = lifetime(history, id);
        row.extend([
            Value::Number(life.events.into()),
            Value::number(life.us),
            Value::Flag(life.at_least),
        ]);
        self.push_place(id, row);
        self.push_code(id, row);
    }

    fn time(&self, event: Option<EventId>) -> Value<'a> {
        let times = &self.device.snapshot().events.time_us;
        Value::time(event.and_then(|event| times.get(event.index()).copied()))
    }

    /// Stream, pool, role and texts.
    fn push_place(&self, id: AllocationId, row: &mut Vec<Value<'a>>) {
        let snapshot = self.device.snapshot();
        let stream = self.device.stream_of()[id.index()];
        let context = self.device.context(id);
        let number = stream.and_then(|stream| self.streams.get(&stream));
        let compiled = context.and_then(|context| context.compile_context);
        let rule = self.device.rule_of()[id.index()].rule();
        let confidence = match rule.role {
            Role::Unknown => "",
            _ => rule.confidence.word(),
        };
        row.extend([
            Value::number(stream),
            Value::number(number.copied()),
            Value::pool(self.device.pool_of()[id.index()]),
            Value::string(snapshot, context.and_then(|context| context.category)),
            Value::text(rule.role.word()),
            Value::text(confidence),
            Value::string(snapshot, context.and_then(|context| context.user_metadata)),
            Value::compile_context(snapshot, compiled),
        ]);
    }

    /// The call site, its frame, and the stack.
    fn push_code(&self, id: AllocationId, row: &mut Vec<Value<'a>>) {
        let (snapshot, sites) = (self.device.snapshot(), self.device.call_sites());
        let site = self.device.site_of().get(id.index());
        let site = site.map(|&site| sites.get(site));
        let operator = self.device.operator_of().get(id.index());
        let frame = site.and_then(|site| site.frame);
        let location = frame.map(|frame| Location::of(snapshot, snapshot.frames.get(frame)));
        let line = location
            .map(|location| location.line)
            .filter(|&line| line > 0);
        let (stack, source) = self.device.history.stack(snapshot, id);
        row.extend([
            Value::text(site.map_or("", |site| site.label.as_str())),
            Value::text(operator.map_or("", |&operator| sites.operators().label(operator))),
            Value::text(location.map_or("", |location| location.function)),
            Value::text(location.map_or("", |location| location.file)),
            Value::number(line),
            Value::text(match source {
                _ if !stack.has_frames() => "",
                StackSource::Alloc => "alloc",
                StackSource::Block => "block",
                StackSource::Free => "free",
            }),
        ]);
    }
}
