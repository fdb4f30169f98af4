//! Why a file could not be read: what, where, and what to do about it.

use std::fmt;

use crate::model::ContainerKind;

/// A file that could not be read.
///
/// `Display` gives one line: what is wrong and where. [`Error::advice`] says what to do.
#[derive(Debug)]
pub struct Error {
    /// What is wrong.
    pub kind: ErrorKind,
    /// Offset in bytes into the unwrapped data at which it was noticed.
    pub offset: u64,
    /// The record in which it was noticed, e.g. `device_traces[0][1234].frames`; empty at the top.
    pub path: String,
    /// From the outermost wrapping inwards, as far as they were recognised.
    pub containers: Vec<ContainerKind>,
    /// The first bytes of the innermost data, at most 64: shown in hex for what is no known format.
    pub head: Vec<u8>,
}

/// What is wrong with a file.
#[derive(Debug, PartialEq, Eq, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// No bytes at all.
    #[error("the file is empty (0 bytes)")]
    Empty,
    /// A wrapping around no bytes at all.
    #[error("it unpacks to an empty file (0 bytes)")]
    EmptyInside,
    /// Ends in the middle.
    #[error("the file ends early: {0}")]
    Truncated(&'static str),
    /// No known format.
    #[error("this is no memory snapshot: neither pickle, JSON, HTML, gzip, zstd nor zip")]
    UnknownFormat,
    /// A file of a kind that is often mistaken for a snapshot.
    #[error("this is {0}, not a memory snapshot")]
    NotASnapshot(Lookalike),
    /// A zip archive of other things.
    #[error("none of the {files} files in this zip archive is a memory snapshot")]
    ArchiveWithout {
        /// How many files it holds, folders and what macOS adds not counted.
        files: u64,
    },
    /// A wrapping that is not read.
    #[error("{0} can't be read")]
    Unsupported(String),
    /// A packed snapshot of a version to come.
    #[error("this packed snapshot is of version {0}, which a newer vramscope has written")]
    NewerPacked(u8),
    /// A pickle or JSON whose value is no snapshot.
    #[error("the data is readable, but no memory snapshot: {0}")]
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
    /// A byte that is no opcode.
    #[error("0x{0:02x} is no pickle opcode")]
    UnknownOpcode(u8),
    /// A malformed pickle, JSON or container.
    #[error("{0}")]
    Malformed(String),
    /// A bound of [`Limits`](crate::Limits).
    #[error("refused: {what} exceeds the limit of {limit}")]
    Limit {
        /// What is too large.
        what: &'static str,
        /// The bound, in the unit that `what` names.
        limit: u64,
    },
    /// The caller asked to stop.
    #[error("cancelled")]
    Cancelled,
    /// The reader failed.
    #[error("reading failed: {0}")]
    Read(String),
}

/// Files that people drop by mistake.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
#[non_exhaustive]
pub enum Lookalike {
    /// A zip or pickle written by `torch.save`.
    TorchCheckpoint,
    /// A pickle of Python objects.
    ObjectPickle,
    /// JSON written by `torch.profiler` or Chrome.
    ChromeTrace,
    /// A memory timeline of `export_memory_timeline`.
    MemoryTimeline,
    /// HTML without an embedded snapshot.
    OtherHtml,
    /// The drawing-only HTML of torch 2.0.
    Torch20Html,
    /// Weights in the safetensors format.
    Safetensors,
    /// What a git repository holds in place of a large file.
    GitLfsPointer,
    /// A file of NUL bytes, as an interrupted copy leaves behind.
    Nuls,
    /// Graphs of torch.compile's inductor: see [`crate::analysis::inductor`].
    InductorGraphs,
}

impl fmt::Display for Lookalike {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TorchCheckpoint => "a checkpoint written by torch.save",
            Self::ObjectPickle => "a pickle of Python objects",
            Self::ChromeTrace => "a Chrome trace (torch.profiler's export_chrome_trace)",
            Self::MemoryTimeline => "a memory timeline (torch.profiler's export_memory_timeline)",
            Self::OtherHtml => "an HTML page without an embedded snapshot",
            Self::Torch20Html => "an HTML page of torch 2.0, which holds a drawing but no snapshot",
            Self::Safetensors => "a safetensors file of weights",
            Self::GitLfsPointer => {
                "a Git LFS pointer, which stands for a large file in a git repository"
            }
            Self::Nuls => "a file of NUL bytes, as an interrupted copy leaves behind",
            Self::InductorGraphs => "a TORCH_TRACE log or a graph of torch.compile",
        })
    }
}

impl Error {
    /// What the user can do about it, in one or two sentences.
    #[must_use]
    pub fn advice(&self) -> &'static str {
        match &self.kind {
            ErrorKind::Empty | ErrorKind::EmptyInside => {
                "The dump failed or recorded nothing: call torch.cuda.memory._record_memory_history() before \
                 _dump_snapshot(), and check that the disk was not full."
            }
            ErrorKind::Truncated(_) => {
                "The file was not written or copied completely. Copy it again, or dump it again and wait \
                 until _dump_snapshot() has returned."
            }
            ErrorKind::NotASnapshot(lookalike) => lookalike.advice(),
            ErrorKind::Unsupported(_) => "Unpack it and give the snapshot itself.",
            ErrorKind::NewerPacked(_) => "Open it with a newer vramscope.",
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
            ErrorKind::UnknownOpcode(_) | ErrorKind::Malformed(_) => {
                "The file is damaged or was not written by PyTorch. Copy it again in binary mode; if that \
                 does not help, please report it with the offset."
            }
            ErrorKind::Limit { .. } => {
                "The file costs more than a genuine snapshot of its size could. If it is genuine, please \
                 report it."
            }
            ErrorKind::Cancelled => "Open it again to read it from the start.",
            ErrorKind::Read(_) => "Check that the file still exists and can be read.",
        }
    }
}

impl Lookalike {
    fn advice(self) -> &'static str {
        match self {
            Self::TorchCheckpoint | Self::Safetensors | Self::ObjectPickle => {
                "Give the file that torch.cuda.memory._dump_snapshot() writes. Weights and objects are not read."
            }
            Self::ChromeTrace | Self::MemoryTimeline => {
                "Open it in Perfetto. For memory, record with torch.cuda.memory._record_memory_history() and \
                 give the file of _dump_snapshot()."
            }
            Self::OtherHtml => {
                "Give HTML written by torch's trace_plot or segment_plot (torch 2.1 or newer), or the pickle \
                 itself. A download may have saved a web page in place of the file."
            }
            Self::GitLfsPointer => "Fetch the file itself with `git lfs pull`, then open it again.",
            Self::Torch20Html => "Give the pickle from which that page was made.",
            Self::Nuls => "Copy it again, or dump it again.",
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
