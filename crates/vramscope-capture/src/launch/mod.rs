//! Starts a program with the library in it: as if its user had started it, but for a few variables.
#![expect(
    unsafe_code,
    reason = "asks and tells the system what the standard library cannot"
)]

pub(crate) mod environment;
pub(crate) mod library;
pub(crate) mod program;
mod signals;
pub(crate) mod witness;

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use self::environment::Environment;
pub(crate) use self::signals::{forget_last_words, leave_last_words};

/// A program that was started.
pub(crate) struct Running {
    process: u32,
    end: Receiver<io::Result<ExitStatus>>,
}

impl Running {
    /// Starts a program. From now on signals to us are for it.
    ///
    /// # Errors
    /// When the system does not start it.
    pub(crate) fn start(command: &[OsString], environment: &Environment) -> io::Result<Self> {
        let (name, arguments) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let variables = environment
            .variables
            .iter()
            .map(|(name, value)| (name, value));
        signals::keep()?;
        let child = Command::new(name).args(arguments).envs(variables).spawn()?;
        let process = child.id();
        let (sender, end) = channel();
        thread::spawn(move || sender.send(attend(child)));
        Ok(Self { process, end })
    }

    /// Its process id.
    pub(crate) fn process(&self) -> u32 {
        self.process
    }

    /// How it ended; `None` if it has not yet within this time.
    ///
    /// # Errors
    /// When the system does not say.
    pub(crate) fn wait(&self, patience: Duration) -> io::Result<Option<ExitStatus>> {
        match self.end.recv_timeout(patience) {
            Ok(status) => status.map(Some),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => {
                Err(io::Error::other("nobody waits for the program"))
            }
        }
    }
}

/// Runs another program in the foreground, as if it were this one.
///
/// # Errors
/// When the system does not start it.
pub(crate) fn run(command: &mut Command) -> io::Result<ExitStatus> {
    signals::keep()?;
    attend(command.spawn()?)
}

/// Waits for a program, while signals are for it.
fn attend(mut child: Child) -> io::Result<ExitStatus> {
    signals::pass_on_to(child.id().cast_signed());
    // SAFETY: all zeros are a valid `siginfo_t`.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    loop {
        // Until it has ended but still has its number: from then on nobody else may get its signals.
        // SAFETY: `info` is a place for the answer.
        let result = unsafe {
            libc::waitid(
                libc::P_PID,
                child.id(),
                &raw mut info,
                libc::WEXITED | libc::WNOWAIT,
            )
        };
        if result == 0 || io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            break;
        }
    }
    signals::release()?;
    child.wait()
}

/// The exit code that shells give a program that ended so: its own, or 128 and the signal that ended it.
pub(crate) fn exit_code(status: ExitStatus) -> u8 {
    let code = status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok())
        .unwrap_or(u8::MAX)
}
