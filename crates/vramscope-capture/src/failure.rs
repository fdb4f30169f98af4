//! The failure of a command: message, advice and exit code.

use std::fmt;
use std::io::{self, ErrorKind};

use vramscope_capture::ConvertError;

#[derive(Debug)]
pub(crate) struct Failure {
    /// What was tried and why it failed, or what is wrong.
    what: String,
    /// What the user can do; empty if unknown.
    advice: String,
    code: u8,
}

impl Failure {
    /// An input is wrong or an operation failed. Exit code 1.
    pub(crate) fn input(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            advice: String::new(),
            code: 1,
        }
    }

    /// The arguments contradict each other or do not suit this machine. Exit code 2.
    pub(crate) fn usage(what: impl Into<String>) -> Self {
        Self {
            code: 2,
            ..Self::input(what)
        }
    }

    /// For [`Result::map_err`]. `doing` is the failed operation, such as `cannot read x.raw`. Exit code 1.
    pub(crate) fn io(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let doing = doing.into();
        move |error| Self::input(format!("{doing}: {error}")).with_advice(advice_for(&error))
    }

    /// A log could not be converted. Exit code 1.
    pub(crate) fn conversion(log: &str, error: ConvertError) -> Self {
        match error {
            ConvertError::Io(error) => Self::io(format!("cannot read {log}"))(error),
            ConvertError::Log(error) => {
                let advice = error.advice();
                Self::input(format!("{log}: {error}")).with_advice(advice)
            }
        }
    }

    /// Adds advice for the user.
    pub(crate) fn with_advice(self, advice: impl Into<String>) -> Self {
        Self {
            advice: advice.into(),
            ..self
        }
    }

    /// Sets another exit code.
    pub(crate) fn with_code(self, code: u8) -> Self {
        Self { code, ..self }
    }

    pub(crate) fn exit_code(&self) -> u8 {
        self.code
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if !self.advice.is_empty() {
            write!(f, "\n  {}", self.advice)?;
        }
        Ok(())
    }
}

fn advice_for(error: &io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::NotFound => "The file or its folder does not exist.",
        ErrorKind::PermissionDenied => {
            "You do not have permission: change the permissions, or name another file or folder."
        }
        ErrorKind::IsADirectory => "This is a folder; name a file in it.",
        ErrorKind::StorageFull => "The disk is full: free some space, or write elsewhere.",
        _ => "",
    }
}
