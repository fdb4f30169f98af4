//! The raw log: what the injected library writes and [`reader`](crate) reads. Version 1, little-endian.
//!
//! ```text
//! <folder>/<pid>-<start time in clock ticks since boot>.raw     sparse, mapped MAP_SHARED by the captured program
//! <folder>/<pid>-<start time>-2.raw …                           of programs that the same process executed later
//!
//!      0  header, one page                           see `header`: magic, version, counters, control words
//!   4096  record  record  record …  zeros            up to `header::WRITE_OFFSET`
//!
//! record   0  u32  payload bytes, not counting the padding
//!          4  u8   kind                              0 until the payload stands: not to be read yet
//!          5  u8   0
//!          6  u16  check: `record_check(offset)`     what a record begins with, if its neighbour was not finished
//!          8  payload, then zeros up to a multiple of 8
//! ```
//!
//! A writer reserves room by adding to the write offset, writes length and check, then the payload, then the kind
//! (release). So a program that dies at any point leaves whole records, and at most one unfinished one per thread,
//! which a reader skips by its length, or, if there is not even that, by looking for the next word whose check fits.
//!
//! **Order.** Records stand in the order in which their room was reserved. A free is written before the driver is
//! called, an allocation after it returned: so an address is never seen taken before it was given back. Times come from
//! each thread, before it unwinds its stack, and may be behind those of the record before by as long as that takes;
//! readers make them ascending.
//!
//! **Names.** Texts, stacks and modules are numbered by the writer and stand before what names them. A stack's
//! addresses are return addresses in the modules that stand *before* it, the newest of those that overlap.
//!
//! **Full.** What does not fit any more is counted in the header, and nothing is written after it. `CONSUMED_OFFSET`
//! is how far somebody outside has taken records over and given their room back; a log holds up to `CAPACITY_BYTES`
//! between that and the write offset.

/// First bytes of a log.
pub const MAGIC: [u8; 8] = *b"VRAMRAW\0";
/// What this module describes.
pub const VERSION: u32 = 1;
/// Bytes before the first record.
pub const HEADER_BYTES: u64 = 4096;
/// Bytes of a record before its payload.
pub const RECORD_HEADER_BYTES: usize = 8;
/// Records begin at multiples of it.
pub const RECORD_ALIGNMENT: usize = 8;
/// The longest payload that is written; longer texts and stacks are cut.
pub const LONGEST_PAYLOAD_BYTES: usize = 1 << 16;

/// Byte offsets of the header's fields. Those marked *atomic* change while the program runs.
pub mod header {
    /// `[u8; 8]`: [`MAGIC`](super::MAGIC). Written last: a file without it has no usable log.
    pub const MAGIC: usize = 0;
    /// `u32`: [`VERSION`](super::VERSION).
    pub const VERSION: usize = 8;
    /// `u32`: 0 while running, see [`state`](super::state). *Atomic.*
    pub const STATE: usize = 12;
    /// `u64`: room for records that may be in use at a time, in bytes.
    pub const CAPACITY_BYTES: usize = 16;
    /// `u64`: bytes of the file, header included.
    pub const FILE_BYTES: usize = 24;
    /// `u64`: offset in the file of the next record. May be beyond the last one when the log is full. *Atomic.*
    pub const WRITE_OFFSET: usize = 32;
    /// `u64`: records that found no room. *Atomic.*
    pub const DROPPED_RECORDS: usize = 40;
    /// `u64`: records before this offset were taken over by somebody outside. *Atomic, written from outside.*
    pub const CONSUMED_OFFSET: usize = 48;
    /// `u32`: 1 while events are to be recorded. *Atomic.*
    pub const IS_RECORDING: usize = 56;
    /// `u32`: allocations that failed for want of memory, so that somebody outside need not read records to
    /// notice. *Atomic.*
    pub const OUT_OF_MEMORY_COUNT: usize = 60;
    /// `u64`: process id.
    pub const PROCESS: usize = 64;
    /// `u64`: start time of the process, in clock ticks since boot (`/proc/PID/stat`, field 22).
    pub const START_TICKS: usize = 72;
    /// `u64`: when the log was made, in nanoseconds since the Unix epoch.
    pub const CREATED_NS: usize = 80;
    /// `u32`: dump requests (records of kind [`Dump`](super::Kind::Dump)). *Atomic.*
    pub const DUMP_COUNT: usize = 88;
}

/// Values of [`header::STATE`].
pub mod state {
    /// Being written, or its program died without notice.
    pub const RUNNING: u32 = 0;
    /// The program ended in an orderly way.
    pub const ENDED: u32 = 1;
    /// Recording was switched off for good after an error in the recorder itself.
    pub const FAILED: u32 = 2;
}

/// What tells the beginning of a record from other words; `offset` is that of the record in the file.
#[must_use]
#[inline]
pub fn record_check(offset: u64) -> u16 {
    // A multiplicative hash: neighbouring offsets differ in all bits.
    ((offset >> 3).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 48) as u16 | 1
}

/// Bytes that a record with such a payload takes.
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
            /// All of them.
            pub const ALL: &'static [Self] = &[$( Self::$variant, )*];

            /// The one with this number in the log.
            #[must_use]
            pub fn of_number(number: u8) -> Option<Self> {
                match number {
                    $( $number => Some(Self::$variant), )*
                    _ => None,
                }
            }

            /// Its name as it stands here.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $( Self::$variant => stringify!($variant), )*
                }
            }
        }
    };
}

numbered! {
    /// What a record is about, and so what its payload holds.
    pub enum Kind {
        /// Texts, each `u32` bytes and UTF-8: the executable's path, then each argument.
        Program = 1,
        /// [`Module`], then the build id, then the path, which is not always UTF-8.
        Module = 2,
        /// [`Stack`], then as many `u64` return addresses, innermost first.
        Stack = 3,
        /// [`Event`].
        Event = 4,
        /// `u32` number, then UTF-8 up to the end.
        Text = 5,
        /// [`Annotation`].
        Annotation = 6,
        /// `u32` thread id, then its name up to the end.
        Thread = 7,
        /// [`Device`], then its name up to the end.
        Device = 8,
        /// [`Pool`].
        Pool = 9,
        /// [`Memory`].
        Memory = 10,
        /// `u64` time in nanoseconds, then the path of the snapshot that the program asks for. What it is to hold is
        /// what stands before this record.
        Dump = 11,
        /// UTF-8: something that whoever reads the snapshot should know.
        Note = 12,
    }
}

numbered! {
    /// The call that an [`Event`] is about. Names are those of the driver's functions, without version suffixes.
    #[expect(non_camel_case_types, reason = "the driver's own names")]
    pub enum Call {
        // Allocations: `address` is what was given, `size_bytes` what was asked for.
        cuMemAlloc = 1,
        cuMemAllocPitch = 2,
        cuMemAllocManaged = 3,
        cuMemAllocAsync = 4,
        cuMemAllocFromPoolAsync = 5,
        cuMemPoolImportPointer = 6,
        cuIpcOpenMemHandle = 7,
        cuExternalMemoryGetMappedBuffer = 8,
        /// `address` of a node of a graph that is being built; `pool` is the graph.
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

        // Virtual memory. `address`, `size_bytes`; `pool` is the handle of the physical allocation.
        cuMemAddressReserve = 40,
        cuMemAddressFree = 41,
        /// `pool` is the new handle.
        cuMemCreate = 42,
        cuMemRelease = 43,
        /// `mapping_base` is the offset in the physical allocation.
        cuMemMap = 44,
        cuMemUnmap = 45,
        /// `pool` is the new handle.
        cuMemImportFromShareableHandle = 46,

        // Pools. `pool` is the pool; of the last one `size_bytes` is what is to be kept.
        cuMemPoolCreate = 50,
        cuMemPoolDestroy = 51,
        cuMemPoolTrimTo = 52,

        // Contexts: what lived in them is gone. `context`, and `device`.
        cuCtxDestroy = 60,
        /// The last holder's, so that the context is gone.
        cuDevicePrimaryCtxRelease = 61,
        cuDevicePrimaryCtxReset = 62,

        // Arrays have no address: `address` is their handle, `size_bytes` what they need.
        cuArrayCreate = 70,
        cuArray3DCreate = 71,
        cuMipmappedArrayCreate = 72,
        cuArrayDestroy = 73,
        cuMipmappedArrayDestroy = 74,

        // What the program itself hands out of an allocation (vramscope-api).
        suballoc = 90,
        subfree = 91,
        /// Gives the allocation at `address` a name: torch's `annotate`. `pool` is the number of the text.
        annotate = 92,
    }
}

/// What an event's `flags` say.
pub mod flags {
    /// The stream was being captured into a graph.
    pub const CAPTURING: u8 = 1;
    /// The free that this thread wrote last for this address did not happen: the driver returned `result`.
    pub const FREE_FAILED: u8 = 2;
    /// A default stream of the calling thread (`_ptsz`).
    pub const PER_THREAD_STREAM: u8 = 4;
    /// Memory of this size is of another process: it was imported.
    pub const NOT_OWNED: u8 = 8;
}

/// `CUDA_SUCCESS`.
pub const SUCCESS: u32 = 0;
/// `CUDA_ERROR_OUT_OF_MEMORY`.
pub const OUT_OF_MEMORY: u32 = 2;
/// The device of what has none, or of what could not be asked.
pub const NO_DEVICE: i16 = -1;

fixed! {
    /// One call of the driver.
    pub struct Event {
        /// Nanoseconds since the Unix epoch.
        pub time_ns: u64,
        /// Of the memory; 0 when the allocation failed.
        pub address: u64,
        /// Bytes asked for; 0 for frees.
        pub size_bytes: u64,
        /// The `CUstream` as a number; 0 where there is none.
        pub stream: u64,
        /// The `CUcontext` as a number: of what was allocated, or of what ended.
        pub context: u64,
        /// The memory pool, graph or physical allocation as a number; 0 where there is none.
        pub pool: u64,
        /// Start of the driver's mapping that holds the address, 0 if it does not say. When `result` is
        /// [`OUT_OF_MEMORY`]: the device's free bytes.
        pub mapping_base: u64,
        /// Bytes of that mapping. When `result` is [`OUT_OF_MEMORY`]: the device's bytes in all.
        pub mapping_bytes: u64,
        /// Number of the stack, 0 for none.
        pub stack: u32,
        /// Linux thread id.
        pub thread: u32,
        /// The `CUresult`. Frees are written before there is one.
        pub result: u32,
        /// The device's ordinal, [`NO_DEVICE`] if unknown.
        pub device: i16,
        /// The [`Call`].
        pub call: u8,
        /// [`flags`].
        pub flags: u8,
    }
}

fixed! {
    /// An object file in the program's memory.
    pub struct Module {
        /// What is added to the file's virtual addresses.
        pub load_bias: u64,
        /// First address of its executable part.
        pub start: u64,
        /// The address behind it.
        pub end: u64,
        /// Bytes of the build id that follow.
        pub build_id_bytes: u32,
        /// Zero.
        pub reserved: u32,
    }
}

fixed! {
    /// A stack; what follows are its addresses.
    pub struct Stack {
        /// From 1. The same stack may occur under several numbers.
        pub number: u32,
        /// How many addresses follow.
        pub frames: u32,
    }
}

numbered! {
    /// What an [`Annotation`] does.
    pub enum AnnotationOp {
        /// Begins a range within those of its thread and domain.
        Push = 1,
        /// Ends the innermost of them.
        Pop = 2,
        /// Begins a range that may overlap others and end on another thread: `range` names it.
        Start = 3,
        /// Ends that.
        End = 4,
        /// A point in time.
        Mark = 5,
    }
}

fixed! {
    /// What the program says it is doing: NVTX or vramscope-api.
    pub struct Annotation {
        /// Nanoseconds since the Unix epoch. Of ranges on a stream: when the stream got there.
        pub time_ns: u64,
        /// Names a range that was started, from 1.
        pub range: u64,
        /// The stream of a range that is ordered by one; 0 else.
        pub stream: u64,
        /// Number of the text; 0 for none.
        pub name: u32,
        /// Number of the domain's text; 0 for the default domain.
        pub domain: u32,
        /// Linux thread id.
        pub thread: u32,
        /// The device current on the thread, [`NO_DEVICE`] if unknown.
        pub device: i16,
        /// The [`AnnotationOp`].
        pub op: u8,
        /// Zero.
        pub reserved: u8,
    }
}

fixed! {
    /// A device; what follows is its name.
    pub struct Device {
        /// Bytes of its memory.
        pub total_bytes: u64,
        /// First half of its UUID, as a little-endian number.
        pub uuid_low: u64,
        /// Second half.
        pub uuid_high: u64,
        /// Its ordinal.
        pub ordinal: i16,
        /// Zero.
        pub reserved: u16,
        /// Zero.
        pub reserved_too: u32,
    }
}

fixed! {
    /// What a memory pool held, asked after a synchronisation that may have trimmed it.
    pub struct Pool {
        /// Nanoseconds since the Unix epoch.
        pub time_ns: u64,
        /// The pool as a number.
        pub pool: u64,
        /// Bytes it held from the device.
        pub reserved_bytes: u64,
        /// Bytes of them that were in use.
        pub used_bytes: u64,
        /// The device.
        pub device: i16,
        /// 1 for the device's default pool.
        pub is_default: u16,
        /// Linux thread id.
        pub thread: u32,
    }
}

fixed! {
    /// What the driver said is free on a device.
    pub struct Memory {
        /// Nanoseconds since the Unix epoch.
        pub time_ns: u64,
        /// Free bytes.
        pub free_bytes: u64,
        /// Bytes in all.
        pub total_bytes: u64,
        /// The device.
        pub device: i16,
        /// Zero.
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
        for &kind in Kind::ALL {
            assert_eq!(Kind::of_number(kind as u8), Some(kind));
        }
        for &call in Call::ALL {
            assert_eq!(Call::of_number(call as u8), Some(call));
        }
        assert_eq!(Kind::of_number(0), None);
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
