//! A raw log into a snapshot, names included.

use std::io;
use std::path::Path;

use vramscope_core::Snapshot;
use vramscope_record::ConvertOptions;
use vramscope_record::reader::{Log, LogError};
use vramscope_record::snapshot::Report;

use crate::{FileSymbols, LogFile};

/// Why a log could not be converted.
#[derive(Debug, thiserror::Error)]
pub enum ConvertError {
    /// Its file cannot be read.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It is no log.
    #[error("{0}")]
    Log(#[from] LogError),
}

/// Reads a log and makes the snapshot. `on_progress` is told the bytes of records read so far and in all.
///
/// # Errors
/// When the file cannot be read or is no log.
pub fn convert(
    path: &Path,
    options: &ConvertOptions,
    symbols: &mut FileSymbols,
    on_progress: &mut dyn FnMut(u64, u64),
) -> Result<(Snapshot, Report), ConvertError> {
    let file = LogFile::open(path)?;
    symbols.begin(path, Log::open(file.bytes())?.header());
    Ok(vramscope_record::convert(
        file.bytes(),
        options,
        symbols,
        on_progress,
    )?)
}
