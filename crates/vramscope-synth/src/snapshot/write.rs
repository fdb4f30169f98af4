//! Writes snapshots as a given producer would: at once, or piece by piece for files too large
//! for memory.

use std::io::{self, Write};

use super::extras::{annotations, settings};
use super::words::Word;
use super::{
    Action, Block, BlockState, Frame, History, PoolId, Producer, Segment, Snapshot, StackRef,
    StackTable, Text, TraceEntry,
};
use crate::pickle::{Dialect, OpenList, Pickler, ShareId};

const SPACE_FRAMES: u8 = 1;
const SPACE_LISTS: u8 = 2;
const SPACE_OTHERS: u8 = 3;
/// The shared empty list, written for unknown stacks.
const EMPTY_LIST: ShareId = ShareId::new(SPACE_OTHERS, 0);
/// Containers that the C++ producer holds in variables, so that its pickler memoizes them.
pub(super) const fn held(index: u32) -> ShareId {
    ShareId::new(SPACE_OTHERS, 1 + index)
}

/// Options of writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteOptions {
    /// The producer whose keys are written.
    pub producer: Producer,
    /// The pickler whose opcodes are written.
    pub dialect: Dialect,
    /// Write the list of segments alone, as `torch.cuda.memory_snapshot()` returns it. Always so
    /// for torch 1.13.
    pub is_segment_list: bool,
}

impl WriteOptions {
    /// The defaults of `producer`.
    #[must_use]
    pub fn new(producer: Producer) -> Self {
        let dialect = producer.default_dialect();
        Self {
            producer,
            dialect,
            is_segment_list: !producer.since(2, 0) && producer.is_legacy(),
        }
    }

    /// The same in another Python protocol; the C++ pickler knows only its own.
    #[must_use]
    pub fn protocol(mut self, protocol: u8) -> Self {
        if self.dialect != Dialect::Cpp {
            self.dialect = Dialect::Python(protocol);
        }
        self
    }
}

impl Snapshot {
    /// Writes this snapshot to `out` and returns the sink.
    ///
    /// # Errors
    /// When the sink refuses bytes.
    pub fn write<W: Write>(&self, options: &WriteOptions, out: W) -> io::Result<W> {
        write_parts(self, options, self.device_traces.len(), out, |p, device| {
            let entries = &self.device_traces[device];
            let mut trace = TraceWriter::begin(p, *options, &self.stacks, entries.len())?;
            for entry in entries {
                trace.entry(entry)?;
            }
            trace.end()
        })
    }

    /// Writes this snapshot into a buffer.
    #[must_use]
    pub fn to_pickle(&self, options: &WriteOptions) -> Vec<u8> {
        // A Vec takes every byte.
        self.write(options, Vec::new()).unwrap_or_default()
    }
}

/// Writes a snapshot whose traces come from a function instead of from `head.device_traces`, for
/// files too large for memory. `trace(pickler, device)` must write one trace with [`TraceWriter`].
///
/// # Errors
/// When the sink refuses bytes, or `trace` fails.
pub fn write_parts<W, F>(
    head: &Snapshot,
    options: &WriteOptions,
    devices: usize,
    out: W,
    mut trace: F,
) -> io::Result<W>
where
    W: Write,
    F: FnMut(&mut Pickler<W>, usize) -> io::Result<()>,
{
    let mut pickler = Pickler::new(out, options.dialect);
    let file = File {
        options: *options,
        stacks: &head.stacks,
    };
    if options.is_segment_list {
        file.segments(&mut pickler, None, &head.segments, false)?;
        return pickler.finish();
    }
    let keys = top_level_keys(options.producer);
    pickler.dict(Some(held(0)), keys, |p, &key| {
        p.shared_str(key.id(), key.text())?;
        match key {
            Word::DeviceTraces => p.list(Some(held(1)), 0..devices, &mut trace),
            Word::AllocatorSettings => settings(p, options.producer, &head.settings),
            Word::ExternalAnnotations => annotations(p, &head.external_annotations),
            Word::HostSegments => file.segments(p, Some(held(2)), &head.host_segments, true),
            Word::HostTraces => p.list(Some(held(3)), &head.host_traces, |p, entry| {
                file.entry(p, entry)
            }),
            _ => file.segments(p, Some(held(4)), &head.segments, false),
        }
    })?;
    pickler.finish()
}

/// One device's trace being written, entry by entry.
#[derive(Debug)]
pub struct TraceWriter<'a, W> {
    p: &'a mut Pickler<W>,
    file: File<'a>,
    list: Option<OpenList>,
}

impl<'a, W: Write> TraceWriter<'a, W> {
    /// Begins a trace, which must get exactly `length` entries.
    ///
    /// # Errors
    /// When the sink refuses bytes.
    pub fn begin(
        p: &'a mut Pickler<W>,
        options: WriteOptions,
        stacks: &'a StackTable,
        length: usize,
    ) -> io::Result<Self> {
        let list = p.begin_list(None, length)?;
        Ok(Self {
            p,
            file: File { options, stacks },
            list,
        })
    }

    /// Writes the next entry.
    ///
    /// # Errors
    /// When the sink refuses bytes.
    pub fn entry(&mut self, entry: &TraceEntry) -> io::Result<()> {
        if let Some(list) = &mut self.list {
            self.p.next_item(list);
        }
        self.file.entry(self.p, entry)
    }

    /// Ends the trace.
    ///
    /// # Errors
    /// When not exactly the announced number of entries was written.
    pub fn end(self) -> io::Result<()> {
        self.list.map_or(Ok(()), |list| self.p.end_list(&list))
    }
}

/// The options of the file, and the stacks that its rows refer to.
#[derive(Clone, Copy, Debug)]
struct File<'a> {
    options: WriteOptions,
    stacks: &'a StackTable,
}

impl File<'_> {
    fn segments<W: Write>(
        &self,
        p: &mut Pickler<W>,
        share: Option<ShareId>,
        segments: &[Segment],
        is_host: bool,
    ) -> io::Result<()> {
        p.list(share, segments, |p, segment| {
            self.segment(p, segment, is_host)
        })
    }

    fn segment<W: Write>(&self, p: &mut Pickler<W>, s: &Segment, is_host: bool) -> io::Result<()> {
        let producer = self.options.producer;
        let mut row = Fields::new();
        row.int(Word::Device, s.device);
        row.push(self.address(Word::Address, s.address));
        row.int(Word::TotalSize, s.total_size);
        if producer == Producer::Profile {
            row.int(Word::Stream, s.stream);
            row.push(Field::Blocks(s));
            return self.fields(p, &row);
        }
        row.int(Word::AllocatedSize, s.allocated_size());
        row.int(Word::ActiveSize, s.active_size());
        if producer != Producer::Python(1, 13) {
            // The requested size of a host segment is its size, even if the segment is unused.
            let requested = if is_host {
                s.total_size
            } else {
                s.requested_size()
            };
            row.int(Word::RequestedSize, requested);
        }
        row.int(Word::Stream, s.stream);
        row.push(Field::Word(
            Word::SegmentType,
            if s.is_small { Word::Small } else { Word::Large },
        ));
        if producer.is_legacy() {
            row.push(Field::Blocks(s));
            return self.fields(p, &row);
        }
        row.push(Field::Pool(Word::SegmentPoolId, s.pool));
        row.push(Field::Bool(Word::IsExpandable, s.is_expandable));
        // Python sets the shared empty list at once, and appends a real one after the blocks.
        let is_last = s.frames.is_some() && producer != Producer::Cpp;
        if !is_last {
            row.push(Field::Stack(s.frames));
        }
        row.push(Field::Blocks(s));
        if is_last {
            row.push(Field::Stack(s.frames));
        }
        self.fields(p, &row)
    }

    fn block<W: Write>(&self, p: &mut Pickler<W>, block: &Block) -> io::Result<()> {
        let producer = self.options.producer;
        let state = Field::Word(
            Word::State,
            match block.state {
                BlockState::ActiveAllocated => Word::ActiveAllocated,
                BlockState::ActivePendingFree => Word::ActivePendingFree,
                BlockState::Inactive => Word::Inactive,
            },
        );
        let mut row = Fields::new();
        if producer == Producer::Profile {
            row.int(Word::Size, block.size);
            row.push(state);
            if block.state.is_active() {
                row.int(Word::RequestedSize, block.requested_size);
                row.push(Field::Stack(block.frames));
            }
            return self.fields(p, &row);
        }
        if !producer.is_legacy() {
            row.push(self.address(Word::Address, block.address));
        }
        row.int(Word::Size, block.size);
        if producer != Producer::Python(1, 13) {
            row.int(Word::RequestedSize, block.requested_size);
        }
        row.push(state);
        if !producer.is_legacy() {
            row.push(Field::Stack(block.frames));
        } else if block.state.is_active() || !block.history.is_empty() {
            row.push(Field::History(block));
        }
        self.fields(p, &row)
    }

    fn history<W: Write>(&self, p: &mut Pickler<W>, block: &Block) -> io::Result<()> {
        let derived = [History {
            addr: block.address,
            real_size: block.requested_size,
            frames: block.frames,
        }];
        let history = if block.history.is_empty() {
            &derived[..]
        } else {
            &block.history
        };
        p.list(None, history, |p, tenant| {
            let mut row = Fields::new();
            row.push(self.address(Word::Addr, tenant.addr));
            row.int(Word::RealSize, tenant.real_size);
            if tenant.frames.is_some() {
                row.push(Field::Stack(tenant.frames));
            }
            self.fields(p, &row)
        })
    }

    #[inline]
    fn entry<W: Write>(&self, p: &mut Pickler<W>, e: &TraceEntry) -> io::Result<()> {
        let producer = self.options.producer;
        let mut row = Fields::new();
        match action_word(&e.action) {
            Ok(word) => row.push(Field::Word(Word::Action, word)),
            Err(text) => row.push(Field::Fresh(Word::Action, text)),
        }
        if e.action == Action::Oom {
            row.int(Word::DeviceFree, e.addr);
        } else {
            row.push(self.address(Word::Addr, e.addr));
        }
        row.int(Word::Size, e.size);
        row.int(Word::Stream, e.stream);
        let time = e
            .time_us
            .filter(|_| producer.since(2, 2) || producer == Producer::Xpu);
        if producer != Producer::Cpp
            && let Some(time) = time
        {
            row.int(Word::TimeUs, time);
        }
        if producer.since(2, 8) {
            row.push(Field::Fresh(Word::CompileContext, &e.compile_context));
        }
        if producer.since(2, 10) {
            row.push(Field::Fresh(Word::UserMetadata, &e.user_metadata));
        }
        if producer.since(2, 15) && !e.internal_metadata.is_empty() {
            row.push(Field::Fresh(Word::InternalMetadata, &e.internal_metadata));
        }
        if producer == Producer::Cpp
            && let Some(time) = time
        {
            row.int(Word::TimeUs, time);
        }
        if producer.since(2, 12) {
            row.push(Field::Pool(Word::PoolId, e.pool));
        }
        if e.frames.is_some() {
            row.push(Field::Stack(e.frames));
        }
        if producer.since(2, 11) && !e.forward_frames.is_empty() {
            row.push(Field::Lines(Word::ForwardFrames, &e.forward_frames));
        }
        if producer == Producer::Profile
            && let Some(category) = &e.category
        {
            row.push(Field::Fresh(Word::Category, category));
        }
        self.fields(p, &row)
    }

    /// An address, signed or unsigned as the producer writes it.
    #[inline]
    fn address(&self, key: Word, address: u64) -> Field<'static> {
        if self.options.producer.has_signed_addresses() {
            Field::Int(key, (address as i64).into())
        } else {
            Field::Int(key, address.into())
        }
    }

    #[inline]
    fn fields<W: Write>(&self, p: &mut Pickler<W>, row: &Fields<'_>) -> io::Result<()> {
        p.dict(None, &row.items[..row.length], |p, field| {
            self.field(p, field)
        })
    }

    #[inline]
    fn field<W: Write>(&self, p: &mut Pickler<W>, field: &Field<'_>) -> io::Result<()> {
        let key = field.key();
        p.shared_str(key.id(), key.text())?;
        match *field {
            Field::Int(_, value) => p.int(value),
            Field::Word(_, word) => p.shared_str(word.id(), word.text()),
            Field::Fresh(_, text) => p.str(text),
            Field::Bool(_, value) => p.bool(value),
            Field::Pool(_, (a, b)) => p.tuple(None, [a, b], |p, x| p.int(x.into())),
            Field::Stack(stack) => self.stack(p, stack),
            Field::Lines(_, lines) => p.list(None, lines, |p, line| p.str(line)),
            Field::Blocks(s) => p.list(None, &s.blocks, |p, block| self.block(p, block)),
            Field::History(block) => self.history(p, block),
        }
    }

    #[inline]
    fn stack<W: Write>(&self, p: &mut Pickler<W>, stack: Option<StackRef>) -> io::Result<()> {
        let Some(StackRef { list, stack }) = stack else {
            return p.list(Some(EMPTY_LIST), [(); 0], |_, ()| Ok(()));
        };
        let frames = self
            .stacks
            .stacks
            .get(stack as usize)
            .map_or(&[][..], Vec::as_slice);
        p.list(
            Some(ShareId::new(SPACE_LISTS, list)),
            frames,
            |p, &frame| self.frame(p, frame),
        )
    }

    #[inline]
    fn frame<W: Write>(&self, p: &mut Pickler<W>, index: u32) -> io::Result<()> {
        let unknown = Frame::default();
        let frame = self.stacks.frames.get(index as usize).unwrap_or(&unknown);
        let keys = frame_keys(self.options.producer, frame);
        p.dict(Some(ShareId::new(SPACE_FRAMES, index)), keys, |p, &key| {
            p.shared_str(key.id(), key.text())?;
            let fx = frame.fx.as_ref();
            match key {
                Word::Line => p.int(frame.line.into()),
                Word::Name => p.str(&frame.name),
                Word::FxNodeOp => p.str(fx.map_or("", |fx| &fx.node_op)),
                Word::FxNodeName => p.str(fx.map_or("", |fx| &fx.node_name)),
                Word::FxNodeTarget => p.str(fx.map_or("", |fx| &fx.node_target)),
                Word::FxOriginalTrace => p.str(fx.map_or("", |fx| &fx.original_trace)),
                // One constant in the profiler's source, so one object.
                _ if self.options.producer == Producer::Profile => {
                    p.shared_str(Word::None.id(), Word::None.text())
                }
                _ => p.str(&frame.filename),
            }
        })
    }
}

/// One key and its value.
#[derive(Clone, Copy, Debug)]
enum Field<'a> {
    Int(Word, i128),
    Word(Word, Word),
    Fresh(Word, &'a str),
    Bool(Word, bool),
    Pool(Word, PoolId),
    Stack(Option<StackRef>),
    Lines(Word, &'a [Text]),
    Blocks(&'a Segment),
    History(&'a Block),
}

impl Field<'_> {
    #[inline]
    fn key(&self) -> Word {
        match *self {
            Self::Int(key, _)
            | Self::Word(key, _)
            | Self::Fresh(key, _)
            | Self::Bool(key, _)
            | Self::Pool(key, _)
            | Self::Lines(key, _) => key,
            Self::Stack(_) => Word::Frames,
            Self::Blocks(_) => Word::Blocks,
            Self::History(_) => Word::History,
        }
    }
}

/// The fields of one row, without heap memory, since millions of rows are written.
struct Fields<'a> {
    items: [Field<'a>; 16],
    length: usize,
}

impl<'a> Fields<'a> {
    #[inline]
    fn new() -> Self {
        Self {
            items: [Field::Bool(Word::None, false); 16],
            length: 0,
        }
    }

    /// Appends a field. No row has more than twelve.
    #[inline]
    fn push(&mut self, field: Field<'a>) {
        if let Some(slot) = self.items.get_mut(self.length) {
            *slot = field;
            self.length += 1;
        }
    }

    #[inline]
    fn int(&mut self, key: Word, value: impl Into<i128>) {
        self.push(Field::Int(key, value.into()));
    }
}

/// The word of an action, or its text if it is not one of torch's.
#[inline]
fn action_word(action: &Action) -> Result<Word, &str> {
    Ok(match action {
        Action::Alloc => Word::Alloc,
        Action::FreeRequested => Word::FreeRequested,
        Action::FreeCompleted => Word::FreeCompleted,
        Action::SegmentAlloc => Word::SegmentAlloc,
        Action::SegmentFree => Word::SegmentFree,
        Action::SegmentMap => Word::SegmentMap,
        Action::SegmentUnmap => Word::SegmentUnmap,
        Action::Snapshot => Word::Snapshot,
        Action::Oom => Word::Oom,
        Action::Annotate => Word::Annotate,
        Action::Other(text) => return Err(text),
    })
}

fn top_level_keys(producer: Producer) -> &'static [Word] {
    const ALL: [Word; 6] = [
        Word::Segments,
        Word::DeviceTraces,
        Word::AllocatorSettings,
        Word::ExternalAnnotations,
        Word::HostSegments,
        Word::HostTraces,
    ];
    match producer {
        Producer::Profile => &[Word::DeviceTraces, Word::Segments],
        Producer::Xpu => &ALL[..3],
        _ if producer.since(2, 14) => &ALL,
        _ if producer.since(2, 5) => &ALL[..4],
        _ if producer.since(2, 3) => &ALL[..3],
        _ => &ALL[..2],
    }
}

fn frame_keys(producer: Producer, frame: &Frame) -> &'static [Word] {
    const PLAIN: [Word; 3] = [Word::Name, Word::Filename, Word::Line];
    const FX: [Word; 7] = [
        Word::Name,
        Word::Filename,
        Word::Line,
        Word::FxNodeOp,
        Word::FxNodeName,
        Word::FxNodeTarget,
        Word::FxOriginalTrace,
    ];
    match producer {
        Producer::Profile => &[Word::Filename, Word::Line, Word::Name],
        _ if producer.is_legacy() => &[Word::Filename, Word::Name, Word::Line],
        _ if frame.fx.is_some() && producer.since(2, 10) => &FX,
        _ => &PLAIN,
    }
}
