//! `vramscope brief`: one answer of a bounded length, for those who pay for each line: programs that ask, and people in a
//! hurry.

mod answer;
mod text;

use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;

use clap::Args;
use vramscope_core::analysis::compare::ranks::RankSummary;

use self::answer::Answer;
use crate::arguments::{Inputs, Size, parse_size};
use crate::failure::Failure;
use crate::inputs::{each, files, report_all, summaries};
use crate::output;
use crate::subject::Subject;

/// The least budget that an answer may have, in bytes.
const LEAST_BYTES: u64 = 1 << 10;

/// Say in one short answer what failed or peaked, why, where, and what would help
///
/// The answer has at most --budget bytes: it names the cause and its class with figures, the code that it comes from,
/// settings that were replayed with how wrong the result may be, what the file cannot tell, and the commands that tell
/// more. Each list says how many entries it has in all. Of several files it is about the one that failed, or else stands
/// out. The same files always give the same bytes.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    #[command(flatten)]
    inputs: Inputs,
    /// Longest answer, at least 1KiB
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "4KiB")]
    budget: Size,
    /// Print JSON on one line, described by `vramscope man json`
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  vramscope brief snapshot.pickle
  vramscope brief runs/42 --json --budget 2KiB | jq -r .causes.items[0].class

Classes of causes: growth_per_step, never_freed, limit, other_processes, pending_free, private_pool, fragmentation,
odd_rank, too_much_live";

pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let Size(budget) = options.budget;
    if budget < LEAST_BYTES {
        return Err(Failure::Usage("--budget must be at least 1KiB".to_owned()));
    }
    let files = files(&options.inputs.files)?;
    let failures = RefCell::new(Vec::new());
    let work = |_, file: &Path| Subject::load(file, options.inputs.device);
    let ranks = match &files[..] {
        [file] => vec![Rank::read(work(0, file)?, true)],
        files => each(files, options.inputs.memory, work, |subjects| {
            let read = subjects.filter_map(|subject| match subject {
                Ok(subject) => Some(Rank::read(subject, false)),
                Err(failure) => {
                    failures.borrow_mut().push(failure);
                    None
                }
            });
            read.collect()
        }),
    };
    let failures = failures.into_inner();
    if ranks.is_empty() {
        return report_all(failures);
    }
    let chosen = chosen(&ranks);
    let subject = match &ranks[chosen].subject {
        Some(subject) => Arc::clone(subject),
        None => {
            let named =
                |file: &&std::path::PathBuf| file.display().to_string() == ranks[chosen].name;
            let file = files.iter().find(named).unwrap_or(&files[0]);
            Arc::new(Subject::load(file, options.inputs.device)?)
        }
    };
    let mut answer = Answer::of(&subject, &ranks, chosen, budget)?;
    answer.unread(failures.len());
    let printed = match options.json {
        true => output::print(&answer.json(budget)?),
        false => output::print(&answer.text(budget)?),
    };
    report_all(failures.into_iter().chain(printed.err()))
}

/// A file among others.
struct Rank {
    name: String,
    summaries: Vec<RankSummary>,
    /// Whether a request failed in it.
    failed: bool,
    /// The file, if it is the only one.
    subject: Option<Arc<Subject>>,
}

impl Rank {
    fn of(subject: &Subject) -> Self {
        Self {
            name: subject.name.clone(),
            summaries: summaries(subject),
            failed: subject
                .devices()
                .any(|device| !device.failed_requests().is_empty()),
            subject: None,
        }
    }

    /// From a file that was read, which is kept if it `is_only`.
    fn read(subject: Subject, is_only: bool) -> Self {
        let rank = Self::of(&subject);
        Self {
            subject: is_only.then(|| Arc::new(subject)),
            ..rank
        }
    }

    fn peak_bytes(&self) -> u64 {
        let peaks = self
            .summaries
            .iter()
            .map(|rank| rank.figures.peak_active_bytes);
        peaks.max().unwrap_or(0)
    }
}

/// The file that the answer is about: the highest of those that failed, or of all.
fn chosen(ranks: &[Rank]) -> usize {
    let key = |index: &usize| {
        let rank = &ranks[*index];
        (rank.failed, rank.peak_bytes(), std::cmp::Reverse(*index))
    };
    (0..ranks.len()).max_by_key(key).unwrap_or(0)
}
