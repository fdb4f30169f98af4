//! One run of the program under limits.

use std::fs::File;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result};
use wait4::{ResUse, Wait4 as _};

/// Address space of a run in KiB: many times what files of a few MiB need.
const ADDRESS_SPACE_KIB: u64 = 1 << 20;

/// Processor time of a run in seconds. The files take milliseconds; the machine may be slow and busy.
const CPU_SECONDS: u64 = 20;

/// The largest file that a run may write, in blocks of 512 bytes.
pub(crate) const FILE_BLOCKS: u64 = 1 << 20;

/// The longest that a run may take, including waiting.
const PATIENCE: Duration = Duration::from_secs(180);

/// A run that has ended.
pub(crate) struct Ended {
    /// `None` if it had to be killed because it hung.
    pub(crate) status: Option<ExitStatus>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
    pub(crate) cpu: Duration,
    /// Peak resident bytes.
    pub(crate) resident_bytes: u64,
}

impl Ended {
    /// The exit code; `None` if a signal ended it.
    pub(crate) fn code(&self) -> Option<i32> {
        self.status.and_then(|status| status.code())
    }

    /// The signal that ended it.
    pub(crate) fn signal(&self) -> Option<i32> {
        self.status.and_then(|status| status.signal())
    }
}

/// The file in its folder to which a run prints.
pub(crate) const STDOUT: &str = ".stdout";
const STDERR: &str = ".stderr";

/// Runs the program in a folder, where its output stays in `.stdout` and `.stderr`.
///
/// # Errors
///
/// If it cannot be started.
pub(crate) fn run(program: &Path, words: &[String], folder: &Path) -> Result<Ended> {
    run_with(program, words, folder, None, FILE_BLOCKS)
}

/// Runs the program in a folder, with a file of that folder as standard input, or with another limit on the blocks that
/// it may write.
///
/// # Errors
///
/// If it cannot be started.
pub(crate) fn run_with(
    program: &Path,
    words: &[String],
    folder: &Path,
    stdin: Option<&str>,
    file_blocks: u64,
) -> Result<Ended> {
    let stdin = match stdin {
        Some(name) => File::open(folder.join(name))?.into(),
        None => Stdio::null(),
    };
    let out = File::create(folder.join(STDOUT))?;
    let mut command = limited(program, words, folder, file_blocks)?;
    command.stdin(stdin).stdout(out);
    wait(command.spawn().context("cannot start sh")?, folder)
}

/// Starts the program under the limits.
///
/// # Errors
///
/// If it cannot be started.
pub(crate) fn start(
    program: &Path,
    words: &[String],
    folder: &Path,
    stdout: Stdio,
) -> Result<Child> {
    let mut command = limited(program, words, folder, FILE_BLOCKS)?;
    command.stdin(Stdio::null()).stdout(stdout);
    command.spawn().context("cannot start sh")
}

fn limited(program: &Path, words: &[String], folder: &Path, file_blocks: u64) -> Result<Command> {
    // The shell's limits also hold for the program that replaces it. Not every system has each of them.
    let script = format!(
        "ulimit -c 0; ulimit -v {ADDRESS_SPACE_KIB} 2>&-; ulimit -t {CPU_SECONDS}; ulimit -f {file_blocks}; exec \"$0\" \"$@\""
    );
    let mut command = Command::new("sh");
    command
        .args(["-c", &script])
        .arg(program)
        .args(words)
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .stderr(File::create(folder.join(STDERR))?);
    Ok(command)
}

/// Sends a signal such as `INT`. A program that has ended does not get it.
pub(crate) fn send(signal: &str, child: &Child) {
    let mut kill = Command::new("kill");
    kill.args([&format!("-{signal}"), &child.id().to_string()]);
    let _sent = kill.stderr(Stdio::null()).status();
}

/// Waits for the program.
///
/// # Errors
///
/// If that fails, or its output cannot be read.
pub(crate) fn wait(child: Child, folder: &Path) -> Result<Ended> {
    let id = child.id();
    let (send, receive) = mpsc::channel();
    let waiting = thread::spawn(move || {
        let ended = child.wait4();
        let _received = send.send(());
        ended
    });
    let is_over = receive.recv_timeout(PATIENCE).is_ok();
    if !is_over {
        let mut kill = Command::new("kill");
        let _killed = kill.args(["-9", &id.to_string()]).status();
    }
    let ended: ResUse = waiting
        .join()
        .ok()
        .context("nobody waited for the program")??;
    Ok(Ended {
        status: is_over.then_some(ended.status),
        stdout: std::fs::read(folder.join(STDOUT))?,
        stderr: String::from_utf8_lossy(&std::fs::read(folder.join(STDERR))?).into_owned(),
        cpu: ended.rusage.utime + ended.rusage.stime,
        resident_bytes: ended.rusage.maxrss,
    })
}
