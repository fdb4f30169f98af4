//! Starts a program with the injected library. Apart from a few environment variables, it runs as if its user had
//! started it.
#![expect(
    unsafe_code,
    reason = "makes system calls that the standard library lacks"
)]

pub(crate) mod driver_watch;
mod elf_file;
pub(crate) mod environment;
pub(crate) mod library;
pub(crate) mod program;
pub(crate) mod python;
mod signals;

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use self::environment::Environment;
pub(crate) use self::signals::{UnfinishedFile, clear_interruption, set_interruption};

pub(crate) struct Running {
    process: u32,
    end: Receiver<io::Result<ExitStatus>>,
}

impl Running {
    /// Starts a program. From now on, signals to this process are forwarded to it.
    ///
    /// # Errors
    /// If the program cannot be started.
    pub(crate) fn start(command: &[OsString], environment: &Environment) -> io::Result<Self> {
        let (name, arguments) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let variables = environment
            .variables
            .iter()
            .map(|(name, value)| (name, value));
        signals::catch()?;
        let child = Command::new(name).args(arguments).envs(variables).spawn()?;
        let process = child.id();
        let (sender, end) = channel();
        thread::spawn(move || sender.send(wait_and_forward(child)));
        Ok(Self { process, end })
    }

    pub(crate) fn process(&self) -> u32 {
        self.process
    }

    /// Waits for the program's end for at most `patience`. `None` if it is still running.
    ///
    /// # Errors
    /// If waiting fails.
    pub(crate) fn wait(&self, patience: Duration) -> io::Result<Option<ExitStatus>> {
        match self.end.recv_timeout(patience) {
            Ok(status) => status.map(Some),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(io::Error::other(
                "the thread that waits for the program has ended",
            )),
        }
    }
}

/// Runs another program in the foreground and forwards signals to it.
///
/// # Errors
/// If the program cannot be started.
pub(crate) fn run(command: &mut Command) -> io::Result<ExitStatus> {
    signals::catch()?;
    wait_and_forward(command.spawn()?)
}

/// Waits for a program, forwarding signals to it.
fn wait_and_forward(mut child: Child) -> io::Result<ExitStatus> {
    signals::forward_to(child.id().cast_signed());
    // SAFETY: all zeros are a valid `siginfo_t`.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    loop {
        // WNOWAIT keeps the ended process's id reserved until signals are no longer forwarded to it.
        // SAFETY: `info` is a valid out-pointer.
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
    signals::stop_forwarding()?;
    child.wait()
}

/// The program's exit code as in a shell: its own, or 128 plus the number of the signal that ended it.
pub(crate) fn exit_code(status: ExitStatus) -> u8 {
    let code = status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok())
        .unwrap_or(u8::MAX)
}
