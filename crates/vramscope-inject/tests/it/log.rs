//! The log's double.

use std::cell::Cell;
use std::sync::Mutex;
use vramscope_record::layout::Kind;

static RECORDS: Mutex<Vec<(Kind, Vec<u8>)>> = Mutex::new(Vec::new());

thread_local! {
    /// Whether there is no room for what this thread writes.
    pub(crate) static IS_FULL: Cell<bool> = const { Cell::new(false) };
}

pub(crate) fn put(kind: Kind, parts: &[&[u8]]) -> bool {
    if IS_FULL.get() {
        return false;
    }
    RECORDS.lock().unwrap().push((kind, parts.concat()));
    true
}

/// The payloads of what was put, of one kind.
pub(crate) fn records(kind: Kind) -> Vec<Vec<u8>> {
    let records = RECORDS.lock().unwrap();
    let such = records.iter().filter(|(of, _)| *of == kind);
    such.map(|(_, payload)| payload.clone()).collect()
}
