//! Why a command ended without doing its work, and with which exit code.

use std::fmt;
use std::io;

/// A command that failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A file that could be read but not decoded.
    Decode {
        /// As the user named it.
        file: String,
        /// Why.
        error: Box<vramscope_core::Error>,
    },
    /// A file that could not be read or written, or a server that could not start.
    Io {
        /// What was tried, e.g. `cannot read x.pickle`.
        doing: String,
        /// Why it failed.
        error: io::Error,
    },
    /// The input lacks what the command needs.
    Input(String),
    /// The arguments contradict each other or this program.
    Usage(String),
    /// The file was read, and is not as the user demands.
    Broken(String),
    /// Standard output was closed by its reader: no failure of ours.
    ClosedPipe,
}

impl Failure {
    /// For [`Result::map_err`] on input and output.
    pub(crate) fn io(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let doing = doing.into();
        move |error| Self::Io { doing, error }
    }

    /// The exit code of the whole program.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Broken(_) => 3,
            Self::ClosedPipe => 0,
            Self::Decode { .. } | Self::Io { .. } | Self::Input(_) => 1,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Decode { file, error } => write_decode_error(f, file, error),
            Self::Io { doing, error } => write!(f, "{doing}: {error}"),
            Self::Input(text) | Self::Usage(text) | Self::Broken(text) => f.write_str(text),
            Self::ClosedPipe => f.write_str("standard output was closed"),
        }
    }
}

fn write_decode_error(
    f: &mut fmt::Formatter<'_>,
    file: &str,
    error: &vramscope_core::Error,
) -> fmt::Result {
    write!(f, "{file}: {error}")?;
    if matches!(error.kind, vramscope_core::ErrorKind::UnknownFormat) && !error.head.is_empty() {
        let head = &error.head[..error.head.len().min(16)];
        let hex: Vec<_> = head.iter().map(|byte| format!("{byte:02x}")).collect();
        let text: String = head.iter().map(|&byte| printable(byte)).collect();
        write!(f, "\n  It begins with {}  {text}", hex.join(" "))?;
    }
    write!(f, "\n  {}", error.advice())
}

fn printable(byte: u8) -> char {
    if byte.is_ascii_graphic() || byte == b' ' {
        char::from(byte)
    } else {
        '.'
    }
}
