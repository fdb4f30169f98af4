//! Records one device's [`Heap`] as torch does: trace entries with times,
//! stacks and the sharing of their list objects, handed to a [`Sink`] one by one.

use crate::allocator::{Arena, Heap, HeapOptions, OutOfMemory, SegmentEvent, SegmentEventKind};
use crate::snapshot::{Action, PoolId, StackRef, Text, TraceEntry};

/// Takes the entries of a trace in order.
pub trait Sink {
    /// Takes the next entry.
    fn entry(&mut self, entry: &TraceEntry);
}

impl Sink for Vec<TraceEntry> {
    fn entry(&mut self, entry: &TraceEntry) {
        self.push(entry.clone());
    }
}

/// Counts entries without keeping them, for the first pass of a generator that streams.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counter(pub usize);

impl Sink for Counter {
    fn entry(&mut self, _entry: &TraceEntry) {
        self.0 += 1;
    }
}

/// A live allocation, as the program that made it knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// Start address.
    pub addr: u64,
    /// Requested bytes.
    pub bytes: u64,
    /// Stream handle.
    pub stream: i64,
    pub pool: PoolId,
    /// The list object of its stack.
    pub frames: Option<StackRef>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Bytes.
    pub bytes: u64,
    /// Stream handle.
    pub stream: i64,
    pub pool: PoolId,
    /// The stack's content, by its number in the stack table.
    pub stack: Option<u32>,
}

impl Request {
    /// A request on the default stream and pool.
    #[must_use]
    pub fn new(bytes: u64, stack: u32) -> Self {
        Self {
            bytes,
            stack: Some(stack),
            ..Self::default()
        }
    }
}

/// One device being recorded.
#[derive(Debug)]
pub struct Recorder<S> {
    pub heap: Heap,
    pub sink: S,
    /// The time of the next entry, in microseconds since the Unix epoch.
    pub clock_us: i64,
    /// The `compile_context` of the entries to come.
    pub compile_context: Text,
    /// The `user_metadata` of the entries to come.
    pub user_metadata: Text,
    /// Number of entries recorded so far.
    pub entries: usize,
    /// The number of the next stack list; devices of one snapshot must not share numbers.
    pub next_list: u32,
    segment_events: Vec<SegmentEvent>,
}

impl<S: Sink> Recorder<S> {
    /// A recorder over an empty heap. Its stack lists count from `first_list`: devices of one
    /// snapshot must not share numbers.
    pub fn new(options: HeapOptions, sink: S, first_list: u32) -> Self {
        Self {
            heap: Heap::new(options),
            sink,
            clock_us: 1_767_000_000_000_000,
            compile_context: Text::Borrowed("N/A"),
            user_metadata: Text::Borrowed(""),
            entries: 0,
            next_list: first_list,
            segment_events: Vec::new(),
        }
    }

    /// A new list object with the content of `stack`.
    pub fn new_list(&mut self, stack: u32) -> StackRef {
        let list = self.next_list;
        self.next_list += 1;
        StackRef { list, stack }
    }

    /// Allocates, and records changes to segments and then the allocation.
    ///
    /// # Errors
    /// When the device is full; the `oom` entry is recorded then.
    pub fn alloc(&mut self, request: Request) -> Result<Allocation, OutOfMemory> {
        let frames = request.stack.map(|stack| self.new_list(stack));
        let arena = Arena::of(request.bytes, request.stream, request.pool);
        let mut events = std::mem::take(&mut self.segment_events);
        let placed = self.heap.malloc(request.bytes, arena, frames, &mut events);
        for event in events.drain(..) {
            self.segment(event, frames);
        }
        self.segment_events = events;
        let Request {
            bytes,
            stream,
            pool,
            ..
        } = request;
        let place = (stream, pool);
        match placed {
            Ok(addr) => {
                self.record(Action::Alloc, addr, bytes, place, frames);
                Ok(Allocation {
                    addr,
                    bytes,
                    stream,
                    pool,
                    frames,
                })
            }
            Err(full) => {
                let free = full.device_free_bytes;
                self.record(Action::Oom, free, full.rounded_bytes, place, frames);
                Err(full)
            }
        }
    }

    /// Frees without waiting: records the request and its completion, both with the allocation's own list.
    pub fn free(&mut self, a: Allocation) {
        self.free_from(a, None);
    }

    /// Frees without waiting. With a stack, both entries share a new list of it (`enabled="all"`).
    pub fn free_from(&mut self, a: Allocation, stack: Option<u32>) {
        let frames = stack.map(|stack| self.new_list(stack)).or(a.frames);
        self.heap.complete_free(a.addr);
        let place = (a.stream, a.pool);
        self.record(Action::FreeRequested, a.addr, a.bytes, place, frames);
        self.record_now(Action::FreeCompleted, a.addr, a.bytes, place, frames);
    }

    /// Requests the free of a block that another stream still uses.
    pub fn request_free(&mut self, a: Allocation) {
        self.heap.request_free(a.addr);
        self.record(
            Action::FreeRequested,
            a.addr,
            a.bytes,
            (a.stream, a.pool),
            a.frames,
        );
    }

    /// Completes a requested free, since the other stream no longer uses the block. With `enabled="all"` the
    /// entry carries the stack that polled: pass it, else the allocation's own list is shared.
    pub fn complete_free(&mut self, a: Allocation, polled_from: Option<StackRef>) {
        self.heap.complete_free(a.addr);
        let frames = polled_from.or(a.frames);
        self.record(
            Action::FreeCompleted,
            a.addr,
            a.bytes,
            (a.stream, a.pool),
            frames,
        );
    }

    /// Returns all cached memory to the driver (`torch.cuda.empty_cache`).
    pub fn empty_cache(&mut self) {
        let mut events = std::mem::take(&mut self.segment_events);
        self.heap.empty_cache(&mut events);
        for event in events.drain(..) {
            self.segment(event, None);
        }
        self.segment_events = events;
    }

    /// Records that a snapshot was taken.
    pub fn snapshot(&mut self) {
        let active = self.heap.active();
        self.record(Action::Snapshot, 0, active, (0, (0, 0)), None);
    }

    /// Records a note on a live allocation.
    pub fn annotate(&mut self, a: Allocation, note: impl Into<Text>) {
        let note = std::mem::replace(&mut self.user_metadata, note.into());
        self.record(Action::Annotate, a.addr, a.bytes, (a.stream, a.pool), None);
        self.user_metadata = note;
    }

    /// Records a change to a segment.
    pub fn segment(&mut self, event: SegmentEvent, frames: Option<StackRef>) {
        let action = match event.kind {
            SegmentEventKind::Alloc => Action::SegmentAlloc,
            SegmentEventKind::Free => Action::SegmentFree,
            SegmentEventKind::Map => Action::SegmentMap,
            SegmentEventKind::Unmap => Action::SegmentUnmap,
        };
        let place = (event.arena.stream, event.arena.pool);
        self.record(
            action,
            event.addr,
            event.size,
            place,
            frames.or(event.frames),
        );
    }

    /// Records an entry, one microsecond after the last.
    pub fn record(
        &mut self,
        action: Action,
        addr: u64,
        size: u64,
        place: (i64, PoolId),
        frames: Option<StackRef>,
    ) {
        self.clock_us += 1;
        self.record_now(action, addr, size, place, frames);
    }

    fn record_now(
        &mut self,
        action: Action,
        addr: u64,
        size: u64,
        (stream, pool): (i64, PoolId),
        frames: Option<StackRef>,
    ) {
        let entry = TraceEntry {
            stream,
            pool,
            frames,
            time_us: Some(self.clock_us),
            compile_context: self.compile_context.clone(),
            user_metadata: self.user_metadata.clone(),
            ..TraceEntry::new(action, addr, size)
        };
        self.entries += 1;
        self.sink.entry(&entry);
    }
}
