//! The blocks of a device's segments at the end of the recording.

use std::collections::HashMap;

use super::{Field, Kind, Value, Write, field};
use crate::analysis::recording::Device;
use crate::model::{Block, BlockState, DeviceIndex, Segment};

pub(super) const FIELDS: [Field; 15] = [
    field("device", Kind::Number),
    field("segment_address", Kind::Address),
    field("segment_bytes", Kind::Bytes),
    field("segment_kind", Kind::Text),
    field("is_expandable", Kind::Flag),
    field("stream", Kind::Number),
    field("stream_number", Kind::Number),
    field("pool", Kind::Text),
    field("address", Kind::Address),
    field("bytes", Kind::Bytes),
    field("requested_bytes", Kind::Bytes),
    field("state", Kind::Text),
    field("allocation", Kind::Number),
    field("call_site", Kind::Text),
    field("stack_id", Kind::Number),
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
