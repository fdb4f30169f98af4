//! The program's named ranges and their cost. A range contains the events
//! `from_event < event <= to_event`.

use super::{Field, Kind, Value, Write, field};
use crate::analysis::recording::Device;
use crate::ids::StringId;
use crate::model::NO_TIME;

pub(super) const FIELDS: [Field; 22] = [
    field(
        "device",
        Kind::Number,
        "the device's index, as CUDA numbers them within the process",
    ),
    field(
        "source",
        Kind::Text,
        "who named it: annotation, inferred, internal, user_metadata or compile_context",
    ),
    field(
        "thread",
        Kind::Text,
        "the thread, or the stream that orders it, after the NVTX domain; none in files of torch",
    ),
    field("depth", Kind::Number, "how many ranges it is in"),
    field("name", Kind::Text, "its name"),
    field("start_time_us", Kind::TimeUs, "when it began"),
    field("end_time_us", Kind::TimeUs, "when it ended"),
    field("duration_us", Kind::Number, "how long it took"),
    field(
        "is_open_start",
        Kind::Flag,
        "whether it began before the recording",
    ),
    field(
        "is_open_end",
        Kind::Flag,
        "whether it went on after the recording",
    ),
    field("from_event", Kind::Number, "the last event before it"),
    field("to_event", Kind::Number, "its last event"),
    field("before_bytes", Kind::Bytes, "bytes live before it"),
    field("after_bytes", Kind::Bytes, "bytes live after it"),
    field("peak_bytes", Kind::Bytes, "the most bytes live in it"),
    field("peak_event", Kind::Number, "the event after which that was"),
    field("allocated_bytes", Kind::Bytes, "bytes allocated in it"),
    field("freed_bytes", Kind::Bytes, "bytes freed in it"),
    field(
        "allocations",
        Kind::Number,
        "how many allocations were made in it",
    ),
    field("category", Kind::Text, "its category (NVTX)"),
    field("payload", Kind::Text, "its payload (NVTX)"),
    field("color", Kind::Text, "its colour (NVTX), as #rrggbb"),
];

pub(super) fn rows<E>(device: Device<'_>, write: &mut Write<'_, E>) -> Result<(), E> {
    let (snapshot, history) = (device.snapshot(), device.history);
    for lane in &device.lanes().lanes {
        let source = lane.kind.word();
        let thread = (!lane.name.is_empty()).then_some(lane.name.as_str());
        for (depth, row) in (0..).zip(&lane.rows) {
            for range in row {
                let totals = device.sums().totals(history, range.moments());
                let has_times = range.start_us != NO_TIME && range.end_us != NO_TIME;
                let mark = range.annotation(snapshot);
                let text = |text: Option<StringId>| {
                    text.map_or(Value::None, |id| Value::text(snapshot.strings.get(id)))
                };
                let colour = mark.and_then(|mark| mark.colour);
                let colour = colour.map(|colour| format!("#{:06x}", colour & 0xff_ffff));
                let duration = range.end_us.saturating_sub(range.start_us);
                write(&[
                    Value::Number(device.index().into()),
                    Value::text(source),
                    thread.map_or(Value::None, Value::text),
                    Value::Number(depth),
                    Value::text(range.name.text(&snapshot.strings)),
                    Value::time(Some(range.start_us)),
                    Value::time(Some(range.end_us)),
                    Value::number(has_times.then_some(duration)),
                    Value::Flag(range.is_open_start),
                    Value::Flag(range.is_open_end),
                    Value::Number(range.from.into()),
                    Value::Number(range.to.into()),
                    Value::Bytes(totals.before_bytes),
                    Value::Bytes(totals.after_bytes),
                    Value::Bytes(totals.peak_bytes),
                    Value::Number(totals.peak_moment.into()),
                    Value::Bytes(totals.allocated_bytes),
                    Value::Bytes(totals.freed_bytes),
                    Value::Number(totals.allocations.into()),
                    text(mark.and_then(|mark| mark.category)),
                    text(mark.and_then(|mark| mark.payload)),
                    colour.as_deref().map_or(Value::None, Value::text),
                ])?;
            }
        }
    }
    Ok(())
}
