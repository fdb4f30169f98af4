//! The folder in which a recorded program finds its recorder, and the variables with its settings.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{env, fmt};

use tempfile::TempDir;

use crate::account::accounts;
use crate::host::{HostGrowth, HostWatch};
use crate::outcome::Outcome;

/// The part that runs in the recorded program.
const RECORDER: &str = include_str!("sitecustomize.py");

/// The variables in which launchers pass a process its rank, as read by the recorder.
pub const RANKS: [&str; 4] = ["RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"];

/// Names the folder in which processes report and listen.
pub(crate) const RUN: &str = "VRAMSCOPE_RECORD_RUN";

/// What is recorded, and where it goes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// Where the snapshots go; created if needed.
    pub folder: PathBuf,
    /// Maximum number of events stored for each device; the newest stay.
    pub max_entries: u32,
    pub stacks: Stacks,
    /// The steps to record; if not given, all of them and everything before and after.
    pub steps: Option<Steps>,
    /// Write a file at each step whose number is a multiple of this.
    pub every: Option<u32>,
    /// Whether the snapshots include the text of the project's own source files.
    pub with_source: bool,
}

/// The frames to record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stacks {
    /// Frames of Python, C++ and the system: memory of the backward pass has no Python frames.
    All,
    /// Frames of Python only, at half the cost.
    Python,
}

/// Steps of the optimizer, counted from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Steps {
    /// The first recorded step.
    pub first: u32,
    /// The last recorded step; `None` records to the end of the program.
    pub last: Option<u32>,
}

impl fmt::Display for Steps {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}..", self.first)?;
        self.last.map_or(Ok(()), |last| write!(to, "{last}"))
    }
}

/// A program to be recorded. Dropping this removes its temporary files.
#[derive(Debug)]
pub struct Session {
    settings: Settings,
    temporary: TempDir,
}

impl Session {
    ///
    /// # Errors
    /// If the folders or the files in them cannot be created.
    pub fn new(settings: Settings) -> io::Result<Self> {
        fs::create_dir_all(&settings.folder)?;
        // The program may change its working folder.
        let folder = settings.folder.canonicalize()?;
        let temporary = tempfile::Builder::new()
            .prefix("vramscope-record-")
            .tempdir()?;
        fs::create_dir(temporary.path().join("run"))?;
        fs::create_dir(temporary.path().join("site"))?;
        fs::write(temporary.path().join("site/sitecustomize.py"), RECORDER)?;
        let settings = Settings { folder, ..settings };
        Ok(Self {
            settings,
            temporary,
        })
    }

    /// The absolute path of the snapshots' folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.settings.folder
    }

    /// Sets the variables for a command.
    pub fn prepare(&self, command: &mut Command) {
        let mut path: OsString = self.temporary.path().join("site").into();
        if let Some(before) = env::var_os("PYTHONPATH").filter(|before| !before.is_empty()) {
            path.push(":");
            path.push(before);
        }
        command.env("PYTHONPATH", path);
        let Settings { steps, every, .. } = &self.settings;
        let stacks = match self.settings.stacks {
            Stacks::All => "all",
            Stacks::Python => "python",
        };
        let text = |value: Option<String>| value.map(OsString::from);
        for (name, value) in [
            (RUN, Some(self.run_folder().into())),
            (
                "VRAMSCOPE_RECORD_FOLDER",
                Some(self.folder().as_os_str().to_owned()),
            ),
            (
                "VRAMSCOPE_RECORD_MAX_ENTRIES",
                text(Some(self.settings.max_entries.to_string())),
            ),
            ("VRAMSCOPE_RECORD_STACKS", text(Some(stacks.to_owned()))),
            (
                "VRAMSCOPE_RECORD_STEPS",
                text(steps.map(|steps| steps.to_string())),
            ),
            (
                "VRAMSCOPE_RECORD_EVERY",
                text(every.map(|every| every.to_string())),
            ),
            (
                "VRAMSCOPE_RECORD_SOURCE",
                self.settings.with_source.then(|| "1".into()),
            ),
        ] {
            // Keep an outer recording from mixing with this one.
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
    }

    /// Samples the processes' host memory, once each period. `tell` is called for each process whose memory certainly
    /// grows.
    #[must_use]
    pub fn watch_host(
        &self,
        period: Duration,
        tell: impl FnMut(HostGrowth) + Send + 'static,
    ) -> HostWatch {
        HostWatch::new(self.run_folder(), period, self.settings.max_entries, tell)
    }

    /// What the processes left, with remarks about it.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        let run = self.run_folder();
        let was_reached = run.join("python").exists();
        Outcome::of(&accounts(&run), was_reached, &self.settings)
    }

    fn run_folder(&self) -> PathBuf {
        self.temporary.path().join("run")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_recorder_reads_the_same_ranks() {
        assert!(RECORDER.contains(&format!(
            "_RANKS = ({})",
            RANKS.map(|it| format!("{it:?}")).join(", ")
        )));
    }
}
