//! The events of a device, with the memory held after each.

use std::borrow::Cow;
use std::cell::Cell;

use super::{
    Cells, Columns, Field, Kind, TakeColumns, compile_context, field, known_stack, pool_text,
    string,
};
use crate::analysis::recording::Device;
use crate::ids::{AllocationId, EventId, StringId};
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
        "live_bytes",
        Kind::Bytes,
        "requested bytes of live allocations after it",
    ),
    field(
        "reserved_bytes",
        Kind::Bytes,
        "bytes reserved from the device after it",
    ),
];

pub(super) fn columns<E>(device: Device<'_>, take: &mut TakeColumns<'_, E>) -> Result<(), E> {
    let (snapshot, history) = (device.snapshot(), device.history);
    let (events, sites) = (&snapshot.events, device.call_sites());
    let id = |row: usize| EventId::from_index(history.first_event as usize + row);
    let action = |row| events.action[id(row).index()];
    let stack = |row| events.stack[id(row).index()];
    let allocation = |row: usize| {
        let allocation = AllocationId(history.allocation_of_event[row]).index();
        (allocation < history.allocations.len()).then_some(allocation as i64 + 1)
    };
    let reserved = ascending(&history.reserved_steps);
    let contexts = snapshot.contexts.rows();
    let numbers = device.recording.streams().numbers();
    let number = |context: &Context| numbers.get(&context.stream).copied();
    let numbers: Vec<Option<u32>> = contexts.iter().map(number).collect();
    let pools = contexts.iter().map(|context| pool_text(context.pool));
    let pools: Vec<Cow<'_, str>> = pools.collect();
    let context_id = |row| events.context[id(row).index()].index();
    let by_context = |text: fn(&Context) -> Option<StringId>| {
        let texts = contexts.iter().map(|it| string(snapshot, text(it)));
        Cells::texts(texts, context_id)
    };
    let compiled = contexts
        .iter()
        .map(|it| compile_context(snapshot, it.compile_context));
    let cells: [Cells<'_>; FIELDS.len()] = [
        Cells::integers(|_| device.index()),
        Cells::integers(|row| row as u32 + 1),
        Cells::maybe(|row| events.time_us.get(id(row).index())),
        Cells::texts(events.action_names(&snapshot.strings), |row| {
            action(row).number()
        }),
        // An oom has the device's free bytes in place of an address, and a snapshot event has none.
        Cells::maybe(|row| match action(row) {
            Action::Oom | Action::Snapshot => None,
            _ => Some(events.addr[id(row).index()].cast_signed()),
        }),
        Cells::sizes(|row| events.size[id(row).index()]),
        Cells::maybe(|row| match action(row) {
            Action::Oom => {
                let free = events.get(id(row)).device_free_bytes();
                free.map(u64::cast_signed)
            }
            _ => None,
        }),
        Cells::maybe(allocation),
        Cells::integers(|row| contexts[context_id(row)].stream),
        Cells::maybe(|row| numbers[context_id(row)].map(i64::from)),
        Cells::texts(pools.iter().map(|pool| &**pool), context_id),
        by_context(|it| it.category),
        by_context(|it| it.user_metadata),
        Cells::texts(compiled, context_id),
        by_context(|it| it.internal_metadata),
        Cells::texts(sites.labels(), |row| sites.of_stack(stack(row)).index()),
        Cells::maybe(|row| known_stack(stack(row))),
        Cells::maybe(|row| history.active_bytes.get(row + 1).map(|it| it.cast_signed())),
        Cells::sizes(|row| reserved(row as u32 + 1)),
    ];
    take(&Columns {
        rows: history.event_count as usize,
        cells: cells.into(),
    })
}

/// Looks up the bytes since the last step at a moment, or 0 before the first. Fast for ascending moments.
fn ascending(steps: &[(u32, u64)]) -> impl Fn(u32) -> u64 {
    let passed = Cell::new(0);
    move |moment| {
        let is_ahead = |&at: &usize| at > 0 && steps[at - 1].0 > moment;
        let mut at = Some(passed.get()).filter(|at| !is_ahead(at)).unwrap_or(0);
        while steps.get(at).is_some_and(|step| step.0 <= moment) {
            at += 1;
        }
        passed.set(at);
        at.checked_sub(1).map_or(0, |last| steps[last].1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// A slow, obvious version looks at all steps. The moments need not ascend.
        #[test]
        fn bytes_since_the_last_step_are_found(
            steps in prop::collection::btree_map(0_u32..60, any::<u64>(), 0..20),
            moments in prop::collection::vec(0_u32..70, 0..40),
            ascends: bool,
        ) {
            let steps: Vec<(u32, u64)> = steps.into_iter().collect();
            let mut moments = moments;
            if ascends {
                moments.sort_unstable();
            }
            let found = ascending(&steps);
            for moment in moments {
                let passed = steps.iter().rfind(|step| step.0 <= moment);
                prop_assert_eq!(found(moment), passed.map_or(0, |step| step.1));
            }
        }
    }
}
