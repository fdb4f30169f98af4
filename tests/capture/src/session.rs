//! A program, captured.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};

use tempfile::TempDir;
use vramscope_core::Snapshot;

use crate::ledger::Ledger;
use crate::programs;

/// What is to be captured, and how.
pub struct Session {
    folder: TempDir,
    options: Vec<String>,
    variables: Vec<(String, String)>,
}

/// What became of it.
pub struct Captured {
    /// Of the capture's program, which passes the captured one's on.
    pub status: ExitStatus,
    /// Of both.
    pub stdout: String,
    /// Of both.
    pub stderr: String,
    /// The snapshot, if one was written.
    pub snapshot: PathBuf,
    /// The stand-in's ledgers, one per process that used it.
    pub ledgers: Vec<Ledger>,
    /// Everything that was written; gone with this.
    pub folder: TempDir,
}

impl Default for Session {
    fn default() -> Self {
        Self::new()
    }
}

impl Session {
    /// With the options' defaults.
    ///
    /// # Panics
    ///
    /// Without a folder for temporary files.
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

    /// Passes options to the capture.
    #[must_use]
    pub fn with(mut self, options: &[&str]) -> Self {
        self.options.extend(options.iter().map(|&it| it.to_owned()));
        self
    }

    /// Sets a variable for both.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Where the snapshot goes.
    #[must_use]
    pub fn snapshot(&self) -> PathBuf {
        self.folder.path().join("snapshot.pickle")
    }

    /// Where everything goes.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// `vramscope-capture run … -- program arguments`.
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

    /// The program by itself, in the same surroundings.
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
            .env_remove("LD_PRELOAD")
            .env_remove("RUST_BACKTRACE")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        for (name, value) in &self.variables {
            command.env(name, value);
        }
    }

    /// Captures one of the clients from start to end.
    #[must_use]
    pub fn capture(self, client: &str, arguments: &[&str]) -> Captured {
        self.capture_program(&programs::client(client), arguments)
    }

    /// Captures any program.
    ///
    /// # Panics
    ///
    /// When the capture's program cannot be started.
    #[must_use]
    pub fn capture_program(self, program: &Path, arguments: &[&str]) -> Captured {
        let output = self.command(program, arguments).output();
        self.finish(output.expect("the capture's program starts"))
    }

    /// What a command that was started by hand left.
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
    /// The snapshot, decoded; its program ended well.
    ///
    /// # Panics
    ///
    /// When there is none, or it has a warning.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        read(&self.snapshot, &self.stderr)
    }

    /// The ledger of the one process that there was.
    ///
    /// # Panics
    ///
    /// When there was none, or several.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        match self.ledgers.as_slice() {
            [ledger] => ledger,
            ledgers => panic!("{} ledgers\n{}", ledgers.len(), self.stderr),
        }
    }
}

/// A snapshot without warnings.
///
/// # Panics
///
/// When it is not that; `context` says more.
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

/// Reads a child's output until it says `line`.
///
/// # Panics
///
/// When it ends before that.
pub fn wait_for(child: &mut Child, line: &str) {
    let output = child.stdout.as_mut().expect("its output is piped");
    let mut said = Vec::new();
    let mut byte = [0];
    while output.read(&mut byte).expect("its output") == 1 {
        said.extend(byte);
        if said.ends_with(format!("{line}\n").as_bytes()) {
            return;
        }
    }
    panic!("it only said {:?}", String::from_utf8_lossy(&said));
}
