//! `vramscope anonymise`: a snapshot without names that would reveal who recorded it.

use clap::Args;

use super::convert::{Change, Files};
use crate::export::Asked;
use crate::export::format::Choice;
use crate::failure::Failure;

/// Replace names by hashes, so that a snapshot can be shown to others
///
/// Replaced by hashes (a name has the same hash in all files of a run): folders and files (their endings stay),
/// functions, words in annotations, metadata and compile contexts, source lines in stacks. So flame graphs, groups
/// and steps keep their shape and all numbers are the same.
///
/// Kept as they are: numbers (lines, sizes, addresses, times, streams, and short ones in annotations); files and functions of
/// Python, PyTorch and well-known packages below site-packages; C++ names of PyTorch's namespaces; general words
/// such as forward, step, optimizer; the allocator's settings. Left out: whatever no torch is known to write.
#[derive(Args)]
#[command(after_help = EXAMPLES, verbatim_doc_comment)]
pub(crate) struct Options {
    #[command(flatten)]
    files: Files,
    /// Text from which hashes are made; with the same text, files of several runs can be compared. Whoever knows it
    /// can test whether a name is in a file. Without it the hashes are new each time
    #[arg(long, value_name = "TEXT")]
    salt: Option<String>,
}

const EXAMPLES: &str = "\
Examples:
  vramscope anonymise snapshot.pickle -o shared.pickle.zst
  vramscope anonymise rank*.pickle -o shared/
  vramscope anonymise snapshot.pickle --salt \"$SALT\" --to json | less    # look before you share it";

pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let change = Change::anonymous(None, options.salt.as_deref())?;
    options
        .files
        .write(Some(Choice::PICKLE), &change, &Asked::default())
}
