//! The events of a device, with the memory held after each.

use super::{Field, Kind, Value, Write, field};
use crate::analysis::recording::Device;
use crate::ids::{AllocationId, EventId};
use crate::model::{Action, Context};

pub(super) const FIELDS: [Field; 19] = [
    field(
        "device",
        Kind::Number,
        "the device's index, as CUDA numbers them within the process",
    ),
    field(
        "event",
        Kind::Number,
        "its number on the device, from 1; it begins the moment of that number",
    ),
    field("time_us", Kind::TimeUs, "when it was recorded"),
    field(
        "action",
        Kind::Text,
        "alloc, free_requested, free_completed, segment_alloc, segment_free, segment_map, segment_unmap, oom, snapshot",
    ),
    field(
        "address",
        Kind::Address,
        "the address it is about; none for oom and snapshot",
    ),
    field(
        "bytes",
        Kind::Bytes,
        "its size: requested for blocks, reserved for segments",
    ),
    field(
        "device_free_bytes",
        Kind::Bytes,
        "what the device had free when a request failed (oom)",
    ),
    field(
        "allocation",
        Kind::Number,
        "the allocation it begins or ends, in `allocations`",
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
        "user_metadata",
        Kind::Text,
        "a text that the program set for its thread",
    ),
    field("compile_context", Kind::Text, "the region of torch.compile"),
    field("internal_metadata", Kind::Text, "the allocator's own note"),
    field(
        "call_site",
        Kind::Text,
        "the line of the user's code, or the nearest to it, and its function",
    ),
    field(
        "stack_id",
        Kind::Number,
        "its stack in `stacks`, within one snapshot",
    ),
    field(
        "active_bytes",
        Kind::Bytes,
        "bytes of live allocations after it",
    ),
    field(
        "reserved_bytes",
        Kind::Bytes,
        "bytes reserved from CUDA after it",
    ),
];

pub(super) fn rows<E>(device: Device<'_>, write: &mut Write<'_, E>) -> Result<(), E> {
    let (snapshot, history) = (device.snapshot(), device.history);
    let sites = device.call_sites();
    let numbers = device.recording.streams().numbers();
    let number = |context: &Context| numbers.get(&context.stream).copied();
    let numbers: Vec<_> = snapshot.contexts.rows().iter().map(number).collect();
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
            Value::number(numbers[event.context.index()]),
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
