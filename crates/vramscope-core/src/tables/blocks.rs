//! The blocks of a device's segments at the end of the recording.

use std::collections::HashMap;

use super::{Field, Kind, Value, Write, field};
use crate::analysis::recording::Device;
use crate::model::{Block, BlockState, DeviceIndex, Segment};

pub(super) const FIELDS: [Field; 15] = [
    field(
        "device",
        Kind::Number,
        "the device's index, as CUDA numbers them within the process",
    ),
    field("segment_address", Kind::Address, "where its segment begins"),
    field("segment_bytes", Kind::Bytes, "its segment's size"),
    field(
        "segment_kind",
        Kind::Text,
        "its segment's kind: small or large",
    ),
    field(
        "is_expandable",
        Kind::Flag,
        "whether its segment is expandable",
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
    field("address", Kind::Address, "where it begins"),
    field("bytes", Kind::Bytes, "its size"),
    field(
        "requested_bytes",
        Kind::Bytes,
        "the size that was asked for, if it is in use",
    ),
    field(
        "state",
        Kind::Text,
        "active_allocated, active_pending_free or inactive",
    ),
    field(
        "allocation",
        Kind::Number,
        "the allocation in it, in `allocations`",
    ),
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
];

pub(super) fn rows<E>(device: Device<'_>, write: &mut Write<'_, E>) -> Result<(), E> {
    let (snapshot, history) = (device.snapshot(), device.history);
    let numbers = device.recording.streams().numbers();
    let tenants: HashMap<_, _> = history
        .final_blocks
        .iter()
        .map(|&(id, of)| (of, id))
        .collect();
    let is_own = |segment: &&Segment| DeviceIndex::try_from(segment.device) == Ok(history.device);
    for segment in snapshot.segments.rows.iter().filter(is_own) {
        for id in segment.block_ids() {
            let block = snapshot.blocks.get(id);
            let mut row = of_segment(device, segment, &numbers);
            row.extend(of_block(device, block));
            let allocation = tenants
                .get(&id)
                .map(|allocation| i64::from(allocation.0) + 1);
            let stack = snapshot.blocks.stack(block);
            let sites = device.call_sites();
            row.extend([
                Value::number(allocation),
                Value::site(sites, sites.of_stack(stack)),
                Value::stack(stack),
            ]);
            write(&row)?;
        }
    }
    Ok(())
}

fn of_segment<'a>(
    device: Device<'a>,
    segment: &Segment,
    numbers: &HashMap<i64, u32>,
) -> Vec<Value<'a>> {
    let number = segment.stream.and_then(|stream| numbers.get(&stream));
    vec![
        Value::Number(device.index().into()),
        Value::Address(segment.address),
        Value::Bytes(segment.total_size),
        Value::segment_kind(device.snapshot(), segment.kind),
        segment.is_expandable.map_or(Value::None, Value::Flag),
        Value::number(segment.stream),
        Value::number(number.copied()),
        Value::pool(segment.pool),
    ]
}

fn of_block<'a>(device: Device<'a>, block: &Block) -> [Value<'a>; 4] {
    let snapshot = device.snapshot();
    // The requested size of an inactive block is stale.
    let requested = block.state.is_active();
    [
        Value::Address(block.address),
        Value::Bytes(block.size),
        Value::bytes(requested.then(|| snapshot.blocks.requested_bytes(block))),
        match block.state {
            BlockState::ActiveAllocated => Value::text("active_allocated"),
            BlockState::ActivePendingFree => Value::text("active_pending_free"),
            BlockState::Inactive => Value::text("inactive"),
            BlockState::Other(name) => Value::string(snapshot, Some(name)),
        },
    ]
}
