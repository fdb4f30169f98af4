//! Reads the files of tests.

use vramscope_core::Snapshot;
use vramscope_core::analysis::recording::Recording;
use vramscope_synth::files::File;

/// The snapshot in a file.
pub(crate) fn decoded(file: &File) -> Snapshot {
    match vramscope_core::decode(&file.bytes[..]) {
        Ok(snapshot) => snapshot,
        Err(error) => panic!("{}: {error}", file.name),
    }
}

/// The recording in a file, ready for analysis.
pub(crate) fn recorded(file: &File) -> Recording {
    Recording::of(decoded(file))
}
