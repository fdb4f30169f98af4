//! A [`Snapshot`] back into bytes that torch's own tools read.
//!
//! What is written is what torch writes (FORMAT.md 1 and 2.1): pickle protocol 4, keys in torch's
//! order, key texts, frames and stacks shared through the memo. Keys that the decoded file did not
//! have are not added. Decoding the result gives the same snapshot again; [`difference`] says so.
//!
//! Left out: rows that no trace and no list of segments refers to, values of unknown keys below the
//! top level (the decoder does not keep them), and `FRAME`s, which no reader needs.

mod difference;
mod pickler;

use std::io::{self, Write};
use std::ops::Range;

pub use difference::difference;

use crate::decode::Key;
use crate::ids::{EventId, StringId};
use crate::model::{
    Action, Annotation, Block, BlockState, NO_TIME, Segment, SegmentKind, Snapshot, Stage, Tenant,
};
use pickler::Pickler;

/// Writes `snapshot` as a pickle.
///
/// It is written as it goes, with 64 KiB of buffer and four bytes for each distinct text, frame and
/// stack.
///
/// # Errors
/// Those of `out`.
pub fn encode(snapshot: &Snapshot, out: impl Write) -> io::Result<()> {
    let has_addresses = has_addresses(snapshot);
    let mut encoder = Encoder {
        snapshot,
        has_addresses,
        pickler: Pickler::new(snapshot, out)?,
    };
    if snapshot.keys.top == 0 && snapshot.traces.is_empty() {
        encoder.segments(&snapshot.segments.rows)?;
    } else {
        encoder.top()?;
    }
    encoder.pickler.finish()
}

/// Whether blocks get an `address`: where the file had them, or where they are not what a reader
/// would compute from the sizes.
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

struct Encoder<'s, W: Write> {
    snapshot: &'s Snapshot,
    has_addresses: bool,
    pickler: Pickler<'s, W>,
}

impl<W: Write> Encoder<'_, W> {
    /// Whether the file's top level had this key.
    fn had(&self, key: Key) -> bool {
        self.snapshot.keys.top & key.bit() != 0
    }

    fn top(&mut self) -> io::Result<()> {
        let snapshot = self.snapshot;
        self.pickler.open_dict()?;
        self.pickler.key(Key::Segments)?;
        self.segments(&snapshot.segments.rows)?;
        if self.had(Key::DeviceTraces) || !snapshot.traces.is_empty() {
            self.pickler.key(Key::DeviceTraces)?;
            self.list(&snapshot.traces, |encoder, rows| encoder.trace(rows))?;
        }
        if self.had(Key::AllocatorSettings) || !snapshot.settings.is_empty() {
            self.pickler.key(Key::AllocatorSettings)?;
            self.pickler.generic(&snapshot.settings)?;
        }
        if self.had(Key::ExternalAnnotations) || !snapshot.annotations.rows.is_empty() {
            self.pickler.key(Key::ExternalAnnotations)?;
            self.list(&snapshot.annotations.rows, Self::annotation)?;
        }
        if self.had(Key::HostSegments) || !snapshot.host_segments.is_empty() {
            self.pickler.key(Key::HostSegments)?;
            self.segments(&snapshot.host_segments.rows)?;
        }
        if self.had(Key::HostTraces) || !snapshot.host_trace.is_empty() {
            self.pickler.key(Key::HostTraces)?;
            self.trace(&snapshot.host_trace)?;
        }
        for (name, value) in &snapshot.extras {
            self.pickler.generic(name)?;
            self.pickler.generic(value)?;
        }
        self.pickler.close_dict()
    }

    /// A list of what `write` writes for each item.
    fn list<T>(
        &mut self,
        items: &[T],
        mut write: impl FnMut(&mut Self, &T) -> io::Result<()>,
    ) -> io::Result<()> {
        self.pickler.empty_list()?;
        for batch in items.chunks(pickler::BATCH) {
            self.pickler.mark()?;
            for item in batch {
                write(self, item)?;
            }
            self.pickler.appends()?;
        }
        Ok(())
    }

    fn trace(&mut self, rows: &Range<u32>) -> io::Result<()> {
        let rows: Range<usize> = rows.start as usize..rows.end as usize;
        self.pickler.empty_list()?;
        for start in rows.clone().step_by(pickler::BATCH) {
            self.pickler.mark()?;
            for row in start..rows.end.min(start + pickler::BATCH) {
                self.event(EventId::from_index(row))?;
            }
            self.pickler.appends()?;
        }
        Ok(())
    }

    fn event(&mut self, id: EventId) -> io::Result<()> {
        let snapshot = self.snapshot;
        let event = snapshot.events.get(id);
        let context = snapshot.contexts.get(event.context);
        let pickler = &mut self.pickler;
        pickler.open_dict()?;
        pickler.key(Key::Action)?;
        match event.action {
            Action::Other(row) => {
                let name = snapshot.events.other_actions.get(usize::from(row)).copied();
                pickler.text(name.unwrap_or(StringId(0)))?;
            }
            action => pickler.action(action)?,
        }
        let is_oom = event.action == Action::Oom;
        pickler.unsigned(if is_oom { Key::DeviceFree } else { Key::Addr }, event.addr)?;
        pickler.unsigned(Key::Size, event.size)?;
        if snapshot.keys.event & Key::Stream.bit() != 0 || context.stream != 0 {
            pickler.signed(Key::Stream, context.stream)?;
        }
        if event.time_us != NO_TIME {
            pickler.signed(Key::TimeUs, event.time_us)?;
        }
        pickler.optional_text(Key::CompileContext, context.compile_context)?;
        pickler.optional_text(Key::UserMetadata, context.user_metadata)?;
        pickler.optional_text(Key::InternalMetadata, context.internal_metadata)?;
        pickler.optional_pool(Key::PoolId, context.pool)?;
        pickler.frames(event.stack)?;
        pickler.optional_lines(context.forward_lines)?;
        pickler.optional_text(Key::Category, context.category)?;
        pickler.close_dict()
    }

    fn segments(&mut self, rows: &[Segment]) -> io::Result<()> {
        self.list(rows, Self::segment)
    }

    fn segment(&mut self, segment: &Segment) -> io::Result<()> {
        let snapshot = self.snapshot;
        let keys = snapshot.keys.segment;
        let pickler = &mut self.pickler;
        pickler.open_dict()?;
        if keys & Key::Device.bit() != 0 || segment.device != 0 {
            pickler.signed(Key::Device, i64::from(segment.device))?;
        }
        pickler.unsigned(Key::Address, segment.address)?;
        pickler.unsigned(Key::TotalSize, segment.total_size)?;
        pickler.optional_unsigned(Key::AllocatedSize, segment.allocated_size)?;
        pickler.optional_unsigned(Key::ActiveSize, segment.active_size)?;
        pickler.optional_unsigned(Key::RequestedSize, segment.requested_size)?;
        if let Some(stream) = segment.stream {
            pickler.signed(Key::Stream, stream)?;
        }
        if let Some(kind) = segment.kind {
            pickler.key(Key::SegmentType)?;
            match kind {
                SegmentKind::Small => pickler.word("small")?,
                SegmentKind::Large => pickler.word("large")?,
                SegmentKind::Other(name) => pickler.text(name)?,
            }
        }
        pickler.optional_pool(Key::SegmentPoolId, segment.pool)?;
        if let Some(is_expandable) = segment.is_expandable {
            pickler.key(Key::IsExpandable)?;
            pickler.boolean(is_expandable)?;
        }
        // As torch: an empty list of frames stands before the blocks, a stack behind them.
        if !segment.stack.has_frames() {
            pickler.frames(segment.stack)?;
        }
        if keys & Key::Blocks.bit() != 0 || !segment.blocks.is_empty() {
            self.pickler.key(Key::Blocks)?;
            let blocks = segment.blocks.start as usize..segment.blocks.end as usize;
            self.list(
                snapshot.blocks.rows.get(blocks).unwrap_or_default(),
                Self::block,
            )?;
        }
        if segment.stack.has_frames() {
            self.pickler.frames(segment.stack)?;
        }
        self.pickler.close_dict()
    }

    fn block(&mut self, block: &Block) -> io::Result<()> {
        let snapshot = self.snapshot;
        let pickler = &mut self.pickler;
        pickler.open_dict()?;
        if self.has_addresses {
            pickler.unsigned(Key::Address, block.address)?;
        }
        pickler.unsigned(Key::Size, block.size)?;
        pickler.optional_unsigned(Key::RequestedSize, block.requested_size)?;
        pickler.key(Key::State)?;
        match block.state {
            BlockState::ActiveAllocated => pickler.word("active_allocated")?,
            BlockState::ActivePendingFree => pickler.word("active_pending_free")?,
            BlockState::Inactive => pickler.word("inactive")?,
            BlockState::Other(name) => pickler.text(name)?,
        }
        pickler.frames(block.stack)?;
        pickler.optional_lines(block.forward_lines)?;
        if block.history.is_some() {
            self.pickler.key(Key::History)?;
            self.list(snapshot.blocks.tenants(block), Self::tenant)?;
        }
        self.pickler.close_dict()
    }

    fn tenant(&mut self, tenant: &Tenant) -> io::Result<()> {
        let pickler = &mut self.pickler;
        pickler.open_dict()?;
        pickler.optional_unsigned(Key::Addr, tenant.address)?;
        pickler.unsigned(Key::RealSize, tenant.real_size)?;
        pickler.frames(tenant.stack)?;
        pickler.close_dict()
    }

    fn annotation(&mut self, annotation: &Annotation) -> io::Result<()> {
        let pickler = &mut self.pickler;
        pickler.open_dict()?;
        pickler.key(Key::Stage)?;
        match annotation.stage {
            Stage::Start => pickler.word("START")?,
            Stage::End => pickler.word("END")?,
            Stage::Other(name) => pickler.text(name)?,
        }
        pickler.key(Key::Name)?;
        pickler.text(annotation.name)?;
        pickler.signed(Key::Device, i64::from(annotation.device))?;
        if annotation.time_us != NO_TIME {
            pickler.signed(Key::TimeUs, annotation.time_us)?;
        }
        pickler.close_dict()
    }
}
