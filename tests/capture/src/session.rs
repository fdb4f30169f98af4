//! Runs a program under the capture.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};

use tempfile::TempDir;
use vramscope_core::Snapshot;

use crate::ledger::Ledger;
use crate::programs;

/// Options for a captured run.
pub struct Session {
    folder: TempDir,
    options: Vec<String>,
    variables: Vec<(String, String)>,
}

/// Results of a captured run.
pub struct Captured {
    /// Exit status of vramscope-capture, which passes on that of the program.
    pub status: ExitStatus,
    /// Standard output of both processes.
    pub stdout: String,
    /// Standard error of both processes.
    pub stderr: String,
    /// Path of the snapshot, which may not exist.
    pub snapshot: PathBuf,
    /// Ledgers of the stand-in driver, one for each process that used it.
    pub ledgers: Vec<Ledger>,
    /// Folder with all files; removed with this value.
    pub folder: TempDir,
}

impl Default for Session {
    fn default() -> Self {
        Self::new()
    }
}

impl Session {
    /// A session with default options.
    ///
    /// # Panics
    ///
    /// If no temporary folder can be created.
    #[must_use]
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for name in ["ledgers", "raw"] {
            fs::create_dir(folder.path().join(name)).expect("a folder");
        }
        Self {
            folder,
            options: Vec::new(),
            variables: Vec::new(),
        }
    }

    /// Adds options for vramscope-capture.
    #[must_use]
    pub fn with(mut self, options: &[&str]) -> Self {
        self.options.extend(options.iter().map(|&it| it.to_owned()));
        self
    }

    /// Sets an environment variable for both processes.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Path of the snapshot.
    #[must_use]
    pub fn snapshot(&self) -> PathBuf {
        self.folder.path().join("snapshot.pickle")
    }

    /// Folder for all files.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The command `vramscope-capture run … -- program arguments`.
    #[must_use]
    pub fn command(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(programs::capture());
        command.arg("run").arg("-o").arg(self.snapshot());
        command
            .args(&self.options)
            .arg("--")
            .arg(program)
            .args(arguments);
        self.prepare(&mut command);
        command
    }

    /// The program without a capture, in the same environment.
    #[must_use]
    pub fn alone(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments);
        self.prepare(&mut command);
        command
    }

    fn prepare(&self, command: &mut Command) {
        command
            .env("LD_LIBRARY_PATH", programs::fakecuda())
            .env("FAKECUDA_LEDGER", self.folder.path().join("ledgers"))
            .env("XDG_CACHE_HOME", self.folder.path().join("cache"))
            .env_remove("LD_PRELOAD")
            .env_remove("RUST_BACKTRACE")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        for (name, value) in &self.variables {
            command.env(name, value);
        }
    }

    /// Captures one of the clients.
    #[must_use]
    pub fn capture(self, client: &str, arguments: &[&str]) -> Captured {
        self.capture_program(&programs::client(client), arguments)
    }

    /// Captures any program.
    ///
    /// # Panics
    ///
    /// If vramscope-capture cannot be started.
    #[must_use]
    pub fn capture_program(self, program: &Path, arguments: &[&str]) -> Captured {
        let output = self.command(program, arguments).output();
        self.finish(output.expect("the capture's program starts"))
    }

    /// Collects the results of a command that the test started itself.
    #[must_use]
    pub fn finish(self, output: Output) -> Captured {
        Captured {
            status: output.status,
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            snapshot: self.snapshot(),
            ledgers: Ledger::all(&self.folder.path().join("ledgers")),
            folder: self.folder,
        }
    }
}

impl Captured {
    /// Decodes the snapshot of a program that succeeded.
    ///
    /// # Panics
    ///
    /// If there is no snapshot, or if it has a warning.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        read(&self.snapshot, &self.stderr)
    }

    /// The ledger of the only process.
    ///
    /// # Panics
    ///
    /// If there is no process, or more than one.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        match self.ledgers.as_slice() {
            [ledger] => ledger,
            ledgers => panic!("{} ledgers\n{}", ledgers.len(), self.stderr),
        }
    }
}

/// Decodes a snapshot without warnings.
///
/// # Panics
///
/// If it cannot be decoded or has a warning. `context` is added to the message.
#[must_use]
pub fn read(path: &Path, context: &str) -> Snapshot {
    let bytes =
        fs::read(path).unwrap_or_else(|error| panic!("{}: {error}\n{context}", path.display()));
    let snapshot = vramscope_core::decode(bytes.as_slice())
        .unwrap_or_else(|error| panic!("{}: {error}\n{context}", path.display()));
    assert!(
        snapshot.warnings.is_empty(),
        "{:?}\n{context}",
        snapshot.warnings.list()
    );
    snapshot
}

/// Reads a child's output up to `line`.
///
/// # Panics
///
/// If the output ends before.
pub fn wait_for(child: &mut Child, line: &str) {
    let output = child.stdout.as_mut().expect("its output is piped");
    let mut read = Vec::new();
    let mut byte = [0];
    while output.read(&mut byte).expect("its output") == 1 {
        read.extend(byte);
        if read.ends_with(format!("{line}\n").as_bytes()) {
            return;
        }
    }
    panic!("its output was only {:?}", String::from_utf8_lossy(&read));
}
