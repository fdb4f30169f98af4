//! Builds a snapshot from a recording.
//!
//! The snapshot has the keys of torch 2.14. Everything that torch has no key for is under `capture` at its top
//! level, which also marks a captured snapshot. Its blocks are the driver's allocations, not those of PyTorch's
//! caching allocator: pools serve all streams, and remedies for PyTorch's allocator do not apply.

mod capture;
mod stacks;

use std::collections::HashMap;

use vramscope_core::Snapshot;
use vramscope_core::analysis::memory::capture::Ended;
use vramscope_core::build::Builder;
use vramscope_core::ids::{ContextId, StackId, StringId};
use vramscope_core::model::{Annotation, Block, BlockState, Context, Event, PoolId, SegmentKind};

use crate::layout::{Attributes, Loss};
use crate::model::{Entry, Location, ROUNDING_BYTES, Recording, Retention, Segment, Space, Trace};
use crate::reader::Header;
use crate::symbols::Symbols;
use stacks::Stacks;

/// Figures and remarks about a conversion, to be printed with the snapshot.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// Number of records read.
    pub records: u64,
    /// Number of driver calls among them.
    pub events: u64,
    /// Number of records lost because the log was full.
    pub dropped_records: u64,
    /// Losses with their counts. Also in the snapshot as `capture.lost`.
    pub lost: Vec<(Loss, u64)>,
    /// Irregularities, as sentences. Also in the snapshot as `capture.notes`.
    pub notes: Vec<String>,
}

impl Recording {
    /// Builds the snapshot of the records pushed so far. `header` is that of their log. Each distinct stack in the
    /// snapshot is passed to `symbols` once.
    #[must_use]
    pub fn snapshot(
        &self,
        header: &Header,
        ended: Ended,
        symbols: &mut dyn Symbols,
    ) -> (Snapshot, Report) {
        let mut snapshot = SnapshotBuilder {
            recording: self,
            stacks: Stacks::new(&self.names, symbols),
            builder: Builder::default(),
            contexts: HashMap::new(),
            last_context: None,
        };
        snapshot.add_traces();
        snapshot.add_segments();
        snapshot.add_annotations();
        let mut notes = capture::notes(self, header);
        notes.extend(snapshot.stacks.notes());
        let capture = capture::capture_value(self, header, ended, &notes);
        snapshot.builder.extra("capture", capture);
        let report = Report {
            records: self.counts.records,
            events: self.counts.events,
            dropped_records: header.dropped_records,
            lost: header.lost().collect(),
            notes,
        };
        (snapshot.builder.finish(), report)
    }
}

struct SnapshotBuilder<'r> {
    recording: &'r Recording,
    stacks: Stacks<'r>,
    builder: Builder,
    contexts: HashMap<ContextKey, ContextId>,
    last_context: Option<(ContextKey, ContextId)>,
}

/// Stream, pool row, and number of the annotation's text.
type ContextKey = (u64, u32, u32);

impl SnapshotBuilder<'_> {
    fn add_traces(&mut self) {
        let journal = &self.recording.journal;
        for trace in &journal.devices {
            self.add_trace(trace);
            self.builder.end_device_trace();
        }
        self.add_trace(&journal.host);
        self.builder.end_host_trace();
    }

    fn add_trace(&mut self, trace: &Trace) {
        for entry in trace.entries.iter().filter(|entry| !entry.is_undone) {
            let event = Event {
                action: entry.action,
                addr: entry.address,
                size: entry.bytes,
                time_us: entry.time_us,
                context: self.intern_context(entry),
                stack: self.stacks.stack_of(&mut self.builder, entry.origin),
            };
            self.builder.event(event);
        }
    }

    fn intern_context(&mut self, entry: &Entry) -> ContextId {
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

    fn add_segments(&mut self) {
        let recording = self.recording;
        let only = recording.options.device;
        let mut segments: Vec<_> = recording.device.segments.iter().collect();
        // Origin device. The sort is stable, so segments of one device stay in order of address.
        segments.sort_by_key(|(_, segment)| segment.location);
        let is_wanted = |segment: &Segment| match (segment.location, only) {
            (Location::Device(device), Some(only)) => u32::from(device) == only,
            _ => true,
        };
        segments.retain(|(_, segment)| is_wanted(segment));
        // Adjacent mappings form one expandable segment, and so do a pool's chunks.
        let pools = &recording.device.pools;
        let place = |it: &Segment| (it.location, it.stream, pools.get(it.pool).id);
        let are_joined = |a: &(&u64, &Segment), b: &(&u64, &Segment)| {
            let is_same = a.1.is_joined() && b.1.is_joined() && place(a.1) == place(b.1);
            is_same && a.1.end == *b.0
        };
        for run in segments.chunk_by(are_joined) {
            if let [(start, first), ..] = run
                && let Some((_, last)) = run.last()
            {
                let segment = self.add_segment(**start, last.end, first, &recording.device);
                self.builder.end_segment(segment);
            }
        }
        for (&start, segment) in &recording.host.segments {
            let segment = self.add_segment(start, segment.end, segment, &recording.host);
            self.builder.end_host_segment(segment);
        }
    }

    /// The segment; adds its blocks first.
    fn add_segment(
        &mut self,
        start: u64,
        end: u64,
        segment: &Segment,
        space: &Space,
    ) -> vramscope_core::model::Segment {
        let is_mapped = matches!(segment.retention, Retention::UntilUnmapped(_));
        let mut free_from = start;
        let mut blocks = space.blocks.range(start..end).peekable();
        while let Some((&address, block)) = blocks.next() {
            self.add_gap(free_from, address);
            let bytes = block.end - address;
            let room = blocks.peek().map_or(end, |&(&next, _)| next) - address;
            let is_exact = is_mapped || block.is_part || segment.location == Location::Host;
            let size = match bytes.checked_next_multiple_of(ROUNDING_BYTES) {
                Some(rounded) if !is_exact => rounded.min(room),
                _ => bytes,
            };
            free_from = address + size;
            let stack = self.stacks.stack_of(&mut self.builder, block.origin);
            self.add_block(address, size, bytes, BlockState::ActiveAllocated, stack);
        }
        self.add_gap(free_from, end);
        let device = match segment.location {
            Location::Device(device) => i32::from(device),
            Location::Host => -1,
        };
        let pool = match segment.location {
            Location::Device(_) => space.pools.get(segment.pool).id,
            Location::Host => PoolId(0, 0),
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
            is_expandable: Some(segment.is_joined()),
            stack: self.stacks.stack_of(&mut self.builder, segment.origin),
            blocks: 0..0,
        }
    }

    /// Adds an inactive block for a free range, if the range is not empty.
    fn add_gap(&mut self, from: u64, to: u64) {
        if from < to {
            self.add_block(from, to - from, 0, BlockState::Inactive, StackId::EMPTY);
        }
    }

    fn add_block(
        &mut self,
        address: u64,
        size: u64,
        requested: u64,
        state: BlockState,
        stack: StackId,
    ) {
        self.builder.block(Block {
            address,
            size,
            requested_size: Some(requested),
            state,
            stack,
            forward_lines: None,
            history: None,
        });
    }

    fn add_annotations(&mut self) {
        let names = &self.recording.names;
        for mark in &self.recording.annotations.marks {
            let domain = names.text(mark.domain);
            let domain: Option<StringId> = (!domain.is_empty()).then(|| self.builder.text(domain));
            let attributes = &mark.attributes;
            let category = names.category(mark.domain, attributes.category);
            let payload = payload(attributes);
            let mut text = |text: Option<String>| text.map(|text| self.builder.text(&text));
            let (category, payload) = (text(category), text(payload));
            let annotation = Annotation {
                stage: mark.stage,
                name: self.builder.text(names.text(mark.name)),
                device: mark.device,
                time_us: mark.time_us,
                range: Some(mark.range),
                thread: Some(u64::from(mark.thread)),
                domain,
                stream: mark.stream.map(|stream| stream as i64),
                colour: (attributes.colour != 0).then_some(attributes.colour),
                category,
                payload,
            };
            self.builder.annotation(annotation);
        }
    }
}

/// The payload of an annotation in digits; `None` without one, or of a type that this version does not know.
fn payload(attributes: &Attributes) -> Option<String> {
    let bits = attributes.payload;
    Some(match attributes.payload_type {
        1 => bits.to_string(),
        2 => (bits as i64).to_string(),
        3 => f64::from_bits(bits).to_string(),
        4 => (bits as u32).to_string(),
        5 => (bits as i32).to_string(),
        6 => f32::from_bits(bits as u32).to_string(),
        _ => return None,
    })
}
