//! `vramscope cut`: a range of a snapshot as a smaller snapshot.

use clap::Args;

use super::convert::{Change, Files};
use crate::export::Asked;
use crate::export::format::Choice;
use crate::failure::Failure;

/// Cut a range out of a snapshot into a smaller snapshot
///
/// The events between two moments become the trace, and the memory live at the second one becomes the final state.
/// Live, reserved and allocated memory are the same as in the whole file at every moment of the cut. Two things are
/// lost: who allocated memory that was freed in the range but allocated before it, and the ends of annotated ranges
/// outside the cut. A file without segments has no final state: there, the first events repeat what was live.
#[derive(Args)]
#[command(after_help = EXAMPLES, verbatim_doc_comment)]
pub(crate) struct Options {
    #[command(flatten)]
    files: Files,
    /// The range: A..B, or an annotation's name; A and B are events (1000), times (2.5s), peak, oom, annotations
    #[arg(long, value_name = "A..B")]
    range: String,
}

const EXAMPLES: &str = "\
Examples:
  vramscope cut snapshot.pickle --range 1000..2000 -o part.pickle
  vramscope cut snapshot.pickle --range 'ProfilerStep#3' -o step3.pickle.zst
  vramscope cut snapshot.pickle --range 2s..3s --device 0 --to json | jq .segments";

pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let change = Change::cut(Some(&options.range));
    options
        .files
        .write(Some(Choice::PICKLE), &change, &Asked::default())
}
