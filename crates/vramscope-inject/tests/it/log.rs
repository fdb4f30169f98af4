//! A replacement for the log that stores records in memory.

use std::cell::Cell;
use std::sync::Mutex;
use vramscope_record::layout::{Kind, Loss};

static RECORDS: Mutex<Vec<(Kind, Vec<u8>)>> = Mutex::new(Vec::new());

thread_local! {
    /// Makes the log refuse records of this thread, as if it were full.
    pub(crate) static IS_FULL: Cell<bool> = const { Cell::new(false) };
}

pub(crate) fn put(kind: Kind, parts: &[&[u8]]) -> bool {
    if IS_FULL.get() {
        return false;
    }
    RECORDS.lock().unwrap().push((kind, parts.concat()));
    true
}

/// Losses are not expected.
pub(crate) fn lost(loss: Loss) {
    panic!("{loss:?}");
}

/// Payloads of all records of one kind.
pub(crate) fn records(kind: Kind) -> Vec<Vec<u8>> {
    let records = RECORDS.lock().unwrap();
    let such = records.iter().filter(|(of, _)| *of == kind);
    such.map(|(_, payload)| payload.clone()).collect()
}
