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
    field("allocation", Kind::Number),
    field("name", Kind::Text),
    field("address", Kind::Address),
    field("requested_bytes", Kind::Bytes),
    field("block_bytes", Kind::Bytes),
    field("rounding_bytes", Kind::Bytes),
    field("alloc_event", Kind::Number),
    field("free_requested_event", Kind::Number),
    field("free_completed_event", Kind::Number),
    field("alloc_time_us", Kind::TimeUs),
    field("free_requested_time_us", Kind::TimeUs),
    field("free_completed_time_us", Kind::TimeUs),
    field("lifetime_events", Kind::Number),
    field("lifetime_us", Kind::Number),
    field("lifetime_is_lower_bound", Kind::Flag),
    field("stream", Kind::Number),
    field("stream_number", Kind::Number),
    field("pool", Kind::Text),
    field("category", Kind::Text),
    field("role", Kind::Text),
    field("role_confidence", Kind::Text),
    field("user_metadata", Kind::Text),
    field("compile_context", Kind::Text),
    field("call_site", Kind::Text),
    field("operator", Kind::Text),
    field("function", Kind::Text),
    field("file", Kind::Text),
    field("line", Kind::Number),
    field("stack_of", Kind::Text),
];

/// All columns: the device, [`FIELDS`], and references to other tables.
pub(super) fn fields_of_table() -> Vec<Field> {
    let mut fields = vec![field("device", Kind::Number)];
    fields.extend(FIELDS);
    fields.extend([
        field("annotation", Kind::Text),
        field("stack_id", Kind::Number),
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
