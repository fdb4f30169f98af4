//! The ledger of memory events: one JSON object per line, appended at once, so that it survives any end of its
//! process.
//!
//! Every line has `n` (from 0), `time_us`, `thread`, `call` (the C function) and `do`. Most have further fields:
//!
//! | `do` | event | fields besides `device`, `free_bytes` |
//! | --- | --- | --- |
//! | `map`, `unmap` | a mapping was added or removed | `address`, `bytes`, `pool`, `graph` |
//! | `alloc` | a block was allocated | `address`, `requested`, `bytes`, `context`, `stream`, `pool`, `graph`, `mapping`, `mapping_bytes` |
//! | `free` | a block was freed, by a call or with its owner | `address`, `requested`, `bytes`, `stream`, `pool`, `graph` |
//! | `oom` | an allocation failed | `requested`, `total_bytes` |
//! | `fail` | a free failed | `address`, `result` |
//! | `host_alloc`, `host_free` | pinned memory | `address`, `requested` |
//! | `array`, `array_free` | memory without an address | `handle`, `bytes` |
//! | `create`, `release` | a physical allocation | `handle`, `bytes` |
//! | `pool`, `pool_end`, `context_end` | a pool was created or destroyed, a context ended | `handle` |

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Writes the ledger, if there is a file for it.
pub(crate) struct Ledger {
    file: Option<File>,
    lines: u64,
    line: String,
}

impl Ledger {
    /// Creates a ledger in `folder`; without a folder, writes nothing.
    pub(crate) fn new(folder: Option<&Path>) -> Self {
        let name = format!("{}.jsonl", std::process::id());
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        Self {
            file: folder.and_then(|folder| options.open(folder.join(name)).ok()),
            lines: 0,
            line: String::new(),
        }
    }

    /// Whether lines are written.
    pub(crate) fn is_open(&self) -> bool {
        self.file.is_some()
    }

    /// Appends a line.
    pub(crate) fn write(&mut self, call: &str, what: &str, fields: &[(&str, u64)]) {
        let Some(file) = &mut self.file else { return };
        let time_us = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |time| time.as_micros());
        // SAFETY: takes no arguments and cannot fail.
        let thread = unsafe { libc::syscall(libc::SYS_gettid) };
        let line = &mut self.line;
        line.clear();
        let mut write = || {
            write!(
                line,
                r#"{{"n":{},"time_us":{time_us},"thread":{thread},"call":"{call}","do":"{what}""#,
                self.lines
            )?;
            for (name, value) in fields {
                write!(line, r#","{name}":{value}"#)?;
            }
            line.write_str("}\n")
        };
        // Formatting into a string cannot fail. One write per line, so that the file has no partial lines.
        if write().is_ok() && file.write_all(self.line.as_bytes()).is_ok() {
            self.lines += 1;
        }
    }
}
