//! The state and the history of a recording as a snapshot: the keys of torch 2.14, and `capture` for what it has no
//! keys for.

mod about;
mod stacks;

use std::collections::HashMap;

use vramscope_core::Snapshot;
use vramscope_core::analysis::capture::Ended;
use vramscope_core::build::Builder;
use vramscope_core::ids::{ContextId, StackId, StringId};
use vramscope_core::model::{Annotation, Block, BlockState, Context, Event, PoolId, SegmentKind};

use crate::model::{Entry, Keeping, Place, ROUNDING_BYTES, Recording, Segment, Space, Trace};
use crate::reader::Header;
use crate::symbols::Symbols;
use stacks::Stacks;

/// What is to be said beside a snapshot.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// Records read.
    pub records: u64,
    /// Calls of the driver among them.
    pub events: u64,
    /// Records that found no room in the log.
    pub dropped_records: u64,
    /// What was odd, in words: also in the snapshot, as `capture.notes`.
    pub notes: Vec<String>,
}

impl Recording {
    /// The snapshot of what was recorded until now, to which `header` belongs. Each distinct stack that it shows is
    /// given to `symbols` once.
    #[must_use]
    pub fn snapshot(
        &self,
        header: &Header,
        ended: Ended,
        symbols: &mut dyn Symbols,
    ) -> (Snapshot, Report) {
        let mut making = Making {
            recording: self,
            stacks: Stacks::new(&self.names, symbols),
            builder: Builder::default(),
            contexts: HashMap::new(),
            last_context: None,
        };
        making.traces();
        making.segments();
        making.annotations();
        let mut notes = about::notes(self, header);
        notes.extend(making.stacks.notes());
        let about = about::about(self, header, ended, &notes);
        making.builder.extra("capture", about);
        let report = Report {
            records: self.counts.records,
            events: self.counts.events,
            dropped_records: header.dropped_records,
            notes,
        };
        (making.builder.finish(), report)
    }
}

/// A snapshot as far as it is made.
struct Making<'r> {
    recording: &'r Recording,
    stacks: Stacks<'r>,
    builder: Builder,
    contexts: HashMap<ContextKey, ContextId>,
    last_context: Option<(ContextKey, ContextId)>,
}

/// Stream, pool, and the text of an annotation.
type ContextKey = (u64, u32, u32);

impl Making<'_> {
    fn traces(&mut self) {
        let journal = &self.recording.journal;
        for trace in &journal.devices {
            self.trace(trace);
            self.builder.end_device_trace();
        }
        self.trace(&journal.host);
        self.builder.end_host_trace();
    }

    fn trace(&mut self, trace: &Trace) {
        for entry in trace.entries.iter().filter(|entry| !entry.is_undone) {
            let event = Event {
                action: entry.action,
                addr: entry.address,
                size: entry.bytes,
                time_us: entry.time_us,
                context: self.context(entry),
                stack: self.stacks.of(&mut self.builder, entry.by),
            };
            self.builder.event(event);
        }
    }

    fn context(&mut self, entry: &Entry) -> ContextId {
        let key = (entry.stream, entry.pool, entry.note);
        if let Some((last, id)) = self.last_context
            && last == key
        {
            return id;
        }
        let id = match self.contexts.get(&key) {
            Some(&id) => id,
            None => {
                let text = self.recording.names.text(entry.note);
                let context = Context {
                    stream: entry.stream as i64,
                    pool: Some(self.recording.device.pools.get(entry.pool).id),
                    compile_context: Some(self.builder.text("N/A")),
                    user_metadata: Some(self.builder.text(text)),
                    ..Context::default()
                };
                let id = self.builder.context(context);
                self.contexts.insert(key, id);
                id
            }
        };
        self.last_context = Some((key, id));
        id
    }

    fn segments(&mut self) {
        let recording = self.recording;
        let only = recording.options.device;
        let mut segments: Vec<_> = recording.device.segments.iter().collect();
        // By device, and within one by address as before.
        segments.sort_by_key(|(_, segment)| segment.place);
        let is_wanted = |segment: &Segment| match (segment.place, only) {
            (Place::Device(device), Some(only)) => u32::from(device) == only,
            _ => true,
        };
        segments.retain(|(_, segment)| is_wanted(segment));
        // What is mapped side by side is one segment.
        let is_one = |a: &(&u64, &Segment), b: &(&u64, &Segment)| {
            let are_mapped = [a.1, b.1].map(|it| matches!(it.keeping, Keeping::Mapped(_)));
            are_mapped == [true, true] && a.1.place == b.1.place && a.1.end == *b.0
        };
        for run in segments.chunk_by(is_one) {
            if let [(start, first), ..] = run
                && let Some((_, last)) = run.last()
            {
                let segment = self.segment(**start, last.end, first, &recording.device);
                self.builder.end_segment(segment);
            }
        }
        for (&start, segment) in &recording.host.segments {
            let segment = self.segment(start, segment.end, segment, &recording.host);
            self.builder.end_host_segment(segment);
        }
    }

    /// A segment, after its blocks.
    fn segment(
        &mut self,
        start: u64,
        end: u64,
        segment: &Segment,
        space: &Space,
    ) -> vramscope_core::model::Segment {
        let is_expandable = matches!(segment.keeping, Keeping::Mapped(_));
        let mut free_from = start;
        let mut blocks = space.blocks.range(start..end).peekable();
        while let Some((&address, block)) = blocks.next() {
            self.gap(free_from, address);
            let bytes = block.end - address;
            let room = blocks.peek().map_or(end, |&(&next, _)| next) - address;
            let is_exact = is_expandable || block.is_part || segment.place == Place::Host;
            let size = match bytes.checked_next_multiple_of(ROUNDING_BYTES) {
                Some(rounded) if !is_exact => rounded.min(room),
                _ => bytes,
            };
            free_from = address + size;
            let stack = self.stacks.of(&mut self.builder, block.by);
            self.block(address, size, bytes, BlockState::ActiveAllocated, stack);
        }
        self.gap(free_from, end);
        let device = match segment.place {
            Place::Device(device) => i32::from(device),
            Place::Host => -1,
        };
        let pool = match segment.place {
            Place::Device(_) => space.pools.get(segment.pool).id,
            Place::Host => PoolId(0, 0),
        };
        vramscope_core::model::Segment {
            device,
            address: start,
            total_size: end - start,
            allocated_size: None,
            active_size: None,
            requested_size: None,
            stream: Some(segment.stream as i64),
            kind: Some(SegmentKind::Large),
            pool: Some(pool),
            is_expandable: Some(is_expandable),
            stack: self.stacks.of(&mut self.builder, segment.by),
            blocks: 0..0,
        }
    }

    /// The free block from … to, if there is anything between them.
    fn gap(&mut self, from: u64, to: u64) {
        if from < to {
            self.block(from, to - from, 0, BlockState::Inactive, StackId::EMPTY);
        }
    }

    fn block(&mut self, address: u64, size: u64, requested: u64, state: BlockState, by: StackId) {
        self.builder.block(Block {
            address,
            size,
            requested_size: Some(requested),
            state,
            stack: by,
            forward_lines: None,
            history: None,
        });
    }

    fn annotations(&mut self) {
        let names = &self.recording.names;
        for mark in &self.recording.annotations.marks {
            let domain = names.text(mark.domain);
            let domain: Option<StringId> = (!domain.is_empty()).then(|| self.builder.text(domain));
            let annotation = Annotation {
                stage: mark.stage,
                name: self.builder.text(names.text(mark.name)),
                device: mark.device,
                time_us: mark.time_us,
                range: Some(mark.range),
                thread: Some(u64::from(mark.thread)),
                domain,
            };
            self.builder.annotation(annotation);
        }
    }
}
