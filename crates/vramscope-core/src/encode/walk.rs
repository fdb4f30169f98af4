//! Visits the parts of a snapshot in the order in which torch writes them.

use std::io;
use std::ops::Range;

use super::sink::{Shared, Sink};
use crate::decode::Key;
use crate::ids::{EventId, FrameId, StackId, StringId};
use crate::model::{
    Action, Annotation, Block, BlockState, DAMAGE_KEY, Frame, FxNode, LinesId, NO_TIME, PoolId,
    Segment, SegmentKind, Snapshot, Stage, Tenant,
};

pub(super) fn write(snapshot: &Snapshot, sink: impl Sink) -> io::Result<()> {
    let mut walker = SnapshotWalker {
        snapshot,
        has_addresses: has_addresses(snapshot),
        sink,
    };
    // A top level that is only a list of segments has no place for damage.
    let is_list = snapshot.keys.top == 0 && snapshot.traces.is_empty();
    if is_list && snapshot.warnings.damage().next().is_none() {
        walker.segments(&snapshot.segments.rows)?;
    } else {
        walker.top()?;
    }
    walker.sink.finish()
}

/// Whether blocks get an `address`: if the file had them, or if a reader would compute others from the sizes.
fn has_addresses(snapshot: &Snapshot) -> bool {
    if snapshot.keys.block & Key::Address.bit() != 0 {
        return true;
    }
    snapshot
        .segments
        .rows
        .iter()
        .chain(&snapshot.host_segments.rows)
        .any(|segment| {
            let mut next = segment.address;
            segment
                .block_ids()
                .map(|id| snapshot.blocks.get(id))
                .any(|block| {
                    let expected = next;
                    next = next.wrapping_add(block.size);
                    block.address != expected
                })
        })
}

struct SnapshotWalker<'s, S> {
    snapshot: &'s Snapshot,
    has_addresses: bool,
    sink: S,
}

impl<S: Sink> SnapshotWalker<'_, S> {
    /// Whether the file's top level had this key.
    fn had(&self, key: Key) -> bool {
        self.snapshot.keys.top & key.bit() != 0
    }

    fn top(&mut self) -> io::Result<()> {
        let snapshot = self.snapshot;
        self.sink.open_dict()?;
        self.sink.key(Key::Segments)?;
        self.segments(&snapshot.segments.rows)?;
        if self.had(Key::DeviceTraces) || !snapshot.traces.is_empty() {
            self.sink.key(Key::DeviceTraces)?;
            self.list(&snapshot.traces, Self::trace)?;
        }
        if self.had(Key::AllocatorSettings) || !snapshot.settings.is_empty() {
            self.sink.key(Key::AllocatorSettings)?;
            self.sink.generic(&snapshot.settings)?;
        }
        if self.had(Key::ExternalAnnotations) || !snapshot.annotations.rows.is_empty() {
            self.sink.key(Key::ExternalAnnotations)?;
            self.list(&snapshot.annotations.rows, Self::annotation)?;
        }
        if self.had(Key::HostSegments) || !snapshot.host_segments.is_empty() {
            self.sink.key(Key::HostSegments)?;
            self.segments(&snapshot.host_segments.rows)?;
        }
        if self.had(Key::HostTraces) || !snapshot.host_trace.is_empty() {
            self.sink.key(Key::HostTraces)?;
            self.trace(&snapshot.host_trace)?;
        }
        for (name, value) in &snapshot.extras {
            self.sink.other_key(name)?;
            self.sink.generic(value)?;
        }
        let damage: Vec<_> = snapshot.warnings.damage().collect();
        if !damage.is_empty() {
            self.sink.other_key(DAMAGE_KEY)?;
            self.sink.generic(&serde_json::to_value(damage)?)?;
        }
        self.sink.close_dict()
    }

    /// Writes a list, with `write` for each item.
    fn list<T>(
        &mut self,
        items: impl IntoIterator<Item = T>,
        write: impl FnMut(&mut Self, T) -> io::Result<()>,
    ) -> io::Result<()> {
        self.sink.open_list()?;
        self.items(items, write)
    }

    /// Writes the items of a list that is already open, and ends it.
    fn items<T>(
        &mut self,
        items: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut Self, T) -> io::Result<()>,
    ) -> io::Result<()> {
        for item in items {
            self.sink.item()?;
            write(self, item)?;
        }
        self.sink.close_list()
    }

    fn trace(&mut self, rows: &Range<u32>) -> io::Result<()> {
        self.list(rows.clone(), |walker, row| walker.event(EventId(row)))
    }

    fn event(&mut self, id: EventId) -> io::Result<()> {
        let snapshot = self.snapshot;
        let event = snapshot.events.get(id);
        let context = snapshot.contexts.get(event.context);
        self.sink.open_dict()?;
        self.sink.key(Key::Action)?;
        match event.action {
            Action::Other(row) => {
                let name = snapshot.events.other_actions.get(usize::from(row)).copied();
                self.sink.text(name.unwrap_or(StringId(0)))?;
            }
            action => self.sink.word(action.name().unwrap_or_default())?,
        }
        let is_oom = event.action == Action::Oom;
        self.unsigned(if is_oom { Key::DeviceFree } else { Key::Addr }, event.addr)?;
        self.unsigned(Key::Size, event.size)?;
        if snapshot.keys.event & Key::Stream.bit() != 0 || context.stream != 0 {
            self.signed(Key::Stream, context.stream)?;
        }
        if event.time_us != NO_TIME {
            self.signed(Key::TimeUs, event.time_us)?;
        }
        self.optional_text(Key::CompileContext, context.compile_context)?;
        self.optional_text(Key::UserMetadata, context.user_metadata)?;
        self.optional_text(Key::InternalMetadata, context.internal_metadata)?;
        self.optional_pool(Key::PoolId, context.pool)?;
        self.frames(event.stack)?;
        self.optional_lines(context.forward_lines)?;
        self.optional_text(Key::Category, context.category)?;
        self.sink.close_dict()
    }

    fn segments(&mut self, rows: &[Segment]) -> io::Result<()> {
        self.list(rows, Self::segment)
    }

    fn segment(&mut self, segment: &Segment) -> io::Result<()> {
        let snapshot = self.snapshot;
        let keys = snapshot.keys.segment;
        self.sink.open_dict()?;
        if keys & Key::Device.bit() != 0 || segment.device != 0 {
            self.signed(Key::Device, i64::from(segment.device))?;
        }
        self.unsigned(Key::Address, segment.address)?;
        self.unsigned(Key::TotalSize, segment.total_size)?;
        self.optional_unsigned(Key::AllocatedSize, segment.allocated_size)?;
        self.optional_unsigned(Key::ActiveSize, segment.active_size)?;
        self.optional_unsigned(Key::RequestedSize, segment.requested_size)?;
        if let Some(stream) = segment.stream {
            self.signed(Key::Stream, stream)?;
        }
        if let Some(kind) = segment.kind {
            self.sink.key(Key::SegmentType)?;
            match kind {
                SegmentKind::Small => self.sink.word("small")?,
                SegmentKind::Large => self.sink.word("large")?,
                SegmentKind::Other(name) => self.sink.text(name)?,
            }
        }
        self.optional_pool(Key::SegmentPoolId, segment.pool)?;
        if let Some(is_expandable) = segment.is_expandable {
            self.sink.key(Key::IsExpandable)?;
            self.sink.boolean(is_expandable)?;
        }
        // torch writes an empty list of frames before the blocks, and any other after them.
        if !segment.stack.has_frames() {
            self.frames(segment.stack)?;
        }
        if keys & Key::Blocks.bit() != 0 || !segment.blocks.is_empty() {
            self.sink.key(Key::Blocks)?;
            let blocks = segment.blocks.start as usize..segment.blocks.end as usize;
            self.list(
                snapshot.blocks.rows.get(blocks).unwrap_or_default(),
                Self::block,
            )?;
        }
        if segment.stack.has_frames() {
            self.frames(segment.stack)?;
        }
        self.sink.close_dict()
    }

    fn block(&mut self, block: &Block) -> io::Result<()> {
        let snapshot = self.snapshot;
        self.sink.open_dict()?;
        if self.has_addresses {
            self.unsigned(Key::Address, block.address)?;
        }
        self.unsigned(Key::Size, block.size)?;
        self.optional_unsigned(Key::RequestedSize, block.requested_size)?;
        self.sink.key(Key::State)?;
        match block.state {
            BlockState::ActiveAllocated => self.sink.word("active_allocated")?,
            BlockState::ActivePendingFree => self.sink.word("active_pending_free")?,
            BlockState::Inactive => self.sink.word("inactive")?,
            BlockState::Other(name) => self.sink.text(name)?,
        }
        self.frames(block.stack)?;
        self.optional_lines(block.forward_lines)?;
        if block.history.is_some() {
            self.sink.key(Key::History)?;
            self.list(snapshot.blocks.tenants(block), Self::tenant)?;
        }
        self.sink.close_dict()
    }

    fn tenant(&mut self, tenant: &Tenant) -> io::Result<()> {
        self.sink.open_dict()?;
        self.optional_unsigned(Key::Addr, tenant.address)?;
        self.unsigned(Key::RealSize, tenant.real_size)?;
        self.frames(tenant.stack)?;
        self.sink.close_dict()
    }

    fn annotation(&mut self, annotation: &Annotation) -> io::Result<()> {
        self.sink.open_dict()?;
        self.sink.key(Key::Stage)?;
        match annotation.stage {
            Stage::Start => self.sink.word("START")?,
            Stage::End => self.sink.word("END")?,
            Stage::Other(name) => self.sink.text(name)?,
        }
        self.sink.key(Key::Name)?;
        self.sink.text(annotation.name)?;
        self.signed(Key::Device, i64::from(annotation.device))?;
        if annotation.time_us != NO_TIME {
            self.signed(Key::TimeUs, annotation.time_us)?;
        }
        self.optional_unsigned(Key::Range, annotation.range)?;
        self.optional_unsigned(Key::Thread, annotation.thread)?;
        if let Some(stream) = annotation.stream {
            self.signed(Key::Stream, stream)?;
        }
        self.optional_unsigned(Key::Color, annotation.colour.map(u64::from))?;
        let texts = [
            (Key::Domain, annotation.domain),
            (Key::Category, annotation.category),
            (Key::Payload, annotation.payload),
        ];
        for (key, text) in texts {
            if let Some(text) = text {
                self.sink.key(key)?;
                self.sink.text(text)?;
            }
        }
        self.sink.close_dict()
    }

    fn signed(&mut self, key: Key, value: i64) -> io::Result<()> {
        self.sink.key(key)?;
        self.sink.integer(value)
    }

    /// Writes an address or size. From 2^63 on it is the negative number with the same bits, as
    /// in torch up to 2.3 and in its C++ producer, because some readers do not accept integers of 9 bytes.
    fn unsigned(&mut self, key: Key, value: u64) -> io::Result<()> {
        self.signed(key, value as i64)
    }

    fn optional_unsigned(&mut self, key: Key, value: Option<u64>) -> io::Result<()> {
        value.map_or(Ok(()), |value| self.unsigned(key, value))
    }

    fn optional_text(&mut self, key: Key, id: Option<StringId>) -> io::Result<()> {
        let Some(id) = id else { return Ok(()) };
        self.sink.key(key)?;
        self.sink.text(id)
    }

    fn optional_pool(&mut self, key: Key, pool: Option<PoolId>) -> io::Result<()> {
        let Some(PoolId(first, second)) = pool else {
            return Ok(());
        };
        self.sink.key(key)?;
        self.sink.pair(first as i64, second as i64)
    }

    /// Writes the key `frames` with a stack, unless the stack is absent.
    fn frames(&mut self, id: StackId) -> io::Result<()> {
        if id == StackId::ABSENT {
            return Ok(());
        }
        self.sink.key(Key::Frames)?;
        if !self.sink.open_shared(Shared::Stack(id))? {
            return Ok(());
        }
        self.items(self.snapshot.stacks.frames(id), Self::frame)
    }

    fn frame(&mut self, id: FrameId) -> io::Result<()> {
        if !self.sink.open_shared(Shared::Frame(id))? {
            return Ok(());
        }
        let &Frame {
            name,
            filename,
            line,
            fx,
        } = self.snapshot.frames.get(id);
        self.optional_text(Key::Name, Some(name))?;
        self.optional_text(Key::Filename, Some(filename))?;
        self.signed(Key::Line, i64::from(line))?;
        if let Some(FxNode {
            op,
            name,
            target,
            original_trace,
        }) = fx
        {
            for (key, text) in [
                (Key::FxNodeOp, op),
                (Key::FxNodeName, name),
                (Key::FxNodeTarget, target),
                (Key::FxOriginalTrace, original_trace),
            ] {
                self.optional_text(key, (text != StringId(0)).then_some(text))?;
            }
        }
        self.sink.close_dict()
    }

    /// Writes `forward_frames`, the preformatted lines of the forward pass's stack, if there are any.
    fn optional_lines(&mut self, lines: Option<LinesId>) -> io::Result<()> {
        let Some(lines) = lines else { return Ok(()) };
        self.sink.key(Key::ForwardFrames)?;
        if !self.sink.open_shared(Shared::Lines(lines))? {
            return Ok(());
        }
        let lines = self.snapshot.contexts.forward_lines(Some(lines));
        self.items(lines, |walker, line| walker.sink.text(line))
    }
}
