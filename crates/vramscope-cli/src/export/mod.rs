//! Snapshots as files: in torch's own formats and in those of other tools, a file here for each.
//!
//! `format` lists them all, `destination` is where they go. A format is a function that writes a snapshot, or
//! one that writes what was worked out about it ([`Content`](format::Content)).

pub(crate) mod destination;
pub(crate) mod format;

/// For what goes wrong while writing; the destination adds its name.
use crate::output::unwritten as failed;
