//! The header of a log: its process, its counters and its state.

use std::fmt;

use vramscope_core::analysis::memory::capture::Ended;

use crate::layout::{self, HEADER_BYTES, Loss, MAGIC, MAX_LOSSES, VERSION, header, state};

/// A decoded header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// One of [`layout::state`].
    pub state: u32,
    /// Bytes of records that the log can hold at a time.
    pub capacity_bytes: u64,
    /// Size of the file as its program created it.
    pub file_bytes: u64,
    /// File offset of the next record. Can be beyond the last record when the log is full.
    pub write_offset: u64,
    /// End of the part of the file that may be read.
    pub backed_bytes: u64,
    /// Number of records lost because the log was full.
    pub dropped_records: u64,
    /// Records before this offset were consumed by an outside process and are no longer in the file.
    pub consumed_offset: u64,
    /// Number of allocations that failed for lack of memory.
    pub out_of_memory_count: u32,
    /// Process id.
    pub process: u64,
    /// Start time of the process in clock ticks since boot.
    pub start_ticks: u64,
    /// The process's rank in its job, if it has one.
    pub rank: Option<u32>,
    /// Creation time of the log in nanoseconds since the Unix epoch.
    pub created_ns: u64,
    /// Number of dumps that the program asked for.
    pub dump_count: u32,
    /// Counters by the number of a [`Loss`].
    pub losses: [u64; MAX_LOSSES],
}

impl Default for Header {
    fn default() -> Self {
        Self::of_bytes(&[])
    }
}

impl Header {
    /// Decodes the header at the start of `bytes`.
    ///
    /// # Errors
    /// If `bytes` does not begin with the header of a log of this version.
    pub fn of(bytes: &[u8]) -> Result<Self, LogError> {
        let error = |kind| Err(LogError { kind });
        let Some(magic) = bytes.first_chunk::<8>() else {
            return error(LogErrorKind::TooShort(bytes.len() as u64));
        };
        if *magic == [0; 8] {
            return error(LogErrorKind::Unfinished);
        }
        if *magic != MAGIC {
            return error(LogErrorKind::NotALog(*magic));
        }
        if (bytes.len() as u64) < HEADER_BYTES {
            return error(LogErrorKind::TooShort(bytes.len() as u64));
        }
        let version = u32_at(bytes, header::VERSION);
        if version != VERSION {
            return error(LogErrorKind::Version(version));
        }
        Ok(Self::of_bytes(bytes))
    }

    /// Decodes the fields, which are 0 beyond the end of `bytes`.
    fn of_bytes(bytes: &[u8]) -> Self {
        Self {
            state: u32_at(bytes, header::STATE),
            capacity_bytes: u64_at(bytes, header::CAPACITY_BYTES),
            file_bytes: u64_at(bytes, header::FILE_BYTES),
            write_offset: u64_at(bytes, header::WRITE_OFFSET),
            backed_bytes: match u64_at(bytes, header::BACKED_BYTES) {
                0 => u64::MAX,
                bytes => bytes,
            },
            dropped_records: u64_at(bytes, header::DROPPED_RECORDS),
            consumed_offset: u64_at(bytes, header::CONSUMED_OFFSET),
            out_of_memory_count: u32_at(bytes, header::OUT_OF_MEMORY_COUNT),
            process: u64_at(bytes, header::PROCESS),
            start_ticks: u64_at(bytes, header::START_TICKS),
            rank: u32_at(bytes, header::RANK).checked_sub(1),
            created_ns: u64_at(bytes, header::CREATED_NS),
            dump_count: u32_at(bytes, header::DUMP_COUNT),
            losses: std::array::from_fn(|loss| u64_at(bytes, header::LOSSES + 8 * loss)),
        }
    }

    /// Losses with their counts. Losses that only newer versions know are left out.
    pub fn lost(&self) -> impl Iterator<Item = (Loss, u64)> {
        let all = Loss::ALL.iter();
        all.map(|&loss| (loss, self.losses[loss as usize]))
            .filter(|&(_, times)| times > 0)
    }

    /// How the program ended. `is_running` says whether its process still exists.
    #[must_use]
    pub fn ended(&self, is_running: bool) -> Ended {
        match self.state {
            state::ENDED => Ended::InOrder,
            state::FAILED => Ended::RecorderFailed,
            _ if is_running => Ended::Running,
            _ => Ended::WithoutNotice,
        }
    }

    /// Bytes of records that were consumed and are no longer in the file.
    #[must_use]
    pub fn consumed_bytes(&self) -> u64 {
        self.consumed_offset.saturating_sub(HEADER_BYTES)
    }
}

/// The number at `offset`; 0 beyond the end of `bytes`.
fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    let number = bytes.get(offset..).and_then(<[u8]>::first_chunk);
    u32::from_le_bytes(number.copied().unwrap_or_default())
}

fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    let number = bytes.get(offset..).and_then(<[u8]>::first_chunk);
    u64::from_le_bytes(number.copied().unwrap_or_default())
}

/// The reason why bytes are not a readable raw log.
///
/// `Display` gives one line: what is wrong, and where. [`LogError::advice`] says what to do.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{kind}")]
pub struct LogError {
    /// The reason.
    pub kind: LogErrorKind,
}

/// Why bytes are not a readable raw log.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogErrorKind {
    /// Shorter than a header; holds the number of bytes.
    #[error(
        "this is not a raw log: it has {0} bytes, and a log begins with a header of {HEADER_BYTES} bytes"
    )]
    TooShort(u64),
    /// Another file format; holds the first bytes.
    #[error(
        "this is not a raw log: it begins with the bytes {}, and a log with {}",
        Bytes(*.0), Bytes(layout::MAGIC)
    )]
    NotALog([u8; 8]),
    /// The file was created, but its header was never written.
    #[error("this raw log has no header (the first 8 bytes are 0), so nothing was recorded")]
    Unfinished,
    /// Another version of the layout; holds the version.
    #[error("this raw log is of version {0} (at byte {offset}); this program reads version {VERSION}", offset = header::VERSION)]
    Version(u32),
}

struct Bytes([u8; 8]);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hex: Vec<_> = self.0.iter().map(|byte| format!("{byte:02x}")).collect();
        f.write_str(&hex.join(" "))
    }
}

impl LogError {
    /// What the user can do.
    #[must_use]
    pub fn advice(&self) -> &'static str {
        match self.kind {
            LogErrorKind::TooShort(_) | LogErrorKind::NotALog(_) => {
                "Give a file <pid>-<start>.raw that `vramscope-capture run --raw-dir FOLDER` left behind. A snapshot \
                 (.pickle) needs no conversion: open it with vramscope."
            }
            LogErrorKind::Unfinished => {
                "The program ended as it was about to make its first call of CUDA. Run it again."
            }
            LogErrorKind::Version(version) if version > VERSION => {
                "A newer vramscope-capture wrote it: convert it with that version."
            }
            LogErrorKind::Version(_) => {
                "An older vramscope-capture wrote it: convert it with that version, or record again."
            }
        }
    }
}
