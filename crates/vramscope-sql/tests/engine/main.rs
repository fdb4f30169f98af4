//! The engine over a dataset written by these tests: its answers, its refusals, and its messages.
#![expect(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod answers;
mod dataset;
mod errors;

use std::num::NonZeroUsize;
use std::path::Path;

use vramscope_sql::{Dataset, Engine, Flow, Settings, Value};

/// An engine over a folder that may use this much memory.
fn engine(folder: &Path, memory_bytes: u64) -> Engine {
    let settings = Settings {
        memory_bytes,
        spill: folder.to_owned(),
        threads: NonZeroUsize::new(2).unwrap(),
    };
    Engine::new(Dataset::find(folder).unwrap(), &settings).unwrap()
}

fn rows(engine: &Engine, sql: &str) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    let answer = engine.ask(sql).unwrap();
    let taken = answer.for_each_row(&mut |row| {
        rows.push(row.to_vec());
        Flow::Continue(())
    });
    taken.unwrap();
    rows
}
