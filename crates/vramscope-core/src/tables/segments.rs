//! Memory held from the device during the recording, in pieces. The pieces at a moment add up to the reserved bytes. A plain
//! segment is one piece, an expandable one has a piece per mapping.

use super::{Field, Kind, Value, Write, field};
use crate::analysis::recording::Device;
use crate::analysis::time::history::History;

pub(super) const FIELDS: [Field; 16] = [
    field(
        "device",
        Kind::Number,
        "the device's index, as CUDA numbers them within the process",
    ),
    field(
        "segment",
        Kind::Number,
        "its segment's number, from 1; an expandable one has a row for each mapping",
    ),
    field("segment_address", Kind::Address, "where the segment begins"),
    field("address", Kind::Address, "where the piece begins"),
    field("bytes", Kind::Bytes, "its size"),
    field(
        "alloc_event",
        Kind::Number,
        "the event that reserved it; none if it is older than the recording",
    ),
    field(
        "free_event",
        Kind::Number,
        "the event that gave it back; none if it is held at the end",
    ),
    field("alloc_time_us", Kind::TimeUs, "when it was reserved"),
    field("free_time_us", Kind::TimeUs, "when it was given back"),
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
        "kind",
        Kind::Text,
        "small or large: the size of requests it serves",
    ),
    field(
        "is_expandable",
        Kind::Flag,
        "whether the segment is expandable",
    ),
    field(
        "call_site",
        Kind::Text,
        "the line of the user's code that had it reserved",
    ),
    field(
        "stack_id",
        Kind::Number,
        "its stack in `stacks`, within one snapshot",
    ),
];

pub(super) fn rows<E>(device: Device<'_>, write: &mut Write<'_, E>) -> Result<(), E> {
    let (snapshot, history) = (device.snapshot(), device.history);
    let sites = device.call_sites();
    let numbers = device.recording.streams().numbers();
    let segments = device.segments();
    for piece in 0..segments.len() {
        let segment = segments.segment_of(piece);
        let stack = segments.stack(snapshot, history, piece);
        let (born, died) = (segments.born[piece], segments.died[piece]);
        write(&[
            Value::Number(device.index().into()),
            Value::Number(i64::from(segments.segment[piece]) + 1),
            Value::Address(segment.address),
            Value::Address(segments.address[piece]),
            Value::Bytes(segments.bytes[piece]),
            Value::moment(born),
            Value::moment(died),
            time(history, born),
            time(history, died),
            Value::Number(segment.stream),
            Value::number(numbers.get(&segment.stream).copied()),
            Value::pool(segment.pool),
            Value::segment_kind(snapshot, segment.kind),
            Value::Flag(segment.is_expandable),
            Value::site(sites, sites.of_stack(stack)),
            Value::stack(stack),
        ])?;
    }
    Ok(())
}

/// The time of the event that begins a moment.
fn time<'a>(history: &History, moment: u32) -> Value<'a> {
    let time = history.moment_start_us.get(moment);
    Value::time(time.filter(|_| moment > 0))
}
