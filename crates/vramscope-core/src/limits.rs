//! Limits on the cost of a file. A file that exceeds them is refused.

/// The cost of opening a part of a container, in unwrapped bytes: it takes a decoder as long as reading a few kilobytes.
pub(crate) const PART_BYTES: u64 = 4 << 10;

/// The cost of a byte that is itself in a container and compressed, in unwrapped bytes: the blocks of deflate may be as
/// short as 10 bits, and each takes a decoder as long as hundreds of bytes.
pub(crate) const PACKED_BYTES: u64 = 128;

/// Limits on reading, whatever a file claims.
///
/// One rule covers all memory and work that a file can cause: [`free_bytes`](Self::free_bytes) are free, and everything
/// beyond must be paid for with bytes of the file as it was given, so compressing a file gains nothing. Heap bytes count
/// as reserved, spare capacity and decompressors' windows included.
///
/// | per byte of the file read so far | until its first record | then |
/// | --- | --- | --- |
/// | bytes after unwrapping | [`before_records`](Self::before_records) | [`unwrapped_per_byte`](Self::unwrapped_per_byte) |
/// | heap bytes | [`before_records`](Self::before_records) | [`heap_per_byte`](Self::heap_per_byte), and [`heap_per_unwrapped_byte`](Self::heap_per_unwrapped_byte) |
///
/// Only the innermost data is held to `before_records`. Its containers, such as an archive inside gzip with other files
/// before the snapshot, may unwrap to `unwrapped_per_byte` from the start.
///
/// Each member, frame, block and entry of a container costs 4 KiB of unwrapped bytes, and skipped files of an archive cost
/// their size: together up to what the table allows after the first record. A compressed byte that was itself in another
/// container costs 128.
///
/// A genuine file that exceeds these limits opens after decompressing it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Bytes that are free for any file, after unwrapping and on the heap.
    pub free_bytes: u64,
    /// See the table. In genuine files, records come after a few kilobytes.
    pub before_records: u64,
    /// See the table. Pickles shrink to a tenth or a fiftieth; JSON, which repeats every stack, to a 570th with zstd.
    pub unwrapped_per_byte: u64,
    /// See the table.
    pub heap_per_byte: u64,
    /// See the table. Pickles need 1 to 2, packed snapshots up to 10.
    pub heap_per_unwrapped_byte: u64,
    /// Deepest nesting of lists and dicts. Genuine files need 8.
    pub depth: usize,
    /// Longest single string or number in bytes.
    pub string_bytes: usize,
    /// Most containers inside each other.
    pub containers: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            free_bytes: 64 << 20,
            before_records: 2,
            unwrapped_per_byte: 1024,
            heap_per_byte: 256,
            heap_per_unwrapped_byte: 16,
            depth: 64,
            string_bytes: 4 << 20,
            containers: 4,
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Read {
    /// Bytes of the file itself, containers included.
    pub(crate) file_bytes: u64,
    pub(crate) unwrapped_bytes: u64,
    pub(crate) has_records: bool,
}

impl Limits {
    /// Most bytes after unwrapping, once `file_bytes` of the file itself have been read.
    pub(crate) fn unwrapped_bytes(&self, file_bytes: u64, has_records: bool) -> u64 {
        self.paid_for(file_bytes, has_records, self.unwrapped_per_byte)
    }

    /// Most heap bytes, after reading this much.
    pub(crate) fn heap_bytes(&self, read: &Read) -> u64 {
        let by_contents = (read.unwrapped_bytes).saturating_mul(self.heap_per_unwrapped_byte);
        self.paid_for(read.file_bytes, read.has_records, self.heap_per_byte)
            .min(by_contents)
            .max(self.free_bytes)
    }

    fn paid_for(&self, file_bytes: u64, has_records: bool, per_byte: u64) -> u64 {
        let factor = if has_records {
            per_byte
        } else {
            self.before_records
        };
        file_bytes.saturating_mul(factor).max(self.free_bytes)
    }
}
