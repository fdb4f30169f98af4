//! The raw log: written by the injected library, read by [`reader`](crate). Version 1, little-endian.
//!
//! ```text
//! <folder>/<pid>-<start time in clock ticks since boot>.raw     sparse, mapped MAP_SHARED by the captured program
//! <folder>/<pid>-<start time>-2.raw …                           of programs that the same process executed later
//!
//!      0  header, one page                           see `header`: magic, version, counters, control words
//!   4096  record  record  record …  zeros            up to `header::WRITE_OFFSET`
//!
//! record   0  u32  payload bytes, not counting the padding
//!          4  u8   kind                              0 until the payload is complete: do not read it yet
//!          5  u8   0
//!          6  u16  check: `record_check(offset)`     identifies the start of a record after an unfinished one
//!          8  payload, then zeros up to a multiple of 8
//! ```
//!
//! A writer reserves room by adding to the write offset. It then writes length and check, then the payload, then the kind
//! (release). So a program that dies at any point leaves complete records and at most one unfinished record per thread. A
//! reader skips an unfinished record by its length. If even the length is missing, it searches for the next word with a
//! valid check.
//!
//! **Order.** Records are in the order in which their room was reserved. A free is written before the driver is called, an
//! allocation after the call returned. So no log shows an address allocated again before its free. Each thread takes the
//! time of an event before it unwinds its stack. Times can therefore be slightly out of order; readers make them ascending.
//!
//! **Names.** The writer numbers texts, stacks and modules, and writes each before the first record that uses its
//! number. The addresses of a stack are return addresses in the modules written *before* it. Where modules overlap,
//! the newest one counts.
//!
//! **Full log.** Records that do not fit are counted in the header. In a log that is not followed, nothing is written after
//! the first of them. In a followed log, writing continues as soon as there is room again, so records are missing in the
//! middle. `CONSUMED_OFFSET` is set by an outside process that has read the records up to there and freed their disk space.
//! The log holds up to `CAPACITY_BYTES` between that offset and the write offset.

/// First bytes of a log.
pub const MAGIC: [u8; 8] = *b"VRAMRAW\0";
/// Version of the layout that this module describes.
pub const VERSION: u32 = 1;
/// Size of the header. The first record follows it.
pub const HEADER_BYTES: u64 = 4096;
/// Size of a record's own header, before its payload.
pub const RECORD_HEADER_BYTES: usize = 8;
/// Record offsets are multiples of this.
pub const RECORD_ALIGNMENT: usize = 8;
/// Maximum payload size. Longer texts and stacks are truncated.
pub const LONGEST_PAYLOAD_BYTES: usize = 1 << 16;

/// Number of counters at [`header::LOSSES`].
pub const MAX_LOSSES: usize = 64;

/// Byte offsets of the header's fields. Fields marked *atomic* change while the program runs.
pub mod header {
    /// `[u8; 8]`: [`MAGIC`](super::MAGIC). Written last, so a file without it has no usable log.
    pub const MAGIC: usize = 0;
    /// `u32`: [`VERSION`](super::VERSION).
    pub const VERSION: usize = 8;
    /// `u32`: one of [`state`](super::state), 0 while the program runs. *Atomic.*
    pub const STATE: usize = 12;
    /// `u64`: bytes of records that the log can hold at a time.
    pub const CAPACITY_BYTES: usize = 16;
    /// `u64`: size of the file, header included.
    pub const FILE_BYTES: usize = 24;
    /// `u64`: file offset of the next record. Can be beyond the last record when the log is full. *Atomic.*
    pub const WRITE_OFFSET: usize = 32;
    /// `u64`: number of records lost because the log was full. *Atomic.*
    pub const DROPPED_RECORDS: usize = 40;
    /// `u64`: records before this offset were consumed by a process outside. *Atomic, written from outside.*
    pub const CONSUMED_OFFSET: usize = 48;
    /// `u32`: 1 while events are recorded, 0 while recording is paused. *Atomic.*
    pub const IS_RECORDING: usize = 56;
    /// `u32`: number of allocations that failed for lack of memory. Lets a process outside notice one without
    /// reading records. *Atomic.*
    pub const OUT_OF_MEMORY_COUNT: usize = 60;
    /// `u64`: process id.
    pub const PROCESS: usize = 64;
    /// `u64`: start time of the process in clock ticks since boot (`/proc/PID/stat`, field 22).
    pub const START_TICKS: usize = 72;
    /// `u32`: 1 more than the process's [`Rank`](crate::rank::Rank) when it started; 0 if it had none. The last word
    /// of the page, so that counters can be added above.
    pub const RANK: usize = 4092;
    /// `u64`: creation time of the log in nanoseconds since the Unix epoch.
    pub const CREATED_NS: usize = 80;
    /// `u32`: number of records of kind [`Dump`](super::Kind::Dump). *Atomic.*
    pub const DUMP_COUNT: usize = 88;
    /// `u64`: end of the part of the file that has disk space; 0 if unknown. The rest was never written, and must not be
    /// read: with a full file system in memory, that raises `SIGBUS` as writing does. *Atomic.*
    pub const BACKED_BYTES: usize = 96;
    /// `[u64; 64]`: for each [`Loss`](super::Loss), how often it happened. The numbers of losses are indices. *Atomic.*
    pub const LOSSES: usize = 512;
}

/// Values of [`header::STATE`].
pub mod state {
    /// The program is running, or died without notice.
    pub const RUNNING: u32 = 0;
    /// The program ended in an orderly way.
    pub const ENDED: u32 = 1;
    /// Recording was switched off for good after an error in the recorder itself.
    pub const FAILED: u32 = 2;
}

/// The check word of a record at this file offset. Distinguishes the start of a record from other data; never 0.
#[must_use]
#[inline]
pub fn record_check(offset: u64) -> u16 {
    // A multiplicative hash: neighbouring offsets differ in all bits.
    ((offset >> 3).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 48) as u16 | 1
}

/// Size of a record with a payload of this size, with header and padding.
#[must_use]
#[inline]
pub fn record_bytes(payload_bytes: usize) -> usize {
    (RECORD_HEADER_BYTES + payload_bytes).next_multiple_of(RECORD_ALIGNMENT)
}

macro_rules! numbered {
    (
        $(#[$meta:meta])*
        pub enum $name:ident { $( $(#[$variant_meta:meta])* $variant:ident = $number:literal, )* }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum $name { $( $(#[$variant_meta])* $variant = $number, )* }

        impl $name {
            /// All variants, in the order of their declaration.
            pub const ALL: &'static [Self] = &[$( Self::$variant, )*];

            /// The variant with this number in a log. `None` if this version has none.
            #[must_use]
            pub fn of_number(number: u8) -> Option<Self> {
                match number {
                    $( $number => Some(Self::$variant), )*
                    _ => None,
                }
            }

            /// The variant's name as declared.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $( Self::$variant => stringify!($variant), )*
                }
            }
        }
    };
}

mod loss;

pub use loss::Loss;

numbered! {
    /// The kind of a record. Determines the payload.
    pub enum Kind {
        /// Texts, each as a `u32` length and UTF-8: the executable's path, then each argument.
        Program = 1,
        /// [`Module`], then the build id, then the path, which may be invalid UTF-8.
        Module = 2,
        /// [`Stack`], then its `u64` return addresses, innermost first.
        Stack = 3,
        /// [`Event`].
        Event = 4,
        /// `u32` number, then the text in UTF-8.
        Text = 5,
        /// [`Annotation`], then its [`Attributes`] if it has any.
        Annotation = 6,
        /// `u32` thread id, then the thread's name.
        Thread = 7,
        /// [`Device`], then the device's name.
        Device = 8,
        /// [`Pool`].
        Pool = 9,
        /// [`Memory`].
        Memory = 10,
        /// `u64` time in nanoseconds, then the path of a snapshot that the program requests. The snapshot covers the records
        /// before this one.
        Dump = 11,
        /// UTF-8: a remark for the reader of the snapshot.
        Note = 12,
        /// [`Name`], then the name given by the program.
        Name = 13,
    }
}

numbered! {
    /// The driver function that an [`Event`] reports, without version suffix. The comment above each group says
    /// which fields of the event it uses.
    #[expect(non_camel_case_types, missing_docs, reason = "the driver's own names")]
    pub enum Call {
        // Allocations: `address` is the result, `size_bytes` the requested size.
        cuMemAlloc = 1,
        cuMemAllocPitch = 2,
        cuMemAllocManaged = 3,
        cuMemAllocAsync = 4,
        cuMemAllocFromPoolAsync = 5,
        cuMemPoolImportPointer = 6,
        cuIpcOpenMemHandle = 7,
        cuExternalMemoryGetMappedBuffer = 8,
        /// `address` of a node of a graph under construction; `pool` is the graph.
        cuGraphAddMemAllocNode = 9,

        // Frees, written before the call.
        cuMemFree = 20,
        cuMemFreeAsync = 21,
        cuIpcCloseMemHandle = 22,
        /// `address`; `pool` is the graph.
        cuGraphAddMemFreeNode = 23,

        // Pinned host memory; `mapping_*` are 0.
        cuMemHostAlloc = 30,
        cuMemAllocHost = 31,
        cuMemHostRegister = 32,
        cuMemFreeHost = 33,
        cuMemHostUnregister = 34,

        // Virtual memory: `address`, `size_bytes`; `pool` is the handle of the physical allocation.
        cuMemAddressReserve = 40,
        cuMemAddressFree = 41,
        /// `pool` is the new handle.
        cuMemCreate = 42,
        cuMemRelease = 43,
        /// `mapping_base` is the offset within the physical allocation.
        cuMemMap = 44,
        cuMemUnmap = 45,
        /// `pool` is the new handle.
        cuMemImportFromShareableHandle = 46,
        /// `address` is mapped, `pool` is the handle, which needs one more release.
        cuMemRetainAllocationHandle = 47,
        /// `pool` is the new handle. It holds no memory of its own; the memory bound to it does.
        cuMulticastCreate = 48,

        // Memory pools: `pool`. For `cuMemPoolTrimTo`, `size_bytes` is the size to keep.
        /// `mapping_base` is the `CUmemAllocationType`, `mapping_bytes` the `CUmemLocationType`; 0 if unknown.
        cuMemPoolCreate = 50,
        cuMemPoolDestroy = 51,
        cuMemPoolTrimTo = 52,

        // Contexts: `context` and `device`. All memory of the context is freed.
        cuCtxDestroy = 60,
        /// Written for the last release, which destroys the context.
        cuDevicePrimaryCtxRelease = 61,
        cuDevicePrimaryCtxReset = 62,

        // Arrays have no address: `address` is the handle, `size_bytes` the required size.
        cuArrayCreate = 70,
        cuArray3DCreate = 71,
        cuMipmappedArrayCreate = 72,
        cuArrayDestroy = 73,
        cuMipmappedArrayDestroy = 74,

        // Parts of an allocation, handed out by the program itself (vramscope-api, NVTX's memory extension).
        suballoc = 90,
        /// The part at `address`; if `size_bytes` is not 0, all parts within that range.
        subfree = 91,
        /// Names the allocation at `address`, as torch's `annotate` does. `pool` is the number of the text.
        annotate = 92,
    }
}

/// Bits of [`Event::flags`].
pub mod flags {
    /// The stream was being captured into a graph.
    pub const CAPTURING: u8 = 1;
    /// The driver refused the last free that this thread wrote for this address; `result` is its error.
    pub const FREE_FAILED: u8 = 2;
    /// The stream is the calling thread's default stream (`_ptsz`).
    pub const PER_THREAD_STREAM: u8 = 4;
    /// The memory belongs to another process: it was imported.
    pub const NOT_OWNED: u8 = 8;
}

/// Bits of [`Pool::flags`].
pub mod pool_flags {
    /// The device's default pool.
    pub const DEFAULT: u16 = 1;
    /// The device's primary context has just ended: the figures say whether the pool's memory ended with it.
    pub const CONTEXT_ENDED: u16 = 2;
    /// Not a pool, but the memory of the device's graphs.
    pub const GRAPHS: u16 = 4;
}

/// `CU_MEM_ALLOCATION_TYPE_MANAGED`.
pub const MANAGED_ALLOCATION: u64 = 2;
/// `CU_MEM_LOCATION_TYPE_HOST` and, up to and including it, the other locations on the host.
pub const HOST_LOCATIONS: std::ops::RangeInclusive<u64> = 2..=4;

/// `CUDA_SUCCESS`.
pub const SUCCESS: u32 = 0;
/// `CUDA_ERROR_OUT_OF_MEMORY`.
pub const OUT_OF_MEMORY: u32 = 2;
/// Device ordinal of a call without a device, or whose device is unknown.
pub const NO_DEVICE: i16 = -1;

fixed! {
    /// One call of the driver.
    pub struct Event {
        /// Nanoseconds since the Unix epoch.
        pub time_ns: u64,
        /// Address of the memory; 0 for a failed allocation.
        pub address: u64,
        /// Requested bytes; 0 for frees.
        pub size_bytes: u64,
        /// The `CUstream` as a number; 0 for the default stream and for calls without a stream.
        pub stream: u64,
        /// The `CUcontext` as a number: the one that owns the memory, or the one that ended.
        pub context: u64,
        /// The memory pool, graph or physical allocation as a number; 0 if the call has no such argument.
        pub pool: u64,
        /// Start of the driver's mapping that holds the address; 0 if unknown. If `result` is [`OUT_OF_MEMORY`]:
        /// the device's free bytes.
        pub mapping_base: u64,
        /// Size of that mapping. If `result` is [`OUT_OF_MEMORY`]: the device's total bytes, 0 if unknown.
        pub mapping_bytes: u64,
        /// Number of the stack; 0 if no stack was taken.
        pub stack: u32,
        /// Linux thread id.
        pub thread: u32,
        /// The `CUresult`. A free is written before its call and has 0, unless [`flags::FREE_FAILED`] is set.
        pub result: u32,
        /// Device ordinal, or [`NO_DEVICE`].
        pub device: i16,
        /// Number of a [`Call`].
        pub call: u8,
        /// Combination of [`flags`].
        pub flags: u8,
    }
}

fixed! {
    /// An executable or library mapped by the program.
    pub struct Module {
        /// Added to the file's virtual addresses to get addresses in the process.
        pub load_bias: u64,
        /// First address of its executable part.
        pub start: u64,
        /// End of its executable part, exclusive.
        pub end: u64,
        /// Size of the build id that follows.
        pub build_id_bytes: u32,
        /// Always 0.
        pub reserved: u32,
    }
}

fixed! {
    /// Header of a stack; its return addresses follow.
    pub struct Stack {
        /// Number of the stack, from 1. Several numbers may stand for the same stack.
        pub number: u32,
        /// Number of addresses that follow.
        pub frames: u32,
    }
}

numbered! {
    /// The operation of an [`Annotation`].
    pub enum AnnotationOp {
        /// Begins a range nested in the open ranges of its thread and domain.
        Push = 1,
        /// Ends the innermost range of its thread and domain.
        Pop = 2,
        /// Begins a range that may overlap others and end on another thread. `range` identifies it.
        Start = 3,
        /// Ends a range begun by `Start`.
        End = 4,
        /// Marks a point in time.
        Mark = 5,
    }
}

fixed! {
    /// An annotation by the program, through NVTX or vramscope-api.
    pub struct Annotation {
        /// Nanoseconds since the Unix epoch. For ranges on a stream: the time at which the stream reached this
        /// point.
        pub time_ns: u64,
        /// Identifies a started range, from 1; 0 for other operations.
        pub range: u64,
        /// The `CUstream` that orders the range, if [`ON_STREAM`] is set.
        pub stream: u64,
        /// Number of the name's text; 0 for an empty name.
        pub name: u32,
        /// Number of the domain's text; 0 for the default domain.
        pub domain: u32,
        /// Linux thread id.
        pub thread: u32,
        /// The thread's current device, or [`NO_DEVICE`].
        pub device: i16,
        /// Number of an [`AnnotationOp`].
        pub op: u8,
        /// [`ON_STREAM`] or 0.
        pub flags: u8,
    }
}

/// Bit of [`Annotation::flags`]: a stream orders the range, not its thread.
pub const ON_STREAM: u8 = 1;

fixed! {
    /// An annotation's attributes besides its name; 0 for those not given.
    pub struct Attributes {
        /// Alpha, red, green and blue, from the highest byte to the lowest.
        pub colour: u32,
        /// Number of a category of its domain, which a [`Name`] may name.
        pub category: u32,
        /// The bits of a number of `payload_type`.
        pub payload: u64,
        /// `nvtxPayloadType_t`: 1 `u64`, 2 `i64`, 3 `f64`, 4 `u32`, 5 `i32`, 6 `f32`.
        pub payload_type: u32,
        /// Always 0.
        pub reserved: u32,
    }
}

numbered! {
    /// The kind of object that a [`Name`] names.
    pub enum Named {
        /// A category of a domain, by its number.
        Category = 1,
        /// A device, by its ordinal.
        Device = 2,
        /// A `CUcontext`.
        Context = 3,
        /// A `CUstream`.
        Stream = 4,
    }
}

fixed! {
    /// The program's name for an object.
    pub struct Name {
        /// Its handle or number.
        pub handle: u64,
        /// For categories: number of the domain's text; 0 for the default domain.
        pub domain: u32,
        /// Number of a [`Named`].
        pub named: u32,
    }
}

fixed! {
    /// A device; its name follows.
    pub struct Device {
        /// Total memory in bytes.
        pub total_bytes: u64,
        /// First 8 bytes of the UUID, as a little-endian number.
        pub uuid_low: u64,
        /// Last 8 bytes of the UUID, as a little-endian number.
        pub uuid_high: u64,
        /// Device ordinal.
        pub ordinal: i16,
        /// Always 0.
        pub reserved: u16,
        /// Always 0.
        pub reserved_too: u32,
    }
}

fixed! {
    /// Usage of a memory pool, sampled after a synchronisation that may have trimmed it.
    pub struct Pool {
        /// Nanoseconds since the Unix epoch.
        pub time_ns: u64,
        /// The `CUmemoryPool` as a number.
        pub pool: u64,
        /// Bytes that the pool holds from the device.
        pub reserved_bytes: u64,
        /// Bytes of those that are in use.
        pub used_bytes: u64,
        /// Device ordinal.
        pub device: i16,
        /// Combination of [`pool_flags`].
        pub flags: u16,
        /// Linux thread id.
        pub thread: u32,
    }
}

fixed! {
    /// Free memory of a device, as reported by the driver.
    pub struct Memory {
        /// Nanoseconds since the Unix epoch.
        pub time_ns: u64,
        /// Free bytes.
        pub free_bytes: u64,
        /// Total bytes.
        pub total_bytes: u64,
        /// Device ordinal.
        pub device: i16,
        /// Always 0.
        pub reserved: u16,
        /// Linux thread id.
        pub thread: u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_name_one_thing_each() {
        for (index, &loss) in Loss::ALL.iter().enumerate() {
            assert_eq!(loss as usize, index);
            assert_eq!(Loss::of_number(loss as u8), Some(loss));
        }
        for &kind in Kind::ALL {
            assert_eq!(Kind::of_number(kind as u8), Some(kind));
        }
        for &call in Call::ALL {
            assert_eq!(Call::of_number(call as u8), Some(call));
        }
        assert_eq!(Kind::of_number(0), None);
        assert!(header::LOSSES + 8 * MAX_LOSSES <= HEADER_BYTES as usize);
        assert!(Loss::ALL.len() <= MAX_LOSSES);
    }

    #[test]
    fn an_event_takes_less_than_a_hundred_bytes() {
        assert_eq!(Event::BYTES % RECORD_ALIGNMENT, 0);
        assert!(record_bytes(Event::BYTES) <= 96);
    }

    #[test]
    fn fixed_structs_are_read_as_they_were_written() {
        let event = Event {
            time_ns: 1,
            address: u64::MAX,
            device: -1,
            flags: 7,
            ..Event::default()
        };
        let bytes = event.to_bytes();
        assert_eq!(Event::read(&bytes), Some((event, &[][..])));
        assert_eq!(Event::read(&bytes[1..]), None);
    }
}
