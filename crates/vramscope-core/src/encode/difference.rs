//! Compares the content of two snapshots, regardless of row numbers.

use std::cell::RefCell;
use std::collections::HashSet;
use std::ops::Range;

use crate::ids::{ContextId, EventId, FrameId, StackId, StringId};
use crate::model::{
    Block, BlockState, Context, LinesId, NO_TIME, Segment, SegmentKind, Snapshot, Stage, Tenant,
};

/// The first place at which two snapshots differ in content; `None` if they are equal.
///
/// Row numbers, the order of interned tables, source, producer and warnings are ignored.
#[must_use]
pub fn difference(left: &Snapshot, right: &Snapshot) -> Option<String> {
    let both = Both {
        left,
        right,
        equal_stacks: RefCell::default(),
    };
    both.traces()
        .or_else(|| both.trace("host_traces", &left.host_trace, &right.host_trace))
        .or_else(|| both.segments("segments", &left.segments.rows, &right.segments.rows))
        .or_else(|| {
            both.segments(
                "host_segments",
                &left.host_segments.rows,
                &right.host_segments.rows,
            )
        })
        .or_else(|| both.annotations())
        .or_else(|| unequal("allocator_settings", &left.settings, &right.settings))
        .or_else(|| unequal("extras", &left.extras, &right.extras))
}

fn unequal<T: PartialEq + std::fmt::Debug>(place: &str, left: &T, right: &T) -> Option<String> {
    (left != right).then(|| format!("{place}: {left:?} != {right:?}"))
}

struct Both<'s> {
    left: &'s Snapshot,
    right: &'s Snapshot,
    /// Pairs of stacks that were compared and are equal. Many events share a stack, and frames are compared as text.
    equal_stacks: RefCell<HashSet<(StackId, StackId)>>,
}

impl Both<'_> {
    fn traces(&self) -> Option<String> {
        let (left, right) = (&self.left.traces, &self.right.traces);
        unequal("number of devices", &left.len(), &right.len()).or_else(|| {
            (0..)
                .zip(left.iter().zip(right))
                .find_map(|(device, (left, right)): (usize, _)| {
                    self.trace(&format!("device_traces[{device}]"), left, right)
                })
        })
    }

    fn trace(&self, place: &str, left: &Range<u32>, right: &Range<u32>) -> Option<String> {
        unequal(
            &format!("{place}: number of events"),
            &left.len(),
            &right.len(),
        )
        .or_else(|| {
            left.clone()
                .zip(right.clone())
                .enumerate()
                .find_map(|(index, (left, right))| {
                    self.event(EventId(left), EventId(right))
                        .map(|what| format!("{place}[{index}].{what}"))
                })
        })
    }

    fn event(&self, left_id: EventId, right_id: EventId) -> Option<String> {
        let (left, right) = (
            self.left.events.get(left_id),
            self.right.events.get(right_id),
        );
        let names = (
            self.left.action_name(left_id),
            self.right.action_name(right_id),
        );
        unequal("action", &names.0, &names.1)
            .or_else(|| unequal("addr", &left.addr, &right.addr))
            .or_else(|| unequal("size", &left.size, &right.size))
            .or_else(|| unequal("time_us", &left.time_us, &right.time_us))
            .or_else(|| self.context(left.context, right.context))
            .or_else(|| self.stack(left.stack, right.stack))
    }

    fn context(&self, left: ContextId, right: ContextId) -> Option<String> {
        let (left, right) = (self.left.contexts.get(left), self.right.contexts.get(right));
        let text = |key, of: fn(&Context) -> Option<StringId>| {
            let left = of(left).map(|id| self.left.strings.get(id));
            unequal(key, &left, &of(right).map(|id| self.right.strings.get(id)))
        };
        unequal("stream", &left.stream, &right.stream)
            .or_else(|| unequal("pool_id", &left.pool, &right.pool))
            .or_else(|| text("compile_context", |context| context.compile_context))
            .or_else(|| text("user_metadata", |context| context.user_metadata))
            .or_else(|| text("internal_metadata", |context| context.internal_metadata))
            .or_else(|| text("category", |context| context.category))
            .or_else(|| self.lines(left.forward_lines, right.forward_lines))
    }

    fn lines(&self, left: Option<LinesId>, right: Option<LinesId>) -> Option<String> {
        unequal(
            "forward_frames",
            &lines(self.left, left),
            &lines(self.right, right),
        )
    }

    fn stack(&self, left: StackId, right: StackId) -> Option<String> {
        if self.equal_stacks.borrow().contains(&(left, right)) {
            return None;
        }
        let found = self.frames(left, right);
        if found.is_none() {
            self.equal_stacks.borrow_mut().insert((left, right));
        }
        found
    }

    fn frames(&self, left: StackId, right: StackId) -> Option<String> {
        unequal(
            "frames: absent",
            &(left == StackId::ABSENT),
            &(right == StackId::ABSENT),
        )
        .or_else(|| {
            let left: Vec<_> = self
                .left
                .stacks
                .frames(left)
                .map(|id| frame(self.left, id))
                .collect();
            let right: Vec<_> = self
                .right
                .stacks
                .frames(right)
                .map(|id| frame(self.right, id))
                .collect();
            unequal("frames", &left, &right)
        })
    }

    fn segments(&self, place: &str, left: &[Segment], right: &[Segment]) -> Option<String> {
        unequal(&format!("number of {place}"), &left.len(), &right.len()).or_else(|| {
            left.iter()
                .zip(right)
                .enumerate()
                .find_map(|(index, (left, right))| {
                    self.segment(left, right)
                        .map(|what| format!("{place}[{index}].{what}"))
                })
        })
    }

    fn segment(&self, left: &Segment, right: &Segment) -> Option<String> {
        let kind = |snapshot: &Snapshot, segment: &Segment| {
            segment.kind.map(|kind| match kind {
                SegmentKind::Small => "small".to_owned(),
                SegmentKind::Large => "large".to_owned(),
                SegmentKind::Other(id) => snapshot.strings.get(id).to_owned(),
            })
        };
        // Fields without ids are compared together.
        let bare = |segment: &Segment| Segment {
            kind: None,
            stack: StackId::ABSENT,
            blocks: 0..segment.blocks.len() as u32,
            ..segment.clone()
        };
        unequal("fields", &bare(left), &bare(right))
            .or_else(|| {
                unequal(
                    "segment_type",
                    &kind(self.left, left),
                    &kind(self.right, right),
                )
            })
            .or_else(|| self.stack(left.stack, right.stack))
            .or_else(|| {
                left.block_ids()
                    .zip(right.block_ids())
                    .enumerate()
                    .find_map(|(index, (left, right))| {
                        let (left, right) =
                            (self.left.blocks.get(left), self.right.blocks.get(right));
                        self.block(left, right)
                            .map(|what| format!("blocks[{index}].{what}"))
                    })
            })
    }

    fn block(&self, left: &Block, right: &Block) -> Option<String> {
        let fields = |block: &Block| {
            (
                block.address,
                block.size,
                block.requested_size,
                block.history.is_some(),
            )
        };
        let state = |snapshot: &Snapshot, block: &Block| match block.state {
            BlockState::Other(id) => snapshot.strings.get(id).to_owned(),
            state => format!("{state:?}"),
        };
        let tenants = |snapshot: &Snapshot, block: &Block| snapshot.blocks.tenants(block).to_vec();
        let (left_tenants, right_tenants) = (tenants(self.left, left), tenants(self.right, right));
        unequal("fields", &fields(left), &fields(right))
            .or_else(|| unequal("state", &state(self.left, left), &state(self.right, right)))
            .or_else(|| self.stack(left.stack, right.stack))
            .or_else(|| self.lines(left.forward_lines, right.forward_lines))
            .or_else(|| unequal("history", &left_tenants.len(), &right_tenants.len()))
            .or_else(|| {
                let pairs = left_tenants.iter().zip(&right_tenants);
                pairs
                    .into_iter()
                    .find_map(|(left, right)| self.tenant(left, right))
            })
    }

    fn tenant(&self, left: &Tenant, right: &Tenant) -> Option<String> {
        let fields = |tenant: &Tenant| (tenant.address, tenant.real_size);
        unequal("history", &fields(left), &fields(right))
            .or_else(|| self.stack(left.stack, right.stack))
    }

    fn annotations(&self) -> Option<String> {
        unequal(
            "external_annotations",
            &annotations(self.left),
            &annotations(self.right),
        )
    }
}

fn lines(snapshot: &Snapshot, id: Option<LinesId>) -> Option<Vec<&str>> {
    let lines = snapshot.contexts.forward_lines(id);
    id.map(|_| lines.map(|id| snapshot.strings.get(id)).collect())
}

/// Name, file, line and fx texts.
fn frame(snapshot: &Snapshot, id: FrameId) -> (&str, &str, u32, [&str; 4]) {
    let text = |id| snapshot.strings.get(id);
    let frame = snapshot.frames.get(id);
    let fx = frame.fx.map_or([""; 4], |fx| {
        [fx.op, fx.name, fx.target, fx.original_trace].map(text)
    });
    (text(frame.name), text(frame.filename), frame.line, fx)
}

/// The annotations, with texts in place of ids.
fn annotations(snapshot: &Snapshot) -> Vec<impl PartialEq + std::fmt::Debug + use<'_>> {
    let text = |id| snapshot.strings.get(id);
    let rows = snapshot.annotations.rows.iter();
    let rows = rows.map(|row| {
        let stage = match row.stage {
            Stage::Start => "START",
            Stage::End => "END",
            Stage::Other(id) => text(id),
        };
        let time_us = (row.time_us != NO_TIME).then_some(row.time_us);
        (
            (stage, text(row.name), row.device, time_us),
            (row.range, row.thread, row.domain.map(text)),
            (row.stream, row.colour),
            (row.category.map(text), row.payload.map(text)),
        )
    });
    rows.collect()
}
