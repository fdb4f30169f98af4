//! Builds a snapshot from memory that was recorded by other means.
//!
//! Texts, frames, stacks and contexts come first, each interned. Then come the events of one device after the other,
//! and then segments, each after its blocks. The result has the keys of torch 2.14, and
//! [`encode`](crate::encode::encode) writes them.

use crate::Snapshot;
use crate::decode::{Key, invariants, producer};
use crate::ids::{ContextId, FrameId, StackId, StringId};
use crate::model::{Annotation, Block, BlockState, Context, Event, Frame, KeysSeen, Segment};

/// A snapshot while it is built.
#[derive(Default)]
pub struct Builder {
    snapshot: Snapshot,
    /// The first event that belongs to no trace yet.
    first_event: u32,
    /// The first block that belongs to no segment yet.
    first_block: u32,
}

impl Builder {
    /// The id of a text.
    pub fn text(&mut self, text: &str) -> StringId {
        self.snapshot.strings.intern(text)
    }

    /// The id of a frame. `line` counts from 1; 0 = unknown.
    pub fn frame(&mut self, name: &str, filename: &str, line: u32) -> FrameId {
        let name = self.text(name);
        let filename = self.text(filename);
        let fx = None;
        self.snapshot.frames.intern(Frame {
            name,
            filename,
            line,
            fx,
        })
    }

    /// The id of a stack, innermost frame first.
    pub fn stack(&mut self, frames: &[FrameId]) -> StackId {
        let rows: Vec<u32> = frames.iter().map(|frame| frame.0).collect();
        self.snapshot.stacks.intern(&rows)
    }

    /// The id of a context.
    pub fn context(&mut self, context: Context) -> ContextId {
        self.snapshot.contexts.intern(context)
    }

    /// Adds an event to the current trace.
    pub fn event(&mut self, event: Event) {
        self.snapshot.events.push(event);
    }

    /// Ends the trace of a device. The first call ends device 0's, the next device 1's, and so on.
    pub fn end_device_trace(&mut self) {
        let rows = self.trace_rows();
        self.snapshot.traces.push(rows);
    }

    /// Ends the trace of pinned host memory.
    pub fn end_host_trace(&mut self) {
        self.snapshot.host_trace = self.trace_rows();
    }

    fn trace_rows(&mut self) -> std::ops::Range<u32> {
        let first = self.first_event;
        self.first_event = self.snapshot.events.len() as u32;
        first..self.first_event
    }

    /// Adds a block to the current segment. Blocks must come by address and leave no gap.
    pub fn block(&mut self, block: Block) {
        self.snapshot.blocks.rows.push(block);
    }

    /// Ends a segment, and fills in its blocks and sums. Segments must come by device and then by address.
    pub fn end_segment(&mut self, segment: Segment) {
        let segment = self.with_blocks(segment);
        self.snapshot.segments.rows.push(segment);
    }

    /// Ends a segment of pinned host memory, whose device is -1.
    pub fn end_host_segment(&mut self, segment: Segment) {
        let segment = self.with_blocks(segment);
        self.snapshot.host_segments.rows.push(segment);
    }

    fn with_blocks(&mut self, mut segment: Segment) -> Segment {
        let table = &self.snapshot.blocks;
        segment.blocks = self.first_block..table.len() as u32;
        self.first_block = table.len() as u32;
        let (mut allocated, mut active, mut requested) = (0_u64, 0_u64, 0_u64);
        for block in segment.block_ids().map(|id| table.get(id)) {
            if block.state == BlockState::ActiveAllocated {
                allocated = allocated.saturating_add(block.size);
            }
            if block.state.is_active() {
                active = active.saturating_add(block.size);
                requested = requested.saturating_add(table.requested_bytes(block));
            }
        }
        segment.allocated_size = Some(allocated);
        segment.active_size = Some(active);
        segment.requested_size = Some(requested);
        segment
    }

    /// Adds a mark of a named range.
    pub fn annotation(&mut self, annotation: Annotation) {
        self.snapshot.annotations.rows.push(annotation);
    }

    /// Adds a key of our own to the top level.
    pub fn extra(&mut self, key: &str, value: serde_json::Value) {
        self.snapshot.extras.insert(key.to_owned(), value);
    }

    /// Finishes the snapshot. Broken invariants become warnings.
    #[must_use]
    pub fn finish(self) -> Snapshot {
        let mut snapshot = self.snapshot;
        snapshot.keys = keys();
        snapshot.producer = producer::of(&snapshot);
        invariants::check(&mut snapshot);
        snapshot
    }
}

/// The keys that torch 2.14 always writes.
fn keys() -> KeysSeen {
    let bits = |keys: &[Key]| keys.iter().fold(0, |bits, key| bits | key.bit());
    KeysSeen {
        top: bits(&[
            Key::Segments,
            Key::DeviceTraces,
            Key::AllocatorSettings,
            Key::ExternalAnnotations,
            Key::HostSegments,
            Key::HostTraces,
        ]),
        segment: bits(&[
            Key::Device,
            Key::Address,
            Key::TotalSize,
            Key::AllocatedSize,
            Key::ActiveSize,
            Key::RequestedSize,
            Key::Stream,
            Key::SegmentType,
            Key::SegmentPoolId,
            Key::IsExpandable,
            Key::Frames,
            Key::Blocks,
        ]),
        block: bits(&[
            Key::Address,
            Key::Size,
            Key::RequestedSize,
            Key::State,
            Key::Frames,
        ]),
        event: bits(&[
            Key::Action,
            Key::Addr,
            Key::Size,
            Key::Stream,
            Key::TimeUs,
            Key::CompileContext,
            Key::UserMetadata,
            Key::PoolId,
            Key::Frames,
        ]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::{difference, encode};
    use crate::model::{Action, PoolId, SegmentKind};

    fn block(address: u64, size: u64, state: BlockState, stack: StackId) -> Block {
        Block {
            address,
            size,
            requested_size: Some(if state.is_active() { size - 1 } else { 0 }),
            state,
            stack,
            forward_lines: None,
            history: None,
        }
    }

    #[test]
    fn what_is_built_is_read_back() {
        let mut builder = Builder::default();
        let frame = builder.frame("main", "main.rs", 3);
        let stack = builder.stack(&[frame]);
        let context = builder.context(Context {
            stream: 2,
            pool: Some(PoolId(0, 0)),
            ..Context::default()
        });
        builder.end_device_trace();
        for (action, addr, size) in [
            (Action::SegmentAlloc, 1 << 40, 1024),
            (Action::Alloc, 1 << 40, 511),
        ] {
            builder.event(Event {
                action,
                addr,
                size,
                time_us: 7,
                context,
                stack,
            });
        }
        builder.end_device_trace();
        builder.block(block(1 << 40, 512, BlockState::ActiveAllocated, stack));
        let rest = (1 << 40) + 512;
        builder.block(block(rest, 512, BlockState::Inactive, StackId::EMPTY));
        builder.end_segment(Segment {
            device: 1,
            address: 1 << 40,
            total_size: 1024,
            allocated_size: None,
            active_size: None,
            requested_size: None,
            stream: Some(2),
            kind: Some(SegmentKind::Large),
            pool: Some(PoolId(0, 0)),
            is_expandable: Some(false),
            stack,
            blocks: 0..0,
        });
        let snapshot = builder.finish();
        assert!(snapshot.warnings.is_empty(), "{:?}", snapshot.warnings);
        assert_eq!(snapshot.traces, [0..0, 0..2]);
        assert_eq!(snapshot.segments.rows[0].requested_size, Some(511));
        let mut bytes = Vec::new();
        encode(&snapshot, &mut bytes).unwrap();
        let again = crate::decode(bytes.as_slice()).unwrap();
        assert_eq!(difference(&snapshot, &again), None);
        assert_eq!(again.keys.segment, snapshot.keys.segment);
    }
}
