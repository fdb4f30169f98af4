//! The ledger: what happened to memory, one JSON object a line, appended as it happens so that it survives any death
//! of its process.
//!
//! Every line has `n` (from 0), `time_us`, `thread`, `call` (the C function) and `do`; what else, says who writes it:
//!
//! | `do` | what happened | beside `device`, `free_bytes` |
//! | --- | --- | --- |
//! | `map`, `unmap` | a mapping came or went | `address`, `bytes`, `pool`, `graph` |
//! | `alloc` | a block was given out | `address`, `requested`, `bytes`, `context`, `stream`, `pool`, `graph`, `mapping`, `mapping_bytes` |
//! | `free` | it was given back, by a call or with its owner | `address`, `requested`, `bytes`, `stream`, `pool`, `graph` |
//! | `oom` | an allocation failed | `requested`, `total_bytes` |
//! | `fail` | a free failed | `address`, `result` |
//! | `host_alloc`, `host_free` | pinned memory | `address`, `requested` |
//! | `array`, `array_free` | memory without an address | `handle`, `bytes` |
//! | `create`, `release` | a physical allocation | `handle`, `bytes` |
//! | `pool`, `pool_end`, `context_end` | | `handle` |

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Where lines go; nowhere without a file.
pub(crate) struct Ledger {
    file: Option<File>,
    lines: u64,
    line: String,
}

impl Ledger {
    /// In `folder`, if there is one.
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

    /// Whether anybody reads what is written.
    pub(crate) fn is_kept(&self) -> bool {
        self.file.is_some()
    }

    /// Appends a line.
    pub(crate) fn write(&mut self, call: &str, what: &str, fields: &[(&str, u64)]) {
        let Some(file) = &mut self.file else { return };
        let time_us = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |time| time.as_micros());
        // SAFETY: takes nothing and cannot fail.
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
        // Writing to a text cannot fail; to the file in one call, so that no line is half there.
        if write().is_ok() && file.write_all(self.line.as_bytes()).is_ok() {
            self.lines += 1;
        }
    }
}
