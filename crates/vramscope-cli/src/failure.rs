//! The reasons why a command fails, and their exit codes.

use std::fmt;
use std::io::{self, ErrorKind};
use std::path::{self, Path};

use vramscope_core::container::is_log;

use crate::harmless::printable;

/// A command that failed. `Display` is the message for the user: what, where, and what to do.
#[derive(Debug)]
pub enum Failure {
    /// A file that could be read but not decoded.
    Decode {
        /// The file as the user named it.
        file: String,
        /// Where and why.
        error: Box<vramscope_core::Error>,
    },
    /// A file that could not be read or written, or a server that could not start.
    Io {
        /// The attempt, e.g. `cannot read x.pickle`.
        doing: String,
        error: io::Error,
        /// Advice for the user; empty if there is none.
        cure: String,
    },
    /// The input lacks what the command needs.
    Input(String),
    /// The arguments contradict each other or this program.
    Usage(String),
    /// The file was read, but breaks a limit that the user set.
    Broken(String),
    /// A program that was run for the user and failed; its exit code becomes this one's.
    Ended {
        code: u8,
        /// How it ended; empty if the program itself said so.
        text: String,
    },
    /// A failure with lines below it, such as advice.
    Explained {
        failure: Box<Self>,
        lines: Vec<String>,
    },
    /// The reader of standard output closed it, as `head` does: not a failure, unless there is another.
    ClosedPipe,
}

impl Failure {
    /// Wraps an I/O error, for [`Result::map_err`].
    pub(crate) fn io(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let doing = doing.into();
        move |error| Self::Io {
            doing,
            cure: cure(&error).to_owned(),
            error,
        }
    }

    /// The failure of a page that cannot be served.
    pub(crate) fn page(error: vramscope_serve::Error) -> Self {
        match error {
            vramscope_serve::Error::Io { doing, error } => Self::io(doing)(error),
            vramscope_serve::Error::Page(_) => Self::Usage(error.to_string()),
        }
    }

    /// The failure for a file that could not be read.
    pub(crate) fn unread(path: &Path, error: io::Error) -> Self {
        let cure = match error.kind() {
            ErrorKind::NotFound => looked_for(path),
            _ => cure(&error).to_owned(),
        };
        let doing = format!("cannot read {}", path.display());
        Self::Io { doing, error, cure }
    }

    /// The same with lines below it. Line breaks inside a text are removed: they may come from a file.
    pub(crate) fn followed_by(self, lines: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let failure = Box::new(self);
        let lines = lines.into_iter().map(Into::into).collect();
        Self::Explained { failure, lines }
    }

    /// The reason, in one line, where the file is already named.
    pub(crate) fn why(&self) -> String {
        match self {
            Self::Decode { error, .. } => printable(&error.to_string()),
            Self::Io { error, .. } => printable(&error.to_string()),
            Self::Explained { failure, .. } => failure.why(),
            other => other.to_string(),
        }
    }

    /// Whether the arguments are wrong.
    pub(crate) fn is_usage(&self) -> bool {
        self.exit_code() == 2
    }

    /// The exit code of the whole program. If several things fail in one run, the highest counts.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::ClosedPipe => 0,
            Self::Decode { .. } | Self::Io { .. } | Self::Input(_) => 1,
            Self::Usage(_) => 2,
            Self::Broken(_) => 3,
            Self::Ended { code, .. } => *code,
            Self::Explained { failure, .. } => failure.exit_code(),
        }
    }
}

/// The message for the user. Each text goes through `printable`, since names in it come from files.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Decode { file, error } => write_decode_error(f, file, error),
            Self::Io { doing, error, cure } => {
                f.write_str(&printable(&format!("{doing}: {error}")))?;
                let lines: &[_] = if cure.is_empty() { &[] } else { &[cure] };
                write_below(f, lines)
            }
            Self::Input(text)
            | Self::Usage(text)
            | Self::Broken(text)
            | Self::Ended { text, .. } => f.write_str(&printable(text)),
            Self::Explained { failure, lines } => {
                write!(f, "{failure}")?;
                write_below(f, lines)
            }
            Self::ClosedPipe => f.write_str("standard output was closed"),
        }
    }
}

fn write_below(f: &mut fmt::Formatter<'_>, lines: &[impl AsRef<str>]) -> fmt::Result {
    lines
        .iter()
        .try_for_each(|line| write!(f, "\n  {}", printable(line.as_ref())))
}

/// Advice for a write error, or an error of running something.
fn cure(error: &io::Error) -> &'static str {
    match error.kind() {
        // An output file may be missing, but its folder must exist.
        ErrorKind::NotFound => "Its folder does not exist: create it, or name another.",
        ErrorKind::PermissionDenied => {
            "You do not have permission: ask for it, or name another file, folder or port."
        }
        ErrorKind::IsADirectory => "This is a folder; name a file in it.",
        ErrorKind::FileTooLarge => {
            "A limit forbids files of this size (see `ulimit -f`): raise it, or write elsewhere."
        }
        ErrorKind::StorageFull => "The disk is full: make room, or write elsewhere.",
        _ => "",
    }
}

/// Names the folder in which a missing file was looked for.
fn looked_for(path: &Path) -> String {
    let absolute = path::absolute(path).unwrap_or_else(|_| path.to_owned());
    match absolute.parent() {
        Some(folder) if folder.is_dir() => {
            format!("The folder {} has no file of that name.", folder.display())
        }
        Some(folder) => format!("There is no folder {}.", folder.display()),
        None => String::new(),
    }
}

fn write_decode_error(
    f: &mut fmt::Formatter<'_>,
    file: &str,
    error: &vramscope_core::Error,
) -> fmt::Result {
    f.write_str(&printable(&format!("{file}: {error}")))?;
    let is_unknown = matches!(error.kind, vramscope_core::ErrorKind::UnknownFormat);
    if is_unknown && !error.head.is_empty() {
        let head = &error.head[..error.head.len().min(16)];
        let hex: Vec<_> = head.iter().map(|byte| format!("{byte:02x}")).collect();
        let text: String = head.iter().map(|&byte| graphic(byte)).collect();
        write!(f, "\n  It begins with {}  {text}", hex.join(" "))?;
    }
    let advice = match is_unknown && is_log(&error.head) {
        true => {
            "If it is a log, or the text of an error: `vramscope text` says why memory ran out."
        }
        false => error.advice(),
    };
    write_below(f, &[advice])
}

fn graphic(byte: u8) -> char {
    if byte.is_ascii_graphic() || byte == b' ' {
        char::from(byte)
    } else {
        '.'
    }
}
