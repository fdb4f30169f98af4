//! The details of a single allocation.

use serde::{Deserialize, Serialize};

use crate::Snapshot;
use crate::analysis::code::frames::{FrameClass, Location, clip};
use crate::analysis::memory::allocator_rules::UNIT_BYTES;
use crate::analysis::memory::streams_and_pools::{context_of, segment_at};
use crate::analysis::recording::{Device, Recording};
use crate::analysis::roles::{Role, RoleFinding};
use crate::analysis::time::history::StackSource;
use crate::analysis::time::lifetime::{Lifetime, lifetime};
use crate::ids::{AllocationId, BlockId, EventId, FrameId, SegmentId, StackId, StringId};
use crate::model::{Action, BlockState, DeviceIndex, PoolId, Segment};

/// Limits for damaged or hostile files, whose details could otherwise be larger than the file. Real stacks have up to
/// some hundred frames, real texts up to some thousand bytes.
const FRAMES_LIMIT: usize = 4096;
const TEXTS_LIMIT: usize = 256;
const TEXT_LIMIT_BYTES: usize = 64 << 10;

/// Everything that is known about one allocation.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AllocationDetails {
    /// `b<hex address>_<version>`, its name in PyTorch's viewer.
    pub name: String,
    /// The allocation.
    pub allocation: AllocationId,
    /// The device's index.
    pub device: DeviceIndex,
    /// Start address.
    pub address: u64,
    /// Requested bytes.
    pub requested_bytes: u64,
    /// Label of its call site, or of the code that freed it if only that code is known.
    pub site: String,
    /// Label of the operator that made it; empty if unknown.
    pub operator: String,
    /// Its block in the final state; `None` if it was freed.
    pub block: Option<BlockDetails>,
    /// Lower bound of the block's size in bytes: the request rounded up to 512 bytes. Useful without a
    /// [`block`](Self::block), as further rounding is not recorded.
    pub block_bytes_at_least: u64,
    /// The events of its life.
    pub life: Life,
    /// The stream's handle, a `cudaStream_t` as a number; `None` if unknown.
    pub stream: Option<i64>,
    /// The stream's number; 0 is the default stream. `None` if unknown.
    pub stream_index: Option<u32>,
    /// The memory pool; `None` if unknown.
    pub pool: Option<PoolId>,
    /// The category from `_profile_to_snapshot`; `None` if it has none.
    pub category: Option<String>,
    /// Its inferred purpose, with the reason.
    pub role: RoleFinding,
    /// The metadata that the program had set for its thread.
    pub user_metadata: Option<String>,
    /// The `torch.compile` region; `None` outside of all regions.
    pub compile_context: Option<String>,
    /// A note by the allocator.
    pub internal_metadata: Option<String>,
    /// Texts that `annotate` events attached to it, oldest first.
    pub annotations: Vec<String>,
    /// Names of the annotated ranges that contain its alloc event, in the order of
    /// [`Recording::ranges`](crate::analysis::recording::Recording::ranges).
    pub ranges: Vec<String>,
    /// Its stack, innermost frame first; at most 4096 frames.
    pub stack: Vec<FrameDetails>,
    /// Number of outermost frames left out of `stack`.
    pub frames_left_out: u64,
    /// The record that `stack` comes from; `None` without a stack.
    pub stack_source: Option<StackOrigin>,
    /// For an allocation of the backward pass, the stack of its forward operation, one text per frame.
    pub forward_frames: Vec<String>,
    /// Active bytes at the moment of its birth; at moment 0 if it was allocated before the recording.
    pub active_bytes_after: u64,
}

/// The block of an allocation in the final state.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BlockDetails {
    /// The block.
    pub block: BlockId,
    /// Size in bytes, including rounding.
    pub bytes: u64,
    /// Bytes by which it is larger than the request.
    pub rounding_bytes: u64,
    /// Its state.
    pub state: BlockState,
    /// The segment that contains it, if any.
    pub segment: Option<SegmentId>,
    /// Address of the segment.
    pub segment_address: Option<u64>,
    /// Size of the segment in bytes.
    pub segment_bytes: Option<u64>,
}

/// The events of an allocation's life, or a segment's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Life {
    /// The event that allocated it; `None` if it was allocated before the recording.
    pub alloc: Option<EventMark>,
    /// The event by which the program freed it; `None` if it was not freed, or the event was not recorded.
    pub free_requested: Option<EventMark>,
    /// The event by which its memory became free; `None` if it is live at the end.
    pub free_completed: Option<EventMark>,
    /// The recorded part of its lifetime.
    pub lifetime: Lifetime,
}

/// An event in an allocation's life.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct EventMark {
    /// Index of the event in its device's trace, from 0.
    pub number: u32,
    /// The event.
    pub event: EventId,
    /// Microseconds since the Unix epoch; `None` if the event has no time.
    pub time_us: Option<i64>,
    /// Microseconds since the device's first event with a time; `None` if the event has no time.
    pub since_start_us: Option<i64>,
}

impl EventMark {
    /// The moment after the event.
    #[must_use]
    pub fn moment(self) -> u32 {
        self.number.saturating_add(1)
    }
}

/// The record that a stack comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StackOrigin {
    /// The alloc event.
    Alloc,
    /// The block in the final state.
    Block,
    /// The event that freed it. The place of allocation is unknown.
    Free,
}

/// A frame, for display.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FrameDetails {
    /// The frame.
    pub frame: FrameId,
    /// Its class: whose code it is.
    pub class: FrameClass,
    /// Function name; for C++ the whole signature.
    pub function: String,
    /// File; empty if unknown.
    pub file: String,
    /// Line, from 1; 0 if unknown.
    pub line: u32,
    /// The FX node from which the code was generated; `None` for other code.
    pub fx: Option<FxDetails>,
}

/// The torch.fx node of a frame in generated code. A text is empty if unknown.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FxDetails {
    /// Kind of node, such as `call_function`.
    pub op: String,
    /// Name of the node.
    pub name: String,
    /// The function or module that it calls.
    pub target: String,
    /// The lines of the model's own code.
    pub original_trace: String,
}

/// The fields of [`AllocationDetails`] that fit into a line or two.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct AllocationBrief {
    /// `b<hex address>_<version>`.
    pub name: String,
    /// Requested bytes.
    pub requested_bytes: u64,
    /// The events of its life.
    pub life: Life,
    /// The stream's handle, a `cudaStream_t` as a number; `None` if unknown.
    pub stream: Option<i64>,
    /// The memory pool; `None` if unknown.
    pub pool: Option<PoolId>,
    /// The category from `_profile_to_snapshot`; `None` if it has none.
    pub category: Option<String>,
    /// Its inferred purpose.
    pub role: Role,
}

/// Details that need no search through events, contexts or frames, for use on every movement of the mouse. `None` if
/// there is no such allocation.
#[must_use]
pub fn allocation_brief(device: Device<'_>, id: AllocationId) -> Option<AllocationBrief> {
    let (snapshot, history) = (device.snapshot(), device.history);
    let table = &history.allocations;
    let row = id.index();
    let requested_bytes = *table.bytes.get(row)?;
    let address = table.address[row];
    let context = context_of(snapshot, history, id);
    // The columns fill in what the event lacks.
    let stream = context.map(|context| context.stream);
    let stream = stream.or_else(|| device.stream_of().get(row).copied().flatten());
    let pool = context.and_then(|context| context.pool);
    let pool = pool.or_else(|| device.pool_of().get(row).copied().flatten());
    let mark = |event: Option<EventId>| event.map(|event| mark(device, event));
    Some(AllocationBrief {
        name: format!("b{address:x}_{}", table.version[row]),
        requested_bytes,
        life: Life {
            alloc: mark(history.alloc_event(id)),
            free_requested: mark(history.free_requested_event(id)),
            free_completed: mark(history.free_completed_event(id)),
            lifetime: lifetime(history, id),
        },
        stream,
        pool,
        category: text_of(snapshot, context.and_then(|context| context.category)),
        role: device.rule_of().get(row)?.role(),
    })
}

/// Collects all details of an allocation; `None` if there is no such allocation.
#[must_use]
pub fn allocation_details(device: Device<'_>, id: AllocationId) -> Option<AllocationDetails> {
    let (snapshot, history) = (device.snapshot(), device.history);
    let table = &history.allocations;
    let row = id.index();
    let AllocationBrief {
        name,
        requested_bytes,
        life,
        stream,
        pool,
        category,
        role: _,
    } = allocation_brief(device, id)?;
    let address = table.address[row];
    let context = context_of(snapshot, history, id);
    let segment = segment_at(snapshot, history.device, address);
    let text = |id: Option<StringId>| text_of(snapshot, id);
    let (stack, stack_source, frames_left_out) = stack_of(device, id);
    let sites = device.call_sites();

    Some(AllocationDetails {
        name,
        allocation: id,
        device: history.device,
        address,
        requested_bytes,
        site: sites.get(device.site_of()[row]).label.clone(),
        operator: device.operators().label(device.operator(id)).to_owned(),
        block: block_of(device, id, segment),
        block_bytes_at_least: requested_bytes
            .max(1)
            .checked_next_multiple_of(UNIT_BYTES)
            .unwrap_or(u64::MAX),
        life,
        stream,
        stream_index: stream.and_then(|stream| device.recording.streams().number(stream)),
        pool,
        category,
        role: device.rule_of().get(row)?.finding(),
        user_metadata: text(context.and_then(|context| context.user_metadata)),
        compile_context: text(context.and_then(|context| context.compile_context))
            .filter(|text| text != "N/A"),
        internal_metadata: text(context.and_then(|context| context.internal_metadata)),
        annotations: annotations(device, id),
        ranges: ranges_at(device, life.alloc.and_then(|mark| mark.time_us)),
        frames_left_out,
        stack,
        stack_source,
        forward_frames: forward_frames(device, id),
        active_bytes_after: history.active_bytes_at(table.born[row]),
    })
}

pub(super) fn text_of(snapshot: &Snapshot, id: Option<StringId>) -> Option<String> {
    let text = clipped(snapshot, id?);
    (!text.is_empty()).then_some(text)
}

fn clipped(snapshot: &Snapshot, id: StringId) -> String {
    clip(snapshot.strings.get(id), TEXT_LIMIT_BYTES).to_owned()
}

fn block_of(
    device: Device<'_>,
    id: AllocationId,
    segment: Option<(SegmentId, &Segment)>,
) -> Option<BlockDetails> {
    let block_id = device.history.final_block(id)?;
    let block = device.snapshot().blocks.get(block_id);
    let requested_bytes = device.history.allocations.bytes[id.index()];
    Some(BlockDetails {
        block: block_id,
        bytes: block.size,
        rounding_bytes: block.size.saturating_sub(requested_bytes),
        state: block.state,
        segment: segment.map(|(id, _)| id),
        segment_address: segment.map(|(_, segment)| segment.address),
        segment_bytes: segment.map(|(_, segment)| segment.total_size),
    })
}

fn mark(device: Device<'_>, event: EventId) -> EventMark {
    let times = &device.snapshot().events.time_us;
    let time_us = times.get(event.index());
    EventMark {
        number: event.0.saturating_sub(device.history.first_event),
        event,
        time_us,
        since_start_us: time_us.and_then(|time| device.since_start_us(time)),
    }
}

fn annotations(device: Device<'_>, id: AllocationId) -> Vec<String> {
    let (snapshot, history) = (device.snapshot(), device.history);
    let table = &history.allocations;
    let address = table.address[id.index()];
    // Moment m follows event m - 1, so the events while it lives are born .. died - 1.
    let first = table.born[id.index()];
    let last = table.died[id.index()]
        .saturating_sub(1)
        .min(history.event_count);
    let rows = history.first_event.saturating_add(first)..history.first_event.saturating_add(last);
    rows.map(EventId)
        .filter(|event| snapshot.events.action.get(event.index()) == Some(&Action::Annotate))
        .filter(|event| snapshot.events.addr[event.index()] == address)
        .filter_map(|event| {
            let context = snapshot
                .contexts
                .get(snapshot.events.context[event.index()]);
            text_of(snapshot, context.user_metadata)
        })
        .take(TEXTS_LIMIT)
        .collect()
}

fn ranges_at(device: Device<'_>, time_us: Option<i64>) -> Vec<String> {
    let times = &device.history.moment_start_us;
    let Some(time_us) = time_us.filter(|&time_us| times.is_clear(time_us)) else {
        return Vec::new();
    };
    let here = device.ranges();
    here.filter(|range| range.contains(time_us))
        .map(|range| clipped(device.snapshot(), range.name))
        .take(TEXTS_LIMIT)
        .collect()
}

fn stack_of(device: Device<'_>, id: AllocationId) -> (Vec<FrameDetails>, Option<StackOrigin>, u64) {
    let snapshot = device.snapshot();
    let (stack, source) = device.history.stack(snapshot, id);
    let origin = match source {
        StackSource::Alloc => StackOrigin::Alloc,
        StackSource::Block => StackOrigin::Block,
        StackSource::Free => StackOrigin::Free,
    };
    let (frames, left_out) = stack_details(device.recording, stack);
    (frames, stack.has_frames().then_some(origin), left_out)
}

/// The frames of a stack, innermost first, at most 4096; and the number of omitted outermost frames.
#[must_use]
pub fn stack_details(recording: &Recording, stack: StackId) -> (Vec<FrameDetails>, u64) {
    let frames = recording.snapshot.stacks.frames(stack);
    let left_out = frames.len().saturating_sub(FRAMES_LIMIT) as u64;
    let frames = frames.take(FRAMES_LIMIT);
    let frames = frames.map(|frame| frame_details(recording, frame));
    (frames.collect(), left_out)
}

/// A frame's details.
#[must_use]
pub fn frame_details(recording: &Recording, id: FrameId) -> FrameDetails {
    let snapshot = &recording.snapshot;
    let frame = snapshot.frames.get(id);
    let location = Location::of(snapshot, frame);
    let text = |id| clipped(snapshot, id);
    FrameDetails {
        frame: id,
        class: recording.classes().get(id),
        function: location.function.to_owned(),
        file: location.file.to_owned(),
        line: location.line,
        fx: frame.fx.map(|fx| FxDetails {
            op: text(fx.op),
            name: text(fx.name),
            target: text(fx.target),
            original_trace: text(fx.original_trace),
        }),
    }
}

/// The stack of the forward pass: from the event or, if the event has none, from the block in the final state.
fn forward_frames(device: Device<'_>, id: AllocationId) -> Vec<String> {
    let (snapshot, history) = (device.snapshot(), device.history);
    let of_event = context_of(snapshot, history, id).and_then(|context| context.forward_lines);
    let block = history
        .final_block(id)
        .map(|block| snapshot.blocks.get(block));
    let lines = of_event.or(block.and_then(|block| block.forward_lines));
    let lines = snapshot.contexts.forward_lines(lines);
    lines
        .take(FRAMES_LIMIT)
        .map(|line| clipped(snapshot, line).trim_end().to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode;

    const FILE: &str = r#"{
        "segments": [{"device": 0, "address": 4096, "total_size": 2048, "stream": 7,
            "segment_pool_id": [0, 1], "blocks": [
            {"address": 4096, "size": 1024, "requested_size": 1000, "state": "active_allocated",
             "frames": [{"name": "load", "filename": "/home/me/model.py", "line": 3}]},
            {"address": 5120, "size": 1024, "requested_size": 0, "state": "inactive", "frames": []}]}],
        "device_traces": [[
            {"action": "alloc", "addr": 5120, "size": 600, "stream": 7, "time_us": 100, "pool_id": [0, 1],
             "compile_context": "N/A", "user_metadata": "warm-up", "category": "gradient",
             "forward_frames": ["a.py:1 f\n"],
             "frames": [{"name": "PyEval_Run", "filename": "??", "line": 0},
                        {"name": "step", "filename": "/home/me/train.py", "line": 9}]},
            {"action": "annotate", "addr": 5120, "size": 600, "stream": 7, "time_us": 110, "user_metadata": "logits"},
            {"action": "annotate", "addr": 4096, "size": 1000, "stream": 7, "time_us": 115, "user_metadata": "weight"},
            {"action": "free_requested", "addr": 5120, "size": 600, "stream": 7, "time_us": 120},
            {"action": "free_completed", "addr": 5120, "size": 600, "stream": 7, "time_us": 150}]],
        "external_annotations": [
            {"stage": "START", "name": "step 1", "device": 0, "time_us": 90},
            {"stage": "END", "name": "step 1", "device": 0, "time_us": 130},
            {"stage": "START", "name": "step 2", "device": 0, "time_us": 140}]}"#;

    fn details_of(row: u32) -> AllocationDetails {
        let recording = Recording::of(decode(FILE.as_bytes()).unwrap());
        allocation_details(recording.device(0).unwrap(), AllocationId(row)).unwrap()
    }

    #[test]
    fn a_whole_life() {
        let details = details_of(1);
        assert_eq!(details.name, "b1400_0");
        assert_eq!(
            (details.requested_bytes, details.block_bytes_at_least),
            (600, 1024)
        );
        assert_eq!(details.block, None, "it was freed");
        let [alloc, requested, completed] = [
            details.life.alloc,
            details.life.free_requested,
            details.life.free_completed,
        ]
        .map(Option::unwrap);
        assert_eq!(
            (alloc.number, requested.number, completed.number),
            (0, 3, 4)
        );
        assert_eq!(
            (alloc.time_us, completed.since_start_us),
            (Some(100), Some(50))
        );
        assert_eq!(
            details.life.lifetime,
            Lifetime {
                events: 4,
                us: Some(50),
                at_least: false
            }
        );
        assert_eq!((details.stream, details.stream_index), (Some(7), Some(1)));
        assert_eq!(details.pool, Some(PoolId(0, 1)));
        assert_eq!(details.category.as_deref(), Some("gradient"));
        assert_eq!(details.user_metadata.as_deref(), Some("warm-up"));
        assert_eq!(details.compile_context, None, "N/A means none");
        assert_eq!(details.annotations, ["logits"]);
        assert_eq!(details.ranges, ["step 1"]);
        assert_eq!(details.forward_frames, ["a.py:1 f"]);
        assert_eq!(details.stack_source, Some(StackOrigin::Alloc));
        let frames: Vec<_> = details
            .stack
            .iter()
            .map(|frame| (frame.class, frame.line))
            .collect();
        assert_eq!(frames, [(FrameClass::Runtime, 0), (FrameClass::User, 9)]);
        assert_eq!(details.active_bytes_after, 1600);
    }

    #[test]
    fn from_before_recording_and_still_live() {
        let details = details_of(0);
        assert_eq!(details.name, "b1000_0");
        let block = details.block.unwrap();
        assert_eq!((block.bytes, block.rounding_bytes), (1024, 24));
        assert_eq!(
            (block.segment_address, block.segment_bytes),
            (Some(4096), Some(2048))
        );
        assert_eq!(
            (details.life.alloc, details.life.free_completed),
            (None, None)
        );
        assert!(details.life.lifetime.at_least);
        assert_eq!(
            (details.stream, details.pool),
            (Some(7), Some(PoolId(0, 1))),
            "its segment's"
        );
        assert_eq!(details.annotations, ["weight"]);
        assert_eq!(details.ranges, [""; 0]);
        assert_eq!(details.stack_source, Some(StackOrigin::Block));
    }

    #[test]
    fn no_such_allocation() {
        let recording = Recording::of(decode(FILE.as_bytes()).unwrap());
        let device = recording.device(0).unwrap();
        assert_eq!(allocation_details(device, AllocationId(2)), None);
    }
}
