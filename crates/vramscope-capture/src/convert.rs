//! Converts a raw log into a snapshot with function names.

use std::io;
use std::path::Path;

use vramscope_core::Snapshot;
use vramscope_record::ConvertOptions;
use vramscope_record::reader::{Log, LogError};
use vramscope_record::snapshot::Report;

use crate::{FileSymbols, LogFile};

/// Why a raw log could not be converted.
#[derive(Debug, thiserror::Error)]
pub enum ConvertError {
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The file is not a raw log.
    #[error("{0}")]
    Log(#[from] LogError),
}

/// Reads a log and builds the snapshot. `on_progress` gets the bytes of records read so far and the total.
///
/// # Errors
/// If the file cannot be read or is not a raw log.
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
