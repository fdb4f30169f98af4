//! A whole log into a snapshot.

use vramscope_core::Snapshot;

use crate::model::{Recording, RecordingOptions};
use crate::reader::{Log, LogError};
use crate::snapshot::Report;
use crate::symbols::Symbols;

/// Records between two calls of whoever wants to know how far it has come.
const RECORDS_PER_PROGRESS: u64 = 1 << 14;

/// How to convert a log.
#[derive(Clone, Debug, Default)]
pub struct ConvertOptions {
    /// What is to be in the snapshot.
    pub recording: RecordingOptions,
    /// The state as of the record at this offset, which is left out: a [`Dump`](crate::layout::Kind::Dump) record's
    /// for the snapshot that it asks for. `None` for all of the log.
    pub end_offset: Option<u64>,
    /// Whether the program still runs, so that a record that is not finished is no damage.
    pub is_running: bool,
}

/// Reads the log that begins with `bytes`, and makes the snapshot. `on_progress` is told the bytes of records read so
/// far and in all.
///
/// # Errors
/// If that is no log.
pub fn convert(
    bytes: &[u8],
    options: &ConvertOptions,
    symbols: &mut dyn Symbols,
    on_progress: &mut dyn FnMut(u64, u64),
) -> Result<(Snapshot, Report), LogError> {
    let log = Log::open(bytes)?;
    let mut records = log.records(0);
    if options.is_running {
        records = records.while_running();
    }
    let first = records.offset();
    let end = log.header().write_offset.min(bytes.len() as u64);
    let end = end.min(options.end_offset.unwrap_or(end)).max(first);
    let mut recording = Recording::new(options.recording.clone());
    let mut count = 0_u64;
    while let Some((offset, record)) = records.next() {
        if offset >= end {
            break;
        }
        recording.push(record);
        count += 1;
        if count.is_multiple_of(RECORDS_PER_PROGRESS) {
            on_progress(records.offset() - first, end - first);
        }
    }
    recording.add_damage(records.damage());
    on_progress(end - first, end - first);
    let ended = log.header().ended(options.is_running);
    Ok(recording.snapshot(log.header(), ended, symbols))
}
