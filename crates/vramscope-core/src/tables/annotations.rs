//! The program's named ranges and their cost. A range contains the events
//! `from_event < event <= to_event`.

use super::{Field, Kind, Value, Write, field};
use crate::analysis::recording::Device;
use crate::ids::StringId;
use crate::model::NO_TIME;

pub(super) const FIELDS: [Field; 22] = [
    field("device", Kind::Number),
    field("source", Kind::Text),
    field("thread", Kind::Text),
    field("depth", Kind::Number),
    field("name", Kind::Text),
    field("start_time_us", Kind::TimeUs),
    field("end_time_us", Kind::TimeUs),
    field("duration_us", Kind::Number),
    field("is_open_start", Kind::Flag),
    field("is_open_end", Kind::Flag),
    field("from_event", Kind::Number),
    field("to_event", Kind::Number),
    field("before_bytes", Kind::Bytes),
    field("after_bytes", Kind::Bytes),
    field("peak_bytes", Kind::Bytes),
    field("peak_event", Kind::Number),
    field("allocated_bytes", Kind::Bytes),
    field("freed_bytes", Kind::Bytes),
    field("allocations", Kind::Number),
    field("category", Kind::Text),
    field("payload", Kind::Text),
    field("color", Kind::Text),
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
