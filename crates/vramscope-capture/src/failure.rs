//! Why a command ended without doing its work, and with which exit code.

use std::fmt;
use std::io::{self, ErrorKind};

/// A command that failed.
#[derive(Debug)]
pub(crate) struct Failure {
    /// What was tried and why it failed, or what is wrong.
    what: String,
    /// What there is to do; empty for nothing that we know.
    cure: String,
    code: u8,
}

impl Failure {
    /// Something that was given, or asked for, is wrong. Exit code 1.
    pub(crate) fn input(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            cure: String::new(),
            code: 1,
        }
    }

    /// The arguments contradict each other or this machine. Exit code 2.
    pub(crate) fn usage(what: impl Into<String>) -> Self {
        Self {
            code: 2,
            ..Self::input(what)
        }
    }

    /// For [`Result::map_err`]: `doing` is what was tried, e.g. `cannot read x.raw`. Exit code 1.
    pub(crate) fn io(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let doing = doing.into();
        move |error| Self::input(format!("{doing}: {error}")).with_cure(cure(&error))
    }

    /// The same with what to do about it.
    pub(crate) fn with_cure(self, cure: impl Into<String>) -> Self {
        Self {
            cure: cure.into(),
            ..self
        }
    }

    /// The same with another exit code.
    pub(crate) fn with_code(self, code: u8) -> Self {
        Self { code, ..self }
    }

    /// The exit code of the whole program.
    pub(crate) fn exit_code(&self) -> u8 {
        self.code
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if !self.cure.is_empty() {
            write!(f, "\n  {}", self.cure)?;
        }
        Ok(())
    }
}

fn cure(error: &io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::NotFound => {
            "There is no such file, or the folder it is to be in does not exist."
        }
        ErrorKind::PermissionDenied => {
            "You have no right to it: have it granted, or name another file or folder."
        }
        ErrorKind::IsADirectory => "This is a folder; name a file in it.",
        ErrorKind::StorageFull => "The disk is full: make room, or write elsewhere.",
        _ => "",
    }
}
