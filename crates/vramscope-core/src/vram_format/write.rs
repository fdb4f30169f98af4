//! Writes a snapshot's tables as numbers and texts.

use std::io::{self, BufWriter, Write};
use std::ops::Range;

use super::about::About;
use super::{FIRST_OTHER_ACTION, VERSION};
use crate::Snapshot;
use crate::container::PACKED;
use crate::ids::{ContextId, FrameId, StackId, StringId};
use crate::model::{
    Action, Annotation, Block, BlockState, Context, EventTable, Frame, LinesId, PoolId, Segment,
    SegmentKind, Stage, Tenant,
};

/// Writes `snapshot` as a packed file, not compressed.
///
/// # Errors
/// Those of `out`.
pub fn write(snapshot: &Snapshot, out: impl Write) -> io::Result<()> {
    let mut to = Writer {
        out: BufWriter::new(out),
    };
    to.out.write_all(PACKED)?;
    to.out.write_all(&[VERSION])?;
    to.text(&serde_json::to_string(&About::of(snapshot))?)?;
    let strings = &snapshot.strings;
    to.list(1..strings.len(), |to, row| {
        to.text(strings.get(StringId::from_index(row)))
    })?;
    let frames = &snapshot.frames;
    to.list(0..frames.len(), |to, row| {
        to.frame(frames.get(FrameId::from_index(row)))
    })?;
    let stacks = &snapshot.stacks;
    to.list(1..stacks.len(), |to, row| {
        to.list(stacks.frames(StackId::from_index(row)), |to, frame| {
            to.row(frame.0)
        })
    })?;
    let contexts = &snapshot.contexts;
    to.list(0..contexts.forward.len() as u32, |to, row| {
        let lines = contexts.forward.lines(Some(LinesId::of_row(row)));
        to.list(lines, |to, line| to.row(line.0))
    })?;
    to.list(contexts.rows().iter(), Writer::context)?;
    to.events(&snapshot.events)?;
    to.list(snapshot.traces.iter(), Writer::range)?;
    to.range(&snapshot.host_trace)?;
    to.list(snapshot.blocks.tenants.iter(), Writer::tenant)?;
    let mut end = 0;
    to.list(snapshot.blocks.rows.iter(), |to, block| {
        to.block(block, &mut end)
    })?;
    to.list(snapshot.segments.rows.iter(), Writer::segment)?;
    to.list(snapshot.host_segments.rows.iter(), Writer::segment)?;
    to.list(snapshot.annotations.rows.iter(), Writer::annotation)?;
    to.out.flush()
}

struct Writer<W: Write> {
    out: BufWriter<W>,
}

impl<W: Write> Writer<W> {
    fn number(&mut self, mut number: u64) -> io::Result<()> {
        while number >= 0x80 {
            self.out.write_all(&[number as u8 | 0x80])?;
            number >>= 7;
        }
        self.out.write_all(&[number as u8])
    }

    /// Zigzag: small numbers of either sign are short.
    fn signed(&mut self, number: i64) -> io::Result<()> {
        self.number(((number << 1) ^ (number >> 63)) as u64)
    }

    fn difference(&mut self, number: u64, before: u64) -> io::Result<()> {
        self.signed(number.wrapping_sub(before) as i64)
    }

    fn row(&mut self, row: u32) -> io::Result<()> {
        self.number(row.into())
    }

    fn row_or_none(&mut self, row: Option<u32>) -> io::Result<()> {
        self.number(row.map_or(0, |row| u64::from(row) + 1))
    }

    fn stack(&mut self, stack: StackId) -> io::Result<()> {
        self.row_or_none((stack != StackId::ABSENT).then_some(stack.0))
    }

    fn text(&mut self, text: &str) -> io::Result<()> {
        self.number(text.len() as u64)?;
        self.out.write_all(text.as_bytes())
    }

    fn range(&mut self, range: &Range<u32>) -> io::Result<()> {
        self.row(range.start)?;
        self.number(range.len() as u64)
    }

    fn option<T>(
        &mut self,
        value: Option<T>,
        mut write: impl FnMut(&mut Self, T) -> io::Result<()>,
    ) -> io::Result<()> {
        self.number(value.is_some().into())?;
        value.map_or(Ok(()), |value| write(self, value))
    }

    fn list<T>(
        &mut self,
        items: impl ExactSizeIterator<Item = T>,
        mut write: impl FnMut(&mut Self, T) -> io::Result<()>,
    ) -> io::Result<()> {
        self.number(items.len() as u64)?;
        for item in items {
            write(self, item)?;
        }
        Ok(())
    }

    fn frame(&mut self, frame: &Frame) -> io::Result<()> {
        self.row(frame.name.0)?;
        self.row(frame.filename.0)?;
        self.row(frame.line)?;
        self.option(frame.fx, |to, fx| {
            for text in [fx.op, fx.name, fx.target, fx.original_trace] {
                to.row(text.0)?;
            }
            Ok(())
        })
    }

    fn pool(&mut self, PoolId(first, second): PoolId) -> io::Result<()> {
        self.number(first)?;
        self.number(second)
    }

    fn context(&mut self, context: &Context) -> io::Result<()> {
        self.signed(context.stream)?;
        self.option(context.pool, Self::pool)?;
        for text in [
            context.compile_context,
            context.user_metadata,
            context.internal_metadata,
            context.category,
        ] {
            self.row_or_none(text.map(|id| id.0))?;
        }
        self.lines(context.forward_lines)
    }

    fn lines(&mut self, lines: Option<LinesId>) -> io::Result<()> {
        self.row_or_none(lines.map(|id| id.index() as u32))
    }

    fn events(&mut self, events: &EventTable) -> io::Result<()> {
        self.list(events.other_actions.iter(), |to, name| to.row(name.0))?;
        self.list(events.action.iter(), |to, action| {
            to.number(match action {
                Action::Other(row) => FIRST_OTHER_ACTION + u64::from(*row),
                known => place_of(*known),
            })
        })?;
        let mut before = 0;
        for &addr in &events.addr {
            self.difference(addr, before)?;
            before = addr;
        }
        for &size in &events.size {
            self.number(size)?;
        }
        self.number((!events.time_us.is_empty()).into())?;
        before = 0;
        for time_us in events.time_us.iter() {
            self.difference(time_us as u64, before)?;
            before = time_us as u64;
        }
        for &ContextId(row) in &events.context {
            self.row(row)?;
        }
        for &stack in &events.stack {
            self.stack(stack)?;
        }
        Ok(())
    }

    fn tenant(&mut self, tenant: &Tenant) -> io::Result<()> {
        self.option(tenant.address, Self::number)?;
        self.number(tenant.real_size)?;
        self.stack(tenant.stack)
    }

    /// `end` is the end of the previous block, where this one usually begins.
    fn block(&mut self, block: &Block, end: &mut u64) -> io::Result<()> {
        self.difference(block.address, *end)?;
        *end = block.address.wrapping_add(block.size);
        self.number(block.size)?;
        self.option(block.requested_size, Self::number)?;
        match block.state {
            BlockState::ActiveAllocated => self.number(0)?,
            BlockState::ActivePendingFree => self.number(1)?,
            BlockState::Inactive => self.number(2)?,
            BlockState::Other(id) => self.number(3 + u64::from(id.0))?,
        }
        self.stack(block.stack)?;
        self.lines(block.forward_lines)?;
        // Blocks may share tenants (torch 1.13). Each one is listed, so that the work of reading is proportional to the
        // file.
        self.option(block.history.clone(), |to, rows| {
            to.row(rows.start)?;
            to.list(rows, Self::row)
        })
    }

    fn segment(&mut self, segment: &Segment) -> io::Result<()> {
        self.signed(segment.device.into())?;
        self.number(segment.address)?;
        self.number(segment.total_size)?;
        for size in [
            segment.allocated_size,
            segment.active_size,
            segment.requested_size,
        ] {
            self.option(size, Self::number)?;
        }
        self.option(segment.stream, Self::signed)?;
        self.option(segment.kind, |to, kind| match kind {
            SegmentKind::Small => to.number(0),
            SegmentKind::Large => to.number(1),
            SegmentKind::Other(id) => to.number(2 + u64::from(id.0)),
        })?;
        self.option(segment.pool, Self::pool)?;
        self.option(segment.is_expandable, |to, is| to.number(is.into()))?;
        self.stack(segment.stack)?;
        self.range(&segment.blocks)
    }

    fn annotation(&mut self, annotation: &Annotation) -> io::Result<()> {
        match annotation.stage {
            Stage::Start => self.number(0)?,
            Stage::End => self.number(1)?,
            Stage::Other(id) => self.number(2 + u64::from(id.0))?,
        }
        self.row(annotation.name.0)?;
        self.signed(annotation.device.into())?;
        self.signed(annotation.time_us)?;
        self.option(annotation.range, Self::number)?;
        self.option(annotation.thread, Self::number)?;
        self.row_or_none(annotation.domain.map(|domain| domain.0))?;
        self.option(annotation.stream, Self::signed)?;
        self.option(annotation.colour.map(u64::from), Self::number)?;
        self.row_or_none(annotation.category.map(|category| category.0))?;
        self.row_or_none(annotation.payload.map(|payload| payload.0))
    }
}

/// The number of a known action.
fn place_of(action: Action) -> u64 {
    let known = Action::known().iter();
    known.take_while(|(known, _)| *known != action).count() as u64
}
