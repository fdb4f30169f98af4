//! The state and the history of a recording as a snapshot.

use vramscope_core::Snapshot;
use vramscope_core::build::Builder;

use crate::model::Recording;
use crate::reader::{Ended, Header};
use crate::symbols::Symbols;

/// What is to be said beside a snapshot.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// Records read.
    pub records: u64,
    /// Calls of the driver among them.
    pub events: u64,
    /// Records that found no room in the log.
    pub dropped_records: u64,
    /// What was odd, in words, each with how often it occurred: also in the snapshot, as `capture.notes`.
    pub notes: Vec<String>,
}

impl Recording {
    /// The snapshot of what was recorded until now, to which `header` belongs. Each distinct stack that it shows is
    /// given to `symbols` once.
    #[must_use]
    pub fn snapshot(
        &self,
        _header: &Header,
        _ended: Ended,
        _symbols: &mut dyn Symbols,
    ) -> (Snapshot, Report) {
        (Builder::default().finish(), Report::default())
    }
}
