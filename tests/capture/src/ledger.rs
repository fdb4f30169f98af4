//! Reads the stand-in driver's ledger. Its format is described in fakecuda's `ledger.rs`.

use std::fs;
use std::path::Path;

use serde::Deserialize;

/// The kind of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "fakecuda says what they are")]
pub enum Do {
    Map,
    Unmap,
    Alloc,
    Free,
    Oom,
    Fail,
    HostAlloc,
    HostFree,
    Array,
    ArrayFree,
    Create,
    Release,
    Pool,
    PoolEnd,
    ContextEnd,
}

/// A line. Fields that its kind does not have are 0.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "fakecuda says what they are")]
pub struct Line {
    pub n: u64,
    pub time_us: i64,
    pub thread: u32,
    pub call: String,
    #[serde(rename = "do")]
    pub what: Do,
    pub device: u32,
    pub free_bytes: u64,
    pub total_bytes: u64,
    pub address: u64,
    pub handle: u64,
    pub requested: u64,
    pub bytes: u64,
    pub context: u64,
    pub stream: u64,
    pub pool: u64,
    pub graph: u64,
    pub mapping: u64,
    pub mapping_bytes: u64,
    pub result: u32,
}

impl Default for Line {
    fn default() -> Self {
        Self {
            what: Do::Fail,
            n: 0,
            time_us: 0,
            thread: 0,
            call: String::new(),
            device: 0,
            free_bytes: 0,
            total_bytes: 0,
            address: 0,
            handle: 0,
            requested: 0,
            bytes: 0,
            context: 0,
            stream: 0,
            pool: 0,
            graph: 0,
            mapping: 0,
            mapping_bytes: 0,
            result: 0,
        }
    }
}

/// The ledger of a process.
#[derive(Clone, Debug)]
pub struct Ledger {
    /// Process id.
    pub process: u32,
    /// Lines in the order of events.
    pub lines: Vec<Line>,
}

impl Ledger {
    /// Reads all ledgers in a folder, ordered by process id.
    ///
    /// # Panics
    ///
    /// If a file is not a ledger.
    #[must_use]
    pub fn all(folder: &Path) -> Vec<Self> {
        let entries = fs::read_dir(folder).expect("a folder");
        let mut ledgers: Vec<_> = entries
            .map(|entry| {
                let path = entry.expect("an entry").path();
                let text = fs::read_to_string(&path).expect("a text");
                let process = path
                    .file_stem()
                    .and_then(|name| name.to_str()?.parse().ok());
                let lines = text
                    .lines()
                    .map(|line| serde_json::from_str(line).expect(line));
                Self {
                    process: process.expect("a process id"),
                    lines: lines.collect(),
                }
            })
            .collect();
        ledgers.sort_by_key(|ledger| ledger.process);
        ledgers
    }
}
