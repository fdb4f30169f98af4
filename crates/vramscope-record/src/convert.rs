//! Converts a whole raw log into a snapshot.

use vramscope_core::Snapshot;

use crate::model::{Recording, RecordingOptions};
use crate::reader::{Log, LogError};
use crate::snapshot::Report;
use crate::symbols::Symbols;

/// Records between two calls of `on_progress`.
const RECORDS_PER_PROGRESS: u64 = 1 << 14;

/// Options of [`convert`].
#[derive(Clone, Debug, Default)]
pub struct ConvertOptions {
    /// Which part of the recording goes into the snapshot.
    pub recording: RecordingOptions,
    /// Stop before the record at this file offset, usually that of a [`Dump`](crate::layout::Kind::Dump) record.
    /// `None` converts the whole log.
    pub end_offset: Option<u64>,
    /// Whether the program still runs. Then an unfinished record at the end is not damage.
    pub is_running: bool,
}

/// Reads the log in `bytes` and builds its snapshot. `on_progress` gets the bytes of records read so far and the
/// total.
///
/// # Errors
/// If `bytes` is not a raw log of this version.
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
    let header = log.header();
    let end = header.write_offset.min(header.backed_bytes);
    let end = end.min(bytes.len() as u64);
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
