//! Tests of the crate as a whole: one binary, one file per question.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

mod allocator_model;
mod conclusion;
mod lowest;
mod packing;
mod plan;
mod pool_planner;

use vramscope_core::analysis::recording::Recording;
use vramscope_synth::files::File;

/// The recording in a file, ready for analysis.
fn recorded(file: &File) -> Recording {
    match vramscope_core::decode(&file.bytes[..]) {
        Ok(snapshot) => Recording::of(snapshot),
        Err(error) => panic!("{}: {error}", file.name),
    }
}
