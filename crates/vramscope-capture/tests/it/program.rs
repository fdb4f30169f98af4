//! Runs the built binary in a temporary folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;
use vramscope_core::Snapshot;
use vramscope_record::layout::{Call, Event, header};
use vramscope_record::writer::LogWriter;

/// A temporary working folder.
pub(crate) struct Place {
    folder: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("tmp")).unwrap();
        Self { folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The binary with these arguments, in this folder.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_vramscope-capture"));
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env("TMPDIR", self.path("tmp"))
            .env("XDG_CACHE_HOME", self.path("cache"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        for variable in [
            "LD_PRELOAD",
            "LD_LIBRARY_PATH",
            "NVTX_INJECTION64_PATH",
            "PYTHONPERFSUPPORT",
            "RANK",
            "SLURM_PROCID",
        ] {
            command.env_remove(variable);
        }
        command
    }

    /// Exit code and output of the binary with these arguments.
    pub(crate) fn capture(&self, arguments: &[&str]) -> String {
        self.transcript(&self.command(arguments).output().unwrap())
    }

    /// Runs a shell script under `run` with these options.
    pub(crate) fn run_script(&self, options: &[&str], script: &str) -> String {
        let program = ["--", "sh", "-c", script];
        self.capture(&[&["run"], options, &program].concat())
    }

    pub(crate) fn transcript(&self, output: &Output) -> String {
        let code = output.status.code().unwrap();
        let here = self.folder.path().to_str().unwrap();
        let text = |bytes: &[u8]| {
            without_sizes(
                &String::from_utf8(bytes.to_vec())
                    .unwrap()
                    .replace(here, "/HERE"),
            )
        };
        format!(
            "exit code {code}\n--- stdout\n{}--- stderr\n{}",
            text(&output.stdout),
            text(&output.stderr)
        )
    }

    /// Names of the files in the folder, and of remaining temporary files.
    pub(crate) fn files(&self) -> Vec<String> {
        let names = |folder: &Path| {
            let entries = fs::read_dir(folder).unwrap();
            let mut names: Vec<_> = entries
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            names
        };
        let mut files = names(self.folder.path());
        files.retain(|name| name != "tmp" && name != "cache");
        files.extend(
            names(&self.path("tmp"))
                .into_iter()
                .map(|name| format!("tmp/{name}")),
        );
        files
    }

    /// The snapshots in the folder, by name.
    pub(crate) fn snapshots(&self) -> Vec<String> {
        let mut files = self.files();
        files.retain(|name| name.ends_with(".pickle"));
        files
    }

    /// The logs that runs left in a raw folder.
    pub(crate) fn logs(&self, folder: &str) -> Vec<PathBuf> {
        let entries = |folder: &Path| {
            let entries = fs::read_dir(folder).into_iter().flatten();
            entries.map(|entry| entry.unwrap().path())
        };
        let runs = entries(&self.path(folder));
        let mut logs: Vec<_> = runs.flat_map(|run| entries(&run)).collect();
        logs.retain(|path| path.extension().is_some_and(|ending| ending == "raw"));
        logs
    }

    pub(crate) fn snapshot(&self, name: &str) -> Snapshot {
        let bytes = fs::read(self.path(name)).unwrap();
        vramscope_core::decode(bytes.as_slice()).unwrap()
    }

    /// Writes a log with this many allocations of 1 MiB each.
    pub(crate) fn log(&self, name: &str, allocations: u64) {
        fs::write(self.path(name), log(allocations).bytes()).unwrap();
    }
}

/// Writes logs of processes with these ids and ranks, named `0.raw` and so on. Returns a script that puts them where a
/// program's logs would be.
pub(crate) fn leave_logs(place: &Place, processes: &[(u64, Option<u32>)]) -> String {
    let leave = |(number, &(process, rank)): (usize, &(u64, Option<u32>))| {
        let mut log = log(3);
        log.set_u64(header::PROCESS, process);
        log.set_u64(header::CREATED_NS, number as u64);
        log.set_u32(header::RANK, rank.map_or(0, |rank| rank + 1));
        let name = format!("{number}.raw");
        fs::write(place.path(&name), log.bytes()).unwrap();
        leave_log(&name, &format!("{process}-1.raw"))
    };
    let scripts: Vec<_> = processes.iter().enumerate().map(leave).collect();
    scripts.join(";")
}

/// A log with this many allocations of 1 MiB each, by a process that does not exist.
pub(crate) fn log(allocations: u64) -> LogWriter {
    let mut log = LogWriter::default();
    log.set_u64(header::CREATED_NS, 1_700_000_000_000_000_000);
    // Process ids never reach this number.
    log.set_u64(header::PROCESS, 1 << 40);
    log.program(&["/opt/solver", "solver", "--fast"]);
    for number in 0..allocations {
        log.event(Event {
            time_ns: 1_700_000_000_000_000_000 + number * 1000,
            address: (1 << 40) + (number << 21),
            size_bytes: 1 << 20,
            mapping_base: (1 << 40) + (number << 21),
            mapping_bytes: 2 << 20,
            context: 1,
            thread: 1,
            call: Call::cuMemAlloc as u8,
            ..Event::default()
        });
    }
    log
}

/// A shell command that atomically puts a file where a program's log would be.
pub(crate) fn leave_log(from: &str, name: &str) -> String {
    let folder = "\"${VRAMSCOPE_CAPTURE##*folder=}\"";
    format!("cp {from} {folder}/copy && mv {folder}/copy {folder}/{name}")
}

/// Replaces file sizes, which depend on other crates.
fn without_sizes(text: &str) -> String {
    let lines = text.lines().map(|line| match line.split_once("pickle (") {
        Some((name, rest)) => {
            let rest = rest.split_once(')').unwrap().1;
            format!("{name}pickle (SIZE){rest}\n")
        }
        None => format!("{line}\n"),
    });
    lines.collect()
}
