//! A memory snapshot as plain structs, and its writer for each producer.
//!
//! The structs hold every key that torch 1.13 to 2.15 writes; [`Producer`] decides which of
//! them reach the file, in what order, and whether addresses are signed. Sizes are bytes, times
//! microseconds since the Unix epoch, addresses unsigned.
//!
//! Stacks carry two numbers: their content and their Python object identity ([`StackRef`]), since
//! real files share some lists by reference and repeat the content of others.

mod extras;
mod producer;
mod profile;
mod words;
mod write;

use std::borrow::Cow;

pub use producer::Producer;
pub use write::{TraceWriter, WriteOptions, write_parts};

/// A text, usually a constant.
pub type Text = Cow<'static, str>;
/// The two halves of a mempool id; `(0, 0)` is the default pool.
pub type PoolId = (u64, u64);

/// A whole snapshot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// Segments by device, then address.
    pub segments: Vec<Segment>,
    /// One trace per device, oldest event first.
    pub device_traces: Vec<Vec<TraceEntry>>,
    /// Allocator settings.
    pub settings: Settings,
    /// `record_function` ranges.
    pub external_annotations: Vec<Annotation>,
    /// Pinned host memory (2.14 and later).
    pub host_segments: Vec<Segment>,
    /// Events of pinned host memory (2.14 and later).
    pub host_traces: Vec<TraceEntry>,
    /// The stacks everything above refers to.
    pub stacks: StackTable,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct StackTable {
    /// Distinct frame *objects*; two may have equal content.
    pub frames: Vec<Frame>,
    /// Stack contents, innermost frame first, as indices into `frames`.
    pub stacks: Vec<Vec<u32>>,
}

impl StackTable {
    /// Adds a frame object and returns its number.
    pub fn add_frame(&mut self, frame: Frame) -> u32 {
        self.frames.push(frame);
        (self.frames.len() - 1) as u32
    }

    /// Adds a stack of frame numbers, innermost first, and returns its number.
    pub fn add_stack(&mut self, frames: Vec<u32>) -> u32 {
        self.stacks.push(frames);
        (self.stacks.len() - 1) as u32
    }
}

/// One stack frame.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    pub name: Text,
    /// Source file; `??` if unknown.
    pub filename: Text,
    /// Line; 0 if unknown.
    pub line: u32,
    /// The keys that `augment_with_fx_traces` adds (2.10 and later).
    pub fx: Option<FxFrame>,
}

impl Frame {
    /// A frame without fx information.
    pub fn new(name: impl Into<Text>, filename: impl Into<Text>, line: u32) -> Self {
        Self {
            name: name.into(),
            filename: filename.into(),
            line,
            fx: None,
        }
    }
}

/// The fx node behind a frame of generated code.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FxFrame {
    /// `fx_node_op`, such as `call_function`.
    pub node_op: Text,
    pub node_name: Text,
    pub node_target: Text,
    /// `fx_original_trace`, several lines.
    pub original_trace: Text,
}

/// A stack list in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StackRef {
    /// The Python list object: a number's list is written once and then referred to.
    pub list: u32,
    /// Its content: an index into [`StackTable::stacks`].
    pub stack: u32,
}

/// A segment: memory obtained from the driver in one piece.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Segment {
    /// Device index; -1 for host memory.
    pub device: i32,
    /// Start address.
    pub address: u64,
    /// Bytes.
    pub total_size: u64,
    /// Handle of the stream that obtained it.
    pub stream: i64,
    /// Whether it serves requests of at most 1 MiB.
    pub is_small: bool,
    pub pool: PoolId,
    /// Whether it is a mapped range of an expandable segment.
    pub is_expandable: bool,
    /// The stack that caused the cudaMalloc; `None` is written as the shared empty list.
    pub frames: Option<StackRef>,
    /// Blocks in address order; they tile the segment.
    pub blocks: Vec<Block>,
}

impl Segment {
    /// Bytes of blocks in state `active_allocated`.
    #[must_use]
    pub fn allocated_size(&self) -> u64 {
        let allocated = self
            .blocks
            .iter()
            .filter(|b| b.state == BlockState::ActiveAllocated);
        allocated.map(|b| b.size).sum()
    }

    /// Bytes of active blocks.
    #[must_use]
    pub fn active_size(&self) -> u64 {
        self.blocks
            .iter()
            .filter(|b| b.state.is_active())
            .map(|b| b.size)
            .sum()
    }

    /// Requested bytes of active blocks.
    #[must_use]
    pub fn requested_size(&self) -> u64 {
        self.blocks
            .iter()
            .filter(|b| b.state.is_active())
            .map(|b| b.requested_size)
            .sum()
    }
}

/// A block: a piece of a segment.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// Start address.
    pub address: u64,
    /// Bytes after rounding.
    pub size: u64,
    /// Bytes asked for; stale in inactive blocks.
    pub requested_size: u64,
    pub state: BlockState,
    /// The allocation's stack; `None` is written as the shared empty list.
    pub frames: Option<StackRef>,
    /// Tenants in the manner of torch 1.13 and 2.0. When empty, those producers derive one entry
    /// for an active block.
    pub history: Vec<History>,
}

/// State of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockState {
    /// In use.
    ActiveAllocated,
    /// Freed by the program while another stream still uses it.
    ActivePendingFree,
    /// Free.
    Inactive,
}

impl BlockState {
    /// Whether the block counts as active.
    #[must_use]
    pub fn is_active(self) -> bool {
        self != Self::Inactive
    }
}

/// One former or present tenant of a block (torch 1.13 and 2.0).
#[derive(Clone, Debug, PartialEq)]
pub struct History {
    /// Start address.
    pub addr: u64,
    /// Requested bytes.
    pub real_size: u64,
    /// Without a stack, the key is left out.
    pub frames: Option<StackRef>,
}

/// An entry of a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceEntry {
    pub action: Action,
    /// Address; for [`Action::Oom`] the free bytes the device reported.
    pub addr: u64,
    /// Bytes.
    pub size: u64,
    /// Stream handle.
    pub stream: i64,
    /// Microseconds since the Unix epoch; `None` leaves the key out.
    pub time_us: Option<i64>,
    pub pool: PoolId,
    /// Without a stack, the key is left out.
    pub frames: Option<StackRef>,
    /// The torch.compile region; `N/A` outside of regions.
    pub compile_context: Text,
    /// The user's text, empty when unset.
    pub user_metadata: Text,
    /// The allocator's own note; empty leaves the key out.
    pub internal_metadata: Text,
    /// Lines of the forward stack; empty leaves the key out.
    pub forward_frames: Vec<Text>,
    /// The memory profiler's category (profile only).
    pub category: Option<Text>,
}

impl Action {
    /// Whether `producer` has this action. The writer does not ask; makers of files that must be
    /// genuine do.
    #[must_use]
    pub fn is_known_to(&self, producer: Producer) -> bool {
        match self {
            Self::Annotate => producer.since(2, 14),
            Self::SegmentMap | Self::SegmentUnmap => {
                producer.since(2, 1) || producer == Producer::Xpu
            }
            Self::Other(_) => false,
            _ => true,
        }
    }
}

impl TraceEntry {
    /// An entry of `action` at `addr` on stream 0, without time or stack.
    #[must_use]
    pub fn new(action: Action, addr: u64, size: u64) -> Self {
        Self {
            action,
            addr,
            size,
            stream: 0,
            time_us: None,
            pool: (0, 0),
            frames: None,
            compile_context: Text::Borrowed("N/A"),
            user_metadata: Text::Borrowed(""),
            internal_metadata: Text::Borrowed(""),
            forward_frames: Vec::new(),
            category: None,
        }
    }
}

/// The action of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// A malloc.
    Alloc,
    /// The program's free.
    FreeRequested,
    /// The block became free.
    FreeCompleted,
    /// A cudaMalloc.
    SegmentAlloc,
    /// A cudaFree.
    SegmentFree,
    /// Memory mapped into an expandable segment.
    SegmentMap,
    /// Memory unmapped from an expandable segment.
    SegmentUnmap,
    /// A snapshot was taken.
    Snapshot,
    /// A malloc failed.
    Oom,
    /// The user named a live allocation.
    Annotate,
    /// Any other action, as other tools write.
    Other(Text),
}

/// One end of a `record_function` range.
#[derive(Clone, Debug, PartialEq)]
pub struct Annotation {
    /// Whether the range begins here.
    pub is_start: bool,
    pub name: Text,
    /// Device index.
    pub device: i32,
    /// Microseconds since the Unix epoch.
    pub time_us: i64,
}

/// Those of the allocator's settings that vary. The others are constants of the writer.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The text of the environment variable.
    pub alloc_conf: Text,
    /// Bytes, -1 for unlimited. The writer takes any integer: some 2.3 builds wrote 2^64 - 1.
    pub max_split_size: i128,
    /// A fraction of the device's memory; 0 for never.
    pub garbage_collection_threshold: f64,
    /// Whether expandable segments are on.
    pub expandable_segments: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            alloc_conf: Text::Borrowed(""),
            max_split_size: -1,
            garbage_collection_threshold: 0.0,
            expandable_segments: false,
        }
    }
}

#[cfg(test)]
mod tests;
