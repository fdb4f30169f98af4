//! How the tests read their files.

use vramscope_core::Snapshot;
use vramscope_core::analysis::memory::allocator_state::Recording;
use vramscope_core::analysis::time::history::History;
use vramscope_core::analysis::time::replay::Replay;
use vramscope_synth::files::File;

/// The snapshot that a file holds.
pub(crate) fn decoded(file: &File) -> Snapshot {
    match vramscope_core::decode(&file.bytes[..]) {
        Ok(snapshot) => snapshot,
        Err(error) => panic!("{}: {error}", file.name),
    }
}

/// A device of a snapshot, prepared.
pub(crate) struct Device<'a> {
    snapshot: &'a Snapshot,
    history: &'a History,
    replay: Replay,
}

impl<'a> Device<'a> {
    /// The one that this is the history of.
    pub(crate) fn of(snapshot: &'a Snapshot, history: &'a History) -> Self {
        Self {
            snapshot,
            history,
            replay: Replay::of(snapshot, history),
        }
    }

    /// What is asked about.
    pub(crate) fn recording(&self) -> Recording<'_> {
        Recording {
            snapshot: self.snapshot,
            history: self.history,
            replay: &self.replay,
        }
    }
}
