//! What recorded processes report about themselves: a file for each, with a line for each event.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

#[derive(Deserialize, Clone, Default, Debug)]
#[serde(default)]
pub(crate) struct Line {
    pub(crate) event: String,
    pub(crate) rank: Option<u32>,
    /// torch's version, once it was imported.
    pub(crate) version: String,
    /// Whether torch can record.
    pub(crate) can: bool,
    pub(crate) cuda: bool,
    pub(crate) hip: bool,
    pub(crate) xpu: bool,
    pub(crate) npu: bool,
    /// The allocator, once a device was used.
    pub(crate) backend: String,
    /// Of a file that was written.
    pub(crate) path: PathBuf,
    /// Empty for the file at the end.
    pub(crate) moment: String,
    pub(crate) step: u64,
    /// Whether the trace is full, so that earlier events are gone.
    pub(crate) full: bool,
    /// The error message.
    pub(crate) text: String,
}

/// What one process reported.
#[derive(Clone, Default, Debug)]
pub(crate) struct Account {
    pub(crate) process: u32,
    pub(crate) lines: Vec<Line>,
}

impl Account {
    /// The first line about this event.
    pub(crate) fn first(&self, event: &str) -> Option<&Line> {
        self.all(event).next()
    }

    /// All lines about this event.
    pub(crate) fn all(&self, event: &str) -> impl Iterator<Item = &Line> {
        self.lines.iter().filter(move |line| line.event == event)
    }

    /// How many optimizer steps it has reported.
    pub(crate) fn steps(&self) -> u64 {
        let steps = self.lines.iter().map(|line| line.step);
        steps.max().unwrap_or(0)
    }

    /// `rank 3 (process 4711)`.
    pub(crate) fn name(&self) -> String {
        let rank = self.lines.iter().rev().find_map(|line| line.rank);
        rank.map_or_else(
            || format!("process {}", self.process),
            |rank| format!("rank {rank} (process {})", self.process),
        )
    }
}

/// All accounts in a folder, ordered by process. Malformed lines are left out.
pub(crate) fn accounts(run: &Path) -> Vec<Account> {
    let entries = fs::read_dir(run).into_iter().flatten().flatten();
    let mut accounts: Vec<Account> = entries.filter_map(|entry| read(&entry.path())).collect();
    accounts.sort_by_key(|account| account.process);
    accounts
}

fn read(path: &Path) -> Option<Account> {
    let name = path.file_name()?.to_str()?;
    let process = name.strip_suffix(".json")?.parse().ok()?;
    let text = fs::read_to_string(path).ok()?;
    let lines = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    let lines = lines.collect();
    Some(Account { process, lines })
}
