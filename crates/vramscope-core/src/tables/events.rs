//! The events of a device, with the memory held after each.

use super::{Field, Kind, Value, Write, field};
use crate::analysis::recording::Device;
use crate::ids::{AllocationId, EventId};
use crate::model::Action;

pub(super) const FIELDS: [Field; 19] = [
    field("device", Kind::Number),
    field("event", Kind::Number),
    field("time_us", Kind::TimeUs),
    field("action", Kind::Text),
    field("address", Kind::Address),
    field("bytes", Kind::Bytes),
    field("device_free_bytes", Kind::Bytes),
    field("allocation", Kind::Number),
    field("stream", Kind::Number),
    field("stream_number", Kind::Number),
    field("pool", Kind::Text),
    field("category", Kind::Text),
    field("user_metadata", Kind::Text),
    field("compile_context", Kind::Text),
    field("internal_metadata", Kind::Text),
    field("call_site", Kind::Text),
    field("stack_id", Kind::Number),
    field("active_bytes", Kind::Bytes),
    field("reserved_bytes", Kind::Bytes),
];

pub(super) fn rows<E>(device: Device<'_>, write: &mut Write<'_, E>) -> Result<(), E> {
    let (snapshot, history) = (device.snapshot(), device.history);
    let sites = device.call_sites();
    let numbers = device.recording.streams().numbers();
    for moment in 1..=history.event_count {
        let id = EventId(history.first_event + moment - 1);
        let event = snapshot.events.get(id);
        let context = snapshot.contexts.get(event.context);
        // An oom has the device's free bytes in place of an address, and a snapshot event has none.
        let is_placed = !matches!(event.action, Action::Oom | Action::Snapshot);
        let is_oom = event.action == Action::Oom;
        let allocation = history.allocation_of_event[moment as usize - 1];
        let allocation = AllocationId(allocation).index();
        let is_known = allocation < history.allocations.len();
        write(&[
            Value::Number(device.index().into()),
            Value::Number(moment.into()),
            Value::time(Some(event.time_us)),
            Value::text(snapshot.action_name(id)),
            if is_placed {
                Value::Address(event.addr)
            } else {
                Value::None
            },
            Value::Bytes(event.size),
            Value::bytes(is_oom.then_some(event.addr)),
            Value::number(is_known.then_some(allocation as i64 + 1)),
            Value::Number(context.stream),
            Value::number(numbers.get(&context.stream).copied()),
            Value::pool(context.pool),
            Value::string(snapshot, context.category),
            Value::string(snapshot, context.user_metadata),
            Value::compile_context(snapshot, context.compile_context),
            Value::string(snapshot, context.internal_metadata),
            Value::site(sites, sites.of_stack(event.stack)),
            Value::stack(event.stack),
            Value::bytes(history.active_bytes.get(moment as usize).copied()),
            Value::Bytes(history.reserved_bytes(moment)),
        ])?;
    }
    Ok(())
}
