//! Errors of reading a file: the fault, its place, and advice.

use std::fmt;

use crate::budget::NoRoom;
use crate::model::{ContainerKind, WarningKind};

/// A file that could not be read.
///
/// `Display` gives one line with the fault and its place. [`Error::advice`] says what to do.
#[derive(Debug)]
pub struct Error {
    /// What is wrong.
    pub kind: ErrorKind,
    /// Offset of the fault in the unwrapped data, in bytes.
    pub offset: u64,
    /// The record with the fault, e.g. `device_traces[0][1234].frames`; empty at the top level.
    pub path: String,
    /// The containers recognised so far, the outermost first.
    pub containers: Vec<ContainerKind>,
    /// The first bytes of the innermost data, at most 64. Shown in hexadecimal for unknown formats.
    pub head: Vec<u8>,
}

/// A fault of a file.
#[derive(Debug, PartialEq, Eq, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The file has no bytes.
    #[error("the file is empty (0 bytes)")]
    Empty,
    /// A container has no bytes in it.
    #[error("it unpacks to an empty file (0 bytes)")]
    EmptyInside,
    /// The file is cut off.
    #[error("the file ends early: {0}")]
    Truncated(&'static str),
    /// An unknown format.
    #[error("this is not a memory snapshot: neither pickle, JSON, HTML, gzip, zstd nor zip")]
    UnknownFormat,
    /// A file of another kind that is often mistaken for a snapshot.
    #[error("this is {0}, not a memory snapshot")]
    NotASnapshot(Lookalike),
    /// A zip archive without a snapshot.
    #[error("none of the {files} files in this zip archive is a memory snapshot")]
    ArchiveWithout {
        /// Number of files in it, not counting folders and files that macOS adds.
        files: u64,
    },
    /// A container that is not supported.
    #[error("{0} can't be read")]
    Unsupported(String),
    /// A packed snapshot of a version newer than this program reads.
    #[error("this packed snapshot is of version {0}, which a newer vramscope has written")]
    NewerPacked(u8),
    /// A fleet of a version newer than this program reads.
    #[error("this overview of ranks is of version {0}, which a newer vramscope has written")]
    NewerFleet(u8),
    /// A pickle or JSON whose value is not a snapshot.
    #[error("the data is readable, but not a memory snapshot: {0}")]
    WrongShape(String),
    /// An opcode that would build or call an object.
    #[error(
        "opcode {name} (0x{code:02x}) builds or calls an object; a snapshot has none, so it was not run"
    )]
    ForbiddenOpcode {
        /// Its name in Python's `pickletools`.
        name: &'static str,
        /// The byte.
        code: u8,
    },
    /// A byte that is not an opcode.
    #[error("0x{0:02x} is not a pickle opcode")]
    UnknownOpcode(u8),
    /// The check sum in a container of this kind does not match.
    #[error(
        "the {0} data is damaged: the check sum does not match, so some of what was read is not what was written"
    )]
    CheckSum(&'static str),
    /// A malformed pickle, JSON or container.
    #[error("{0}")]
    Malformed(String),
    /// A bound of [`Limits`](crate::Limits).
    #[error("refused: {what} exceeds the limit of {limit}")]
    Limit {
        /// The quantity that exceeds the limit.
        what: &'static str,
        /// The limit, in the unit that `what` names.
        limit: u64,
    },
    /// The system cannot provide this many bytes of memory.
    #[error("there is not enough memory for {0} more bytes")]
    NoMemory(u64),
    /// The caller asked to stop.
    #[error("cancelled")]
    Cancelled,
    /// The reader failed.
    #[error("reading failed: {0}")]
    Read(String),
}

/// Kinds of files that are opened by mistake.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
#[non_exhaustive]
pub enum Lookalike {
    /// A zip or pickle written by `torch.save`.
    TorchCheckpoint,
    /// A pickle of Python objects.
    ObjectPickle,
    /// A trace in Chrome's format without memory events.
    ChromeTrace,
    /// HTML without an embedded snapshot.
    OtherHtml,
    /// The drawing-only HTML of torch 2.0.
    Torch20Html,
    /// Weights in the safetensors format.
    Safetensors,
    /// A Git LFS pointer, which stands for a large file in a git repository.
    GitLfsPointer,
    /// A file of NUL bytes, as left by an interrupted copy.
    Nuls,
    /// Compressed by bzip2.
    Bzip2,
    /// Compressed by xz.
    Xz,
    /// A tar archive.
    Tar,
    /// A PNG, JPEG, WebP or GIF picture.
    Picture,
    /// Graphs of torch.compile's inductor: see the crate vramscope-inductor.
    InductorGraphs,
    /// A [fleet](crate::fleet) of ranks.
    Fleet,
}

impl fmt::Display for Lookalike {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TorchCheckpoint => "a checkpoint written by torch.save",
            Self::ObjectPickle => "a pickle of Python objects",
            Self::ChromeTrace => "a trace without memory events",
            Self::OtherHtml => "an HTML page without an embedded snapshot",
            Self::Torch20Html => "an HTML page of torch 2.0, which holds a drawing but no snapshot",
            Self::Safetensors => "a safetensors file of weights",
            Self::GitLfsPointer => {
                "a Git LFS pointer, which stands for a large file in a git repository"
            }
            Self::Nuls => "a file of NUL bytes, as an interrupted copy leaves behind",
            Self::Bzip2 => "a file compressed with bzip2",
            Self::Xz => "a file compressed with xz",
            Self::Tar => "a tar archive",
            Self::Picture => "a picture",
            Self::Fleet => "an overview of many ranks (.vset)",
            Self::InductorGraphs => "a TORCH_TRACE log or a graph of torch.compile",
        })
    }
}

impl Error {
    /// Advice for the user in one or two sentences.
    #[must_use]
    pub fn advice(&self) -> &'static str {
        match &self.kind {
            ErrorKind::Empty | ErrorKind::EmptyInside => {
                "The dump failed or recorded nothing: call torch.cuda.memory._record_memory_history() before \
                 _dump_snapshot(), and check that the disk was not full."
            }
            ErrorKind::Truncated(_) => {
                "The file was not written or copied completely. Copy it again, or write it again and wait \
                 until _dump_snapshot(), or the profiler's export, has returned."
            }
            ErrorKind::NotASnapshot(lookalike) => lookalike.advice(),
            ErrorKind::Unsupported(_) => "Unpack it and give the snapshot itself.",
            ErrorKind::NewerPacked(_) | ErrorKind::NewerFleet(_) => {
                "Open it with a newer vramscope."
            }
            ErrorKind::UnknownFormat
            | ErrorKind::ArchiveWithout { .. }
            | ErrorKind::WrongShape(_) => {
                "Give the .pickle that torch.cuda.memory._dump_snapshot() writes (plain, gzip, zstd or zip), \
                 its JSON, or the HTML of torch's trace_plot."
            }
            ErrorKind::ForbiddenOpcode { .. } => {
                "A genuine snapshot holds only plain data. Do not unpickle this file with Python unless you \
                 trust where it comes from."
            }
            ErrorKind::UnknownOpcode(_) | ErrorKind::Malformed(_) | ErrorKind::CheckSum(_) => {
                "The file is damaged or was not written by PyTorch. Copy it again in binary mode; if that \
                 does not help, please report it with the offset."
            }
            ErrorKind::Limit { .. } if self.is_compressed() => {
                "It unpacks to more than a genuine snapshot of its size should. If it is genuine, decompress it first \
                 (gzip -d, zstd -d --long=31, unzip), and give the snapshot itself."
            }
            ErrorKind::Limit { .. } => {
                "The file costs more than a genuine snapshot of its size could. If it is genuine, please \
                 report it."
            }
            ErrorKind::NoMemory(_) => {
                "Close other files or programs, or open it on a machine with more memory. A page has 4 GiB at most; the \
                 command line has none but the machine's limit."
            }
            ErrorKind::Cancelled => "Open it again to read it from the start.",
            ErrorKind::Read(_) => "Check that the file still exists and can be read.",
        }
    }
}

impl ErrorKind {
    /// The warning for a complete snapshot that is followed by this error in its container.
    pub(crate) fn behind_snapshot(&self) -> WarningKind {
        match self {
            Self::CheckSum(_) => WarningKind::CheckSumWrong,
            _ => WarningKind::DamagedEnd,
        }
    }
}

impl Error {
    fn is_compressed(&self) -> bool {
        use ContainerKind::{Gzip, Zip, Zstd};
        let mut containers = self.containers.iter();
        containers.any(|kind| matches!(kind, Gzip | Zstd | Zip))
    }
}

impl From<NoRoom> for ErrorKind {
    fn from(error: NoRoom) -> Self {
        let (what, limit) = match error {
            NoRoom::Limit(limit) => ("the memory in bytes that this file asks for", limit),
            NoRoom::NoRecord(limit) => {
                ("the size in bytes of what precedes the first record", limit)
            }
            NoRoom::Memory(bytes) => return Self::NoMemory(bytes),
        };
        Self::Limit { what, limit }
    }
}

impl Lookalike {
    fn advice(self) -> &'static str {
        match self {
            Self::TorchCheckpoint | Self::Safetensors | Self::ObjectPickle => {
                "Give the file that torch.cuda.memory._dump_snapshot() writes. Weights and objects are not read."
            }
            Self::ChromeTrace => {
                "Record with torch.profiler.profile(profile_memory=True, with_stack=True, record_shapes=True) and give the file of \
                 export_chrome_trace(), or give a snapshot of torch.cuda.memory._dump_snapshot(), which says more about memory. \
                 Without memory it opens in Perfetto."
            }
            Self::OtherHtml => {
                "Give HTML written by torch's trace_plot or segment_plot (torch 2.1 or newer), or the pickle \
                 itself. A download may have saved a web page in place of the file."
            }
            Self::GitLfsPointer => "Fetch the file itself with `git lfs pull`, then open it again.",
            Self::Torch20Html => "Give the pickle from which that page was made.",
            Self::Nuls => "Copy it again, or dump it again.",
            Self::Bzip2 => {
                "Unpack it with `bunzip2 -k FILE` first; gzip, zstd and zip are read as they are."
            }
            Self::Xz => {
                "Unpack it with `unxz -k FILE` first; gzip, zstd and zip are read as they are."
            }
            Self::Tar => {
                "Unpack it with `tar -xf FILE` first, and give the snapshot that is in it, or the folder of several."
            }
            Self::Picture => {
                "A picture holds no memory: give the file that torch.cuda.memory._dump_snapshot() writes."
            }
            Self::Fleet => {
                "It holds figures of ranks, not what was allocated: ask `vramscope fleet` about it, or give a rank's snapshot."
            }
            Self::InductorGraphs => {
                "It says in which order torch.compile runs nodes, not what was allocated: look at it with `vramscope view`, \
                 or ask `vramscope inductor` about it."
            }
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind)?;
        if self.offset > 0 {
            write!(f, " (at byte {})", self.offset)?;
        }
        if !self.path.is_empty() {
            write!(f, " in {}", self.path)?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Self {
            kind,
            offset: 0,
            path: String::new(),
            containers: Vec::new(),
            head: Vec::new(),
        }
    }
}
