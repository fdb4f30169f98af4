//! The first page of a log: whose it is and how far it has come.

use std::fmt;

use vramscope_core::analysis::capture::Ended;

use crate::layout::{self, HEADER_BYTES, MAGIC, VERSION, header, state};

/// What a log says about itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Header {
    /// One of [`layout::state`].
    pub state: u32,
    /// Room for records that may be in use at a time, in bytes.
    pub capacity_bytes: u64,
    /// Bytes of the file, as its program made it.
    pub file_bytes: u64,
    /// Offset of the next record; may be beyond the last one.
    pub write_offset: u64,
    /// Records that found no room.
    pub dropped_records: u64,
    /// Records before this offset were taken over by somebody, and are not in the file any more.
    pub consumed_offset: u64,
    /// Allocations that failed for want of memory.
    pub out_of_memory_count: u32,
    /// Process id.
    pub process: u64,
    /// Start time of the process in clock ticks since boot.
    pub start_ticks: u64,
    /// When the log was made, in nanoseconds since the Unix epoch.
    pub created_ns: u64,
    /// Dumps that the program asked for.
    pub dump_count: u32,
}

impl Header {
    /// The header that these bytes begin with.
    ///
    /// # Errors
    /// If it is not one of a log of this version.
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
        Ok(Self {
            state: u32_at(bytes, header::STATE),
            capacity_bytes: u64_at(bytes, header::CAPACITY_BYTES),
            file_bytes: u64_at(bytes, header::FILE_BYTES),
            write_offset: u64_at(bytes, header::WRITE_OFFSET),
            dropped_records: u64_at(bytes, header::DROPPED_RECORDS),
            consumed_offset: u64_at(bytes, header::CONSUMED_OFFSET),
            out_of_memory_count: u32_at(bytes, header::OUT_OF_MEMORY_COUNT),
            process: u64_at(bytes, header::PROCESS),
            start_ticks: u64_at(bytes, header::START_TICKS),
            created_ns: u64_at(bytes, header::CREATED_NS),
            dump_count: u32_at(bytes, header::DUMP_COUNT),
        })
    }

    /// How the program ended, given whether its process is still there.
    #[must_use]
    pub fn ended(&self, is_running: bool) -> Ended {
        match self.state {
            state::ENDED => Ended::InOrder,
            state::FAILED => Ended::RecorderFailed,
            _ if is_running => Ended::Running,
            _ => Ended::WithoutNotice,
        }
    }

    /// Bytes of records that somebody took over, so that they are not in the file any more.
    #[must_use]
    pub fn consumed_bytes(&self) -> u64 {
        self.consumed_offset.saturating_sub(HEADER_BYTES)
    }
}

/// The number at `offset`, which lies within the header; 0 where it does not.
fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    let number = bytes.get(offset..).and_then(<[u8]>::first_chunk);
    u32::from_le_bytes(number.copied().unwrap_or_default())
}

fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    let number = bytes.get(offset..).and_then(<[u8]>::first_chunk);
    u64::from_le_bytes(number.copied().unwrap_or_default())
}

/// Bytes that are no log.
///
/// `Display` gives one line: what is wrong and where. [`LogError::advice`] says what to do.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{kind}")]
pub struct LogError {
    /// What is wrong.
    pub kind: LogErrorKind,
}

/// What is wrong with them.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogErrorKind {
    /// Not even a header.
    #[error(
        "this is no raw log: it has {0} bytes, and a log begins with a header of {HEADER_BYTES}"
    )]
    TooShort(u64),
    /// Something else.
    #[error(
        "this is no raw log: it begins with the bytes {}, a log with {}",
        Bytes(*.0), Bytes(layout::MAGIC)
    )]
    NotALog([u8; 8]),
    /// The file was made, but its header was never written.
    #[error("this raw log has no header (the first 8 bytes are 0), so nothing was recorded")]
    Unfinished,
    /// Another version of the layout.
    #[error("this raw log is of version {0} (at byte {offset}); this program reads version {VERSION}", offset = header::VERSION)]
    Version(u32),
}

/// Bytes as people write them.
struct Bytes([u8; 8]);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hex: Vec<_> = self.0.iter().map(|byte| format!("{byte:02x}")).collect();
        f.write_str(&hex.join(" "))
    }
}

impl LogError {
    /// What the user can do about it.
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
                "A newer vramscope-capture has written it: convert it with that one."
            }
            LogErrorKind::Version(_) => {
                "An older vramscope-capture has written it: convert it with that one, or record again."
            }
        }
    }
}
