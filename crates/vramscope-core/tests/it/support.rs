//! How the tests read their files.

use vramscope_core::Snapshot;
use vramscope_core::analysis::recording::Recording;
use vramscope_synth::files::File;

/// The snapshot that a file holds.
pub(crate) fn decoded(file: &File) -> Snapshot {
    match vramscope_core::decode(&file.bytes[..]) {
        Ok(snapshot) => snapshot,
        Err(error) => panic!("{}: {error}", file.name),
    }
}

/// The same, prepared for questions.
pub(crate) fn recorded(file: &File) -> Recording {
    Recording::of(decoded(file))
}
