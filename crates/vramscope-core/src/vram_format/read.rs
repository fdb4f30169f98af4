//! Reads the tables of a packed snapshot, and checks every number.

mod events;

use std::collections::BTreeSet;
use std::ops::Range;

use super::VERSION;
use super::about::{About, complete_keys};
use crate::budget::Budget;
use crate::container::{Counters, Input, PACKED};
use crate::decode::{MOST_DEVICES, Unread};
use crate::ids::{StackId, StringId};
use crate::model::{
    Annotation, Block, BlockState, ContainerKind, Context, Frame, FxNode, LinesId, PoolId, Segment,
    SegmentKind, Snapshot, Stage, Tenant, WarningKind,
};
use crate::{Error, ErrorKind, Limits};

/// Values between two checks of memory and progress.
const LOOK_EVERY: usize = 1 << 14;

/// Most heap bytes that a byte of JSON can become: `[` is a vector.
const JSON_BYTES: u64 = 32;

/// Receives the number of events read so far.
type OnProgress<'a> = &'a mut dyn FnMut(u64) -> Result<(), ErrorKind>;

/// Reads a packed snapshot. Its source is the original's with [`ContainerKind::Packed`] before it.
///
/// # Errors
/// If the data is damaged or exceeds `limits`, with the offset and the table.
pub(crate) fn read(unread: Unread<'_>) -> Result<Snapshot, Error> {
    let Unread {
        input,
        limits,
        counters,
        on_events,
        ..
    } = unread;
    let mut reader = Reader {
        input: Input::new(input),
        limits: &limits,
        counters,
        budget: Budget::new(limits, None),
        on_progress: on_events,
        version: VERSION,
        table: "",
        snapshot: Snapshot::default(),
        until_look: LOOK_EVERY,
    };
    match reader.snapshot() {
        Ok(()) => {
            let mut snapshot = reader.snapshot;
            snapshot.source.containers.insert(0, ContainerKind::Packed);
            Ok(snapshot)
        }
        Err(kind) => Err(Error {
            offset: reader.input.offset(),
            path: reader.table.to_owned(),
            containers: vec![ContainerKind::Packed],
            ..kind.into()
        }),
    }
}

type Result<T, E = ErrorKind> = std::result::Result<T, E>;

struct Reader<'a, 'i> {
    input: Input<'i>,
    limits: &'a Limits,
    counters: &'a Counters,
    budget: Budget,
    on_progress: OnProgress<'a>,
    version: u8,
    table: &'static str,
    snapshot: Snapshot,
    until_look: usize,
}

impl Reader<'_, '_> {
    fn snapshot(&mut self) -> Result<()> {
        self.head()?;
        self.about()?;
        self.table("strings", Self::string)?;
        self.table("frames", Self::frame)?;
        self.table("stacks", Self::frames)?;
        self.table("forward_frames", Self::line_list)?;
        self.table("contexts", Self::context)?;
        self.events()?;
        self.traces()?;
        self.table("history", Self::tenant)?;
        self.blocks()?;
        self.segments()?;
        self.table("external_annotations", Self::annotation)?;
        self.table = "";
        complete_keys(&mut self.snapshot);
        match self.input.drain() {
            Ok(false) => {}
            Ok(true) => self.warn(WarningKind::TrailingBytes),
            // The snapshot itself is complete.
            Err(error) => self.warn(error.behind_snapshot()),
        }
        Ok(())
    }

    fn warn(&mut self, kind: WarningKind) {
        self.snapshot.warnings.add(kind, String::new);
    }

    fn head(&mut self) -> Result<()> {
        if self.input.take(PACKED.len())? != PACKED {
            return Err(ErrorKind::UnknownFormat);
        }
        match self.input.take(1)? {
            &[version @ 1..=VERSION] => {
                self.version = version;
                Ok(())
            }
            version => Err(ErrorKind::NewerPacked(
                version.first().copied().unwrap_or(0),
            )),
        }
    }

    fn about(&mut self) -> Result<()> {
        self.table = "about";
        let length = self.length()?;
        let limit = self.budget.left() / JSON_BYTES;
        if length as u64 > limit {
            let what = "the size in bytes of a packed snapshot's description";
            return Err(ErrorKind::Limit { what, limit });
        }
        let bytes = self.input.take(length)?;
        let about: About =
            serde_json::from_slice(bytes).map_err(|error| malformed(&error.to_string()))?;
        self.snapshot.keys = about.keys();
        self.snapshot.settings = about.settings;
        self.snapshot.extras = about.extras;
        self.snapshot.producer = about.producer;
        self.snapshot.warnings = about.warnings.bounded();
        self.snapshot.source = about.source;
        Ok(())
    }

    /// Reads a count and then that many rows.
    fn table(
        &mut self,
        name: &'static str,
        mut row: impl FnMut(&mut Self) -> Result<()>,
    ) -> Result<()> {
        self.table = name;
        for _ in 0..self.number()? {
            row(self)?;
            self.step()?;
        }
        Ok(())
    }

    /// Checks memory and reports progress from time to time.
    #[inline]
    fn step(&mut self) -> Result<()> {
        self.until_look -= 1;
        if self.until_look > 0 {
            return Ok(());
        }
        self.until_look = LOOK_EVERY;
        let has_records = !self.snapshot.frames.is_empty() || !self.snapshot.contexts.is_empty();
        let read = self.counters.read(self.input.read_bytes(), has_records);
        self.budget.update(read, self.counters.window_bytes.get())?;
        (self.on_progress)(self.snapshot.events.len() as u64)
    }

    #[inline]
    fn number(&mut self) -> Result<u64> {
        let window = match self.input.window() {
            Some(window) => window,
            None => self.input.refilled_window()?,
        };
        let mut number = 0;
        // 64 bits are 9 × 7 bits and one more.
        for (place, &byte) in window.iter().enumerate().take(10) {
            let bits = u64::from(byte & 0x7f);
            if place == 9 && bits > 1 {
                break;
            }
            number |= bits << (7 * place);
            if byte & 0x80 == 0 {
                self.input.advance(place + 1)?;
                return Ok(number);
            }
        }
        Err(malformed("a number has more than 64 bits"))
    }

    fn signed(&mut self) -> Result<i64> {
        let zigzag = self.number()?;
        Ok((zigzag >> 1) as i64 ^ -((zigzag & 1) as i64))
    }

    fn length(&mut self) -> Result<usize> {
        let length = self.number()?;
        if length > self.limits.string_bytes as u64 {
            return Err(ErrorKind::Limit {
                what: "the length of a string in bytes",
                limit: self.limits.string_bytes as u64,
            });
        }
        Ok(length as usize)
    }

    /// Reads a row of a table with `count` rows.
    #[inline]
    fn row(&mut self, count: usize) -> Result<u32> {
        let row = self.number()?;
        row_of(row, count)
    }

    fn row_or_none(&mut self, count: usize) -> Result<Option<u32>> {
        match self.number()? {
            0 => Ok(None),
            more => row_of(more - 1, count).map(Some),
        }
    }

    fn string_id(&mut self) -> Result<StringId> {
        self.row(self.snapshot.strings.len()).map(StringId)
    }

    fn string_or_none(&mut self) -> Result<Option<StringId>> {
        let count = self.snapshot.strings.len();
        Ok(self.row_or_none(count)?.map(StringId))
    }

    #[inline]
    fn stack(&mut self) -> Result<StackId> {
        let row = self.row_or_none(self.snapshot.stacks.len())?;
        Ok(row.map_or(StackId::ABSENT, StackId))
    }

    fn lines(&mut self) -> Result<Option<LinesId>> {
        let row = self.row_or_none(self.snapshot.contexts.forward.len())?;
        Ok(row.map(LinesId::of_row))
    }

    fn small(&mut self) -> Result<u32> {
        let number = self.number()?;
        u32::try_from(number).map_err(|_too_large| malformed("a number has more than 32 bits"))
    }

    fn device(&mut self) -> Result<i32> {
        let number = self.signed()?;
        i32::try_from(number).map_err(|_too_large| malformed("a device has more than 32 bits"))
    }

    fn flag(&mut self) -> Result<bool> {
        match self.number()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(malformed("a flag is neither 0 nor 1")),
        }
    }

    /// Reads a value that is missing in files of older versions.
    fn since<T>(
        &mut self,
        version: u8,
        read: impl FnOnce(&mut Self) -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        if self.version < version {
            return Ok(None);
        }
        read(self)
    }

    fn option<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<Option<T>> {
        self.flag()?.then(|| read(self)).transpose()
    }

    /// Reads a range of rows of a table with `count` rows. `left` is the number of rows that all ranges together may still
    /// cover: rows have one owner, or a small file could cause a lot of work.
    fn range(&mut self, count: usize, left: &mut usize) -> Result<Range<u32>> {
        let (start, length) = (self.number()?, self.number()?);
        let end = start.saturating_add(length);
        if end > count as u64 || length > *left as u64 {
            return Err(malformed("a range of rows goes beyond its table"));
        }
        *left -= length as usize;
        Ok(start as u32..end as u32)
    }
}

impl Reader<'_, '_> {
    fn string(&mut self) -> Result<()> {
        let length = self.length()?;
        let bytes = self.input.take(length)?;
        let text = str::from_utf8(bytes).map_err(|_invalid| malformed("a text is not UTF-8"))?;
        let strings = &mut self.snapshot.strings;
        strings.make_room(length, &mut self.budget)?;
        let next = strings.len();
        is_new(
            strings
                .try_intern(text)
                .is_some_and(|id| id.index() == next),
        )
    }

    fn frame(&mut self) -> Result<()> {
        let frame = Frame {
            name: self.string_id()?,
            filename: self.string_id()?,
            line: self.small()?,
            fx: self.option(|from| {
                Ok(FxNode {
                    op: from.string_id()?,
                    name: from.string_id()?,
                    target: from.string_id()?,
                    original_trace: from.string_id()?,
                })
            })?,
        };
        let frames = &mut self.snapshot.frames;
        frames.make_room(&mut self.budget)?;
        let next = frames.len();
        is_new(frames.intern(frame).index() == next)
    }

    fn frames(&mut self) -> Result<()> {
        let items = self.rows_of(self.snapshot.frames.len())?;
        let stacks = &mut self.snapshot.stacks;
        stacks.make_room(items.len(), &mut self.budget)?;
        let next = stacks.len();
        let is_next = stacks.intern(&items).index() == next;
        self.budget.release(&items);
        is_new(is_next)
    }

    fn line_list(&mut self) -> Result<()> {
        let items = self.rows_of(self.snapshot.strings.len())?;
        let forward = &mut self.snapshot.contexts.forward;
        forward.make_room(items.len(), &mut self.budget)?;
        let next = forward.len();
        let is_next = forward.intern(&items).index() == next;
        self.budget.release(&items);
        is_new(is_next)
    }

    /// Reads a list of rows of a table with `count` rows.
    fn rows_of(&mut self, count: usize) -> Result<Vec<u32>> {
        let length = self.number()?;
        self.list(length, |from| from.row(count))
    }

    /// Reads `length` values, each of which takes at least one byte of the file. The list grows with the bytes read.
    fn list<T>(
        &mut self,
        length: u64,
        mut value: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut list = Vec::new();
        for _ in 0..length {
            let value = value(self)?;
            self.budget.room(&mut list, 1)?;
            list.push(value);
            self.step()?;
        }
        Ok(list)
    }

    fn pool(&mut self) -> Result<PoolId> {
        Ok(PoolId(self.number()?, self.number()?))
    }

    fn context(&mut self) -> Result<()> {
        let context = Context {
            stream: self.signed()?,
            pool: self.option(Self::pool)?,
            compile_context: self.string_or_none()?,
            user_metadata: self.string_or_none()?,
            internal_metadata: self.string_or_none()?,
            category: self.string_or_none()?,
            forward_lines: self.lines()?,
        };
        let contexts = &mut self.snapshot.contexts;
        contexts.make_room(&mut self.budget)?;
        let next = contexts.len();
        is_new(contexts.intern(context).index() == next)
    }

    fn tenant(&mut self) -> Result<()> {
        let tenant = Tenant {
            address: self.option(Self::number)?,
            real_size: self.number()?,
            stack: self.stack()?,
        };
        push(&mut self.budget, &mut self.snapshot.blocks.tenants, tenant)
    }

    fn blocks(&mut self) -> Result<()> {
        let mut end = 0_u64;
        self.table("blocks", |from| {
            let address = end.wrapping_add_signed(from.signed()?);
            let block = from.block(address)?;
            end = address.wrapping_add(block.size);
            push(&mut from.budget, &mut from.snapshot.blocks.rows, block)
        })
    }

    fn block(&mut self, address: u64) -> Result<Block> {
        let size = self.number()?;
        Ok(Block {
            address,
            size,
            requested_size: self.option(Self::number)?,
            state: match self.number()? {
                0 => BlockState::ActiveAllocated,
                1 => BlockState::ActivePendingFree,
                2 => BlockState::Inactive,
                more => BlockState::Other(self.string_of(more - 3)?),
            },
            stack: self.stack()?,
            forward_lines: self.lines()?,
            history: self.option(Self::history)?,
        })
    }

    /// Reads the tenants of a block: consecutive rows, each of them listed.
    fn history(&mut self) -> Result<Range<u32>> {
        let tenants = self.snapshot.blocks.tenants.len();
        let start = self.small()?;
        if start as usize > tenants {
            return Err(malformed("a block's tenants are beyond their table"));
        }
        let mut rows = start..start;
        for _ in 0..self.number()? {
            if self.row(tenants)? != rows.end {
                return Err(malformed("a block's tenants are not one after another"));
            }
            rows.end += 1;
        }
        Ok(rows)
    }

    fn string_of(&self, row: u64) -> Result<StringId> {
        row_of(row, self.snapshot.strings.len()).map(StringId)
    }

    fn segments(&mut self) -> Result<()> {
        let mut blocks = self.snapshot.blocks.len();
        self.table("segments", |from| {
            let segment = from.segment(&mut blocks)?;
            push(&mut from.budget, &mut from.snapshot.segments.rows, segment)
        })?;
        self.table("host_segments", |from| {
            let segment = from.segment(&mut blocks)?;
            push(
                &mut from.budget,
                &mut from.snapshot.host_segments.rows,
                segment,
            )
        })?;
        let mut devices = BTreeSet::new();
        for segment in &self.snapshot.segments.rows {
            devices.insert(segment.device);
            most_devices(devices.len())?;
        }
        Ok(())
    }

    fn segment(&mut self, blocks_left: &mut usize) -> Result<Segment> {
        Ok(Segment {
            device: self.device()?,
            address: self.number()?,
            total_size: self.number()?,
            allocated_size: self.option(Self::number)?,
            active_size: self.option(Self::number)?,
            requested_size: self.option(Self::number)?,
            stream: self.option(Self::signed)?,
            kind: self.option(|from| {
                Ok(match from.number()? {
                    0 => SegmentKind::Small,
                    1 => SegmentKind::Large,
                    more => SegmentKind::Other(from.string_of(more - 2)?),
                })
            })?,
            pool: self.option(Self::pool)?,
            is_expandable: self.option(Self::flag)?,
            stack: self.stack()?,
            blocks: self.range(self.snapshot.blocks.len(), blocks_left)?,
        })
    }

    fn annotation(&mut self) -> Result<()> {
        let annotation = Annotation {
            stage: match self.number()? {
                0 => Stage::Start,
                1 => Stage::End,
                more => Stage::Other(self.string_of(more - 2)?),
            },
            name: self.string_id()?,
            device: self.device()?,
            time_us: self.signed()?,
            range: self.since(2, |from| from.option(Self::number))?,
            thread: self.since(2, |from| from.option(Self::number))?,
            domain: self.since(2, Self::string_or_none)?,
            stream: self.since(3, |from| from.option(Self::signed))?,
            colour: self.since(3, |from| from.option(|from| Ok(from.number()? as u32)))?,
            category: self.since(3, Self::string_or_none)?,
            payload: self.since(3, Self::string_or_none)?,
        };
        push(
            &mut self.budget,
            &mut self.snapshot.annotations.rows,
            annotation,
        )
    }
}

fn push<T>(budget: &mut Budget, rows: &mut Vec<T>, row: T) -> Result<()> {
    budget.room(rows, 1)?;
    rows.push(row);
    Ok(())
}

fn most_devices(count: usize) -> Result<()> {
    if count > MOST_DEVICES {
        return Err(ErrorKind::Limit {
            what: "the number of devices",
            limit: MOST_DEVICES as u64,
        });
    }
    Ok(())
}

fn row_of(row: u64, count: usize) -> Result<u32> {
    match u32::try_from(row) {
        Ok(row) if (row as usize) < count => Ok(row),
        _ => Err(malformed("a row number is beyond its table")),
    }
}

fn is_new(is_new: bool) -> Result<()> {
    if is_new {
        return Ok(());
    }
    Err(malformed("a row occurs twice in a table of distinct rows"))
}

#[cold]
fn malformed(what: &str) -> ErrorKind {
    ErrorKind::Malformed(format!("the packed snapshot is damaged: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vram_format::write;

    /// Reads a torch 1.13 snapshot that was packed after applying `change`.
    fn reread(change: impl FnOnce(&mut Snapshot), limits: &Limits) -> Result<Snapshot, Error> {
        let file = include_bytes!("../../../../tests/fixtures/legacy/torch_1_13.pickle").as_slice();
        let mut snapshot = crate::decode(file).unwrap();
        change(&mut snapshot);
        let mut packed = Vec::new();
        write(&snapshot, &mut packed).unwrap();
        let counters = Counters::default();
        read(Unread {
            input: Box::new(packed.as_slice()),
            limits: *limits,
            expected_bytes: None,
            counters: &counters,
            on_events: &mut |_| Ok(()),
        })
    }

    #[test]
    fn no_tenants_beyond_their_table_are_refused() {
        let beyond = |snapshot: &mut Snapshot| snapshot.blocks.rows[0].history = Some(100..100);
        let error = reread(beyond, &Limits::default()).err().unwrap();
        assert!(error.to_string().contains("tenants"), "{error}");
    }

    #[test]
    fn lists_count_as_memory_while_they_grow() {
        let limits = Limits {
            free_bytes: 1 << 16,
            ..Limits::default()
        };
        let long = |snapshot: &mut Snapshot| {
            snapshot.stacks.intern(&vec![0; 4 * LOOK_EVERY]);
        };
        let error = reread(long, &limits).err().unwrap();
        assert!(matches!(error.kind, ErrorKind::Limit { .. }), "{error}");
        assert_eq!(error.path, "stacks");
    }
}
