//! `vramscope anonymise`: a snapshot without names that would reveal its origin.

use std::fmt::Write;

use clap::Args;
use vramscope_core::anonymise::RULES;

use super::convert::{Change, Files};
use crate::export::Asked;
use crate::export::format::Choice;
use crate::failure::Failure;
use crate::output::wrap;

/// Replace names by hashes, so that a snapshot can be shown to others
#[derive(Args)]
#[command(after_help = EXAMPLES, long_about = long_about())]
pub(crate) struct Options {
    #[command(flatten)]
    files: Files,
    /// Text from which hashes are made; with the same text, files of several runs can be compared. Anyone who knows it
    /// can test whether a name is in a file. By default the hashes are new each time
    #[arg(long, value_name = "TEXT")]
    salt: Option<String>,
    /// Also keep names that match: a file by its whole path, along with its functions, a function by its whole name, an
    /// annotation by its whole text. `*` stands for any text, including `/`. Can be given several times
    #[arg(long, value_name = "PATTERN")]
    keep: Vec<String>,
}

const EXAMPLES: &str = "\
Examples:
  vramscope anonymise snapshot.pickle -o shared.pickle.zst
  vramscope anonymise rank*.pickle -o shared/
  vramscope anonymise snapshot.pickle --keep '/home/me/public-repo/*' --keep 'eval batch *' -o shared.pickle.zst
  vramscope anonymise snapshot.pickle --salt \"$SALT\" --to json | less    # look before you share it";

/// The width of help lines, in characters.
const WIDTH: usize = 115;

const INTRODUCTION: &str = "\
Replace names by hashes, so that a snapshot can be shown to others

Hashed is every text but those that a rule below lets stay: folders and files, functions, annotations, metadata,
compile contexts, source lines in stacks. A name has the same hash in all files of a run. So flame graphs, groups and
steps keep their shape, and all numbers are the same. Left out is whatever no torch is known to write.

What stays (in the examples, * is a hash):
";

/// The help, with the rules and their examples.
fn long_about() -> String {
    let mut text = INTRODUCTION.to_owned();
    for rule in RULES {
        text.push('\n');
        text.push_str(&wrap::words(
            &format!("{}: {}", rule.name, rule.stays),
            WIDTH,
        ));
        text.push('\n');
        for (_, original, hidden) in rule.examples {
            // Writing to a text cannot fail.
            let _ = match original == hidden {
                true => writeln!(text, "    {original}"),
                false => writeln!(text, "    {original}  ->  {hidden}"),
            };
        }
    }
    text.truncate(text.trim_end().len());
    text
}

pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let change = Change::anonymous(None, options.salt.as_deref(), &options.keep)?;
    options
        .files
        .write(Some(Choice::PICKLE), &change, &Asked::default())
}
