//! The details of a single event: its action, the code that asked for it, and memory before and after it.

use serde::{Deserialize, Serialize};

use super::details::{FrameDetails, Life, allocation_brief, stack_details, text_of};
use super::event_rows::{EventRow, event_rows};
use crate::analysis::memory::streams_and_pools::segment_at;
use crate::analysis::recording::Device;
use crate::ids::EventId;
use crate::model::{Action, DeviceIndex, NO_TIME, PoolId};

/// Everything that is known about one event.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct EventDetails {
    /// The device's index.
    pub device: DeviceIndex,
    /// The event as in the list of events.
    pub row: EventRow,
    /// Microseconds since the Unix epoch; `None` if the event has no time.
    pub time_us: Option<i64>,
    /// Label of its call site.
    pub site: String,
    /// Label of the operator that it happened in; empty if unknown.
    pub operator: String,
    /// The memory pool; `None` if unknown.
    pub pool: Option<PoolId>,
    /// The metadata that the program had set for its thread.
    pub user_metadata: Option<String>,
    /// The `torch.compile` region; `None` outside of all regions.
    pub compile_context: Option<String>,
    /// A note by the allocator.
    pub internal_metadata: Option<String>,
    /// Its own stack, innermost frame first; at most 4096 frames.
    pub stack: Vec<FrameDetails>,
    /// Number of outermost frames left out of `stack`.
    pub frames_left_out: u64,
    /// All events of its allocation; `None` for an event without an allocation.
    pub life: Option<Life>,
    /// Active bytes before and after it.
    pub active_bytes: (u64, u64),
    /// Reserved bytes before and after it.
    pub reserved_bytes: (u64, u64),
}

/// The details of the event before a moment; `None` if there is no such event.
#[must_use]
pub fn event_details(device: Device<'_>, moment: u32) -> Option<EventDetails> {
    let number = moment.checked_sub(1)?;
    let row = event_rows(device, number..moment).pop()?;
    let (snapshot, history) = (device.snapshot(), device.history);
    let event = snapshot.events.get(EventId(history.first_event + number));
    let context = snapshot.contexts.get(event.context);
    let segment = row
        .address
        .and_then(|address| segment_at(snapshot, history.device, address));
    let pool = context.pool.or_else(|| match row.allocation {
        Some(id) => device.pool_of().get(id.index()).copied().flatten(),
        None => segment.and_then(|(_, segment)| segment.pool),
    });
    let life = row.allocation.and_then(|id| allocation_brief(device, id));
    let sites = device.call_sites();
    let operators = device.operators();
    let (stack, frames_left_out) = stack_details(device.recording, event.stack);
    let compile_context = text_of(snapshot, context.compile_context);
    let active = |moment: u32| history.active_bytes.get(moment as usize).copied();
    Some(EventDetails {
        device: history.device,
        time_us: (event.time_us != NO_TIME).then_some(event.time_us),
        site: sites.get(row.site).label.clone(),
        operator: operators.label(operators.of_stack(event.stack)).to_owned(),
        pool: pool.filter(|_| event.action != Action::Snapshot),
        user_metadata: text_of(snapshot, context.user_metadata),
        compile_context: compile_context.filter(|text| text != "N/A"),
        internal_metadata: text_of(snapshot, context.internal_metadata),
        stack,
        frames_left_out,
        life: life.map(|brief| brief.life),
        active_bytes: (active(number).unwrap_or(0), active(moment).unwrap_or(0)),
        reserved_bytes: (
            history.reserved_bytes(number),
            history.reserved_bytes(moment),
        ),
        row,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::recording::Recording;
    use crate::decode;

    const FILE: &str = r#"{"segments": [], "device_traces": [[
        {"action": "segment_alloc", "addr": 4096, "size": 2048, "stream": 7, "time_us": 100},
        {"action": "alloc", "addr": 4096, "size": 600, "stream": 7, "time_us": 110, "pool_id": [0, 1],
         "compile_context": "N/A", "user_metadata": "warm-up",
         "frames": [{"name": "at::empty", "filename": "??", "line": 0},
                    {"name": "step", "filename": "/home/me/train.py", "line": 9}]},
        {"action": "oom", "device_free": 99, "size": 4096, "stream": 7, "time_us": 120,
         "frames": [{"name": "forward", "filename": "/home/me/model.py", "line": 3}]},
        {"action": "free_requested", "addr": 4096, "size": 600, "stream": 7}]]}"#;

    #[test]
    fn an_event_with_all_that_is_known() {
        let recording = Recording::of(decode(FILE.as_bytes()).unwrap());
        let device = recording.device(0).unwrap();
        assert_eq!(event_details(device, 0), None, "the beginning");
        assert_eq!(event_details(device, 5), None, "beyond the end");

        let alloc = event_details(device, 2).unwrap();
        assert_eq!((alloc.row.bytes, alloc.time_us), (600, Some(110)));
        assert_eq!(alloc.site, "me/train.py:9 step");
        assert_eq!(alloc.pool, Some(PoolId(0, 1)));
        assert_eq!(alloc.user_metadata.as_deref(), Some("warm-up"));
        assert_eq!(alloc.compile_context, None, "N/A means none");
        let lines: Vec<u32> = alloc.stack.iter().map(|frame| frame.line).collect();
        assert_eq!(lines, [0, 9]);
        assert_eq!(alloc.active_bytes, (0, 600));
        assert_eq!(alloc.reserved_bytes, (2048, 2048));
        let life = alloc.life.unwrap();
        assert_eq!(life.free_requested.unwrap().moment(), 4);

        let oom = event_details(device, 3).unwrap();
        assert_eq!(oom.site, "me/model.py:3 forward");
        assert_eq!((oom.row.device_free_bytes, oom.life), (Some(99), None));
        assert_eq!(oom.active_bytes, (600, 600));
    }
}
