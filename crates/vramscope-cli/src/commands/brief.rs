//! `vramscope brief`: one answer of a bounded length, for those who pay for each line: programs that ask, and people in a
//! hurry.

mod answer;
mod text;

use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use vramscope_core::fleet::Fleet;
use vramscope_core::model::DeviceIndex;

use self::answer::Answer;
use crate::arguments::{Inputs, Size, parse_size};
use crate::failure::Failure;
use crate::inputs::{Source, each, files, ranks_of, report_all};
use crate::output;
use crate::subject::Subject;

/// The least budget that an answer may have, in bytes.
pub(crate) const LEAST_BYTES: u64 = 1 << 10;
/// The budget without an option.
pub(crate) const USUAL_BYTES: u64 = 4 << 10;
/// Memory for files that are read at once, without an option.
const USUAL_MEMORY: Size = Size(4 << 30);

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

Classes of causes: growth_per_step, never_freed, limit, other_processes, request_too_large, pending_free,
private_pool, fragmentation, odd_rank, too_much_live";

pub(crate) fn run(options: &Options, source: &mut Source<'_>) -> Result<(), Failure> {
    let Size(budget) = options.budget;
    if let Source::Open { subjects, answer } = source {
        let told = about_open(subjects, options.inputs.device, budget)?.json()?;
        let written = answer.write_all(told.as_bytes());
        return written.map_err(Failure::io("cannot hold the answer"));
    }
    let (answer, failures) = about(
        &options.inputs.files,
        options.inputs.memory,
        options.inputs.device,
        budget,
    )?;
    let text = match options.json {
        true => answer.json()?,
        false => answer.text()?,
    };
    let printed = output::print(&text);
    report_all(failures.into_iter().chain(printed.err()))
}

/// What `--json` prints about files, with why some could not be read: who asks sees no standard error.
///
/// # Errors
/// If no file can be read, or the budget is too small.
pub(crate) fn json(files: &[PathBuf], budget: u64) -> Result<String, Failure> {
    let (mut answer, failures) = about(files, USUAL_MEMORY, None, budget)?;
    answer.tell_why(&failures);
    answer.json()
}

/// The answer about the file that failed or stands out, and why others could not be read.
fn about(
    named: &[PathBuf],
    memory: Size,
    device: Option<DeviceIndex>,
    budget: u64,
) -> Result<(Answer, Vec<Failure>), Failure> {
    check(budget)?;
    let files = files(named)?;
    let work = |index, file: &Path| {
        Ok(Rank::of(
            Subject::load(file, device)?,
            index,
            files.len() == 1,
        ))
    };
    let read: Vec<Result<Rank, Failure>> = each(&files, memory, work, |ranks| ranks.collect());
    let (mut ranks, mut failures) = (Vec::new(), Vec::new());
    for rank in read {
        match rank {
            Ok(rank) => ranks.push(rank),
            Err(failure) => failures.push(failure),
        }
    }
    let Some(chosen) = chosen(&ranks) else {
        return Err(failures
            .pop()
            .unwrap_or_else(|| Failure::Usage("no file".to_owned())));
    };
    let subject = match ranks[chosen].subject.take() {
        Some(subject) => subject,
        None => Subject::load(&files[ranks[chosen].index], device)?,
    };
    let answer = Answer::of(&subject, (&ranks, chosen), failures.len(), budget)?;
    Ok((answer, failures))
}

/// The answer about the snapshot that failed or stands out of those that are open.
fn about_open(
    subjects: &[Arc<Subject>],
    device: Option<DeviceIndex>,
    budget: u64,
) -> Result<Answer, Failure> {
    check(budget)?;
    let narrowed = subjects.iter().map(|subject| subject.narrowed(device));
    let narrowed: Vec<Subject> = narrowed.collect::<Result<_, _>>()?;
    let ranks = narrowed.into_iter().enumerate();
    let mut ranks: Vec<Rank> = ranks
        .map(|(index, subject)| Rank::of(subject, index, true))
        .collect();
    let chosen = chosen(&ranks).unwrap_or(0);
    let subject = ranks.get_mut(chosen).and_then(|rank| rank.subject.take());
    let subject = subject.ok_or_else(|| Failure::Usage("no snapshot".to_owned()))?;
    Answer::of(&subject, (&ranks, chosen), 0, budget)
}

fn check(budget: u64) -> Result<(), Failure> {
    if budget < LEAST_BYTES {
        return Err(Failure::Usage("--budget must be at least 1KiB".to_owned()));
    }
    Ok(())
}

/// A file among others.
struct Rank {
    name: String,
    /// Its place among the files.
    index: usize,
    fleet: Fleet,
    /// Whether a request failed in it.
    failed: bool,
    /// The file, if it is kept.
    subject: Option<Subject>,
}

impl Rank {
    fn of(subject: Subject, index: usize, is_kept: bool) -> Self {
        let failed = subject
            .devices()
            .any(|device| !device.failed_requests().is_empty());
        Self {
            name: subject.name.clone(),
            index,
            fleet: ranks_of(&subject, index),
            failed,
            subject: is_kept.then_some(subject),
        }
    }

    fn peak_bytes(&self) -> u64 {
        let peaks = self.fleet.ranks.iter().map(|rank| rank.peak_bytes);
        peaks.max().unwrap_or(0)
    }
}

/// The file that the answer is about: the highest of those that failed, or of all. `None` if there is none.
fn chosen(ranks: &[Rank]) -> Option<usize> {
    (0..ranks.len()).max_by_key(|&place| {
        let rank = &ranks[place];
        (rank.failed, rank.peak_bytes(), Reverse(place))
    })
}
