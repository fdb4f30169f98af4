//! Several files: finds them, asks each the same question, and compares them as ranks of one job.

mod files;
mod fleet;
mod ranks;
mod schedule;

use std::cell::RefCell;
use std::io::{self, IsTerminal as _, Write};
use std::iter;
use std::path::Path;
use std::sync::Arc;

use vramscope_core::analysis::report::facts::DRY_RUN;
use vramscope_core::fleet::Fleet;

#[cfg(feature = "sql")]
pub(crate) use self::files::check_finished;
#[cfg(not(feature = "sql"))]
pub(crate) use self::files::is_dataset;
pub(crate) use self::files::{files, files_once};
pub(crate) use self::fleet::{RankNames, Ranks, bounded, fleet, overview, source};
pub(crate) use self::ranks::{part as ranks_part, summary as ranks_of};
pub(crate) use self::schedule::each;

use crate::arguments::{Inputs, Show, Snapshots};
use crate::failure::Failure;
use crate::output;
use crate::progress;
use crate::report::{self, Part};
use crate::subject::Subject;

/// What a command reads, and where its answer goes.
pub(crate) enum Source<'a> {
    /// The files named by its arguments; it prints the answer.
    Files,
    /// Snapshots that are already open, and the receiver of the answer.
    Open {
        subjects: &'a [Arc<Subject>],
        answer: &'a mut (dyn Write + Send),
    },
}

impl Source<'_> {
    /// Fails for an option that is about files.
    pub(crate) fn must_be_files(&self, option: &str) -> Result<(), Failure> {
        match self {
            Self::Files => Ok(()),
            Self::Open { .. } => Err(Failure::Usage(format!(
                "{option} is for the command line: an open snapshot returns its answer to the caller"
            ))),
        }
    }

    /// Like [`Snapshots::come_after`]; names of open snapshots are not files.
    pub(crate) fn come_after(
        &self,
        inputs: &Snapshots,
        command: &str,
        first: &str,
    ) -> Result<(), Failure> {
        match self {
            Self::Files => inputs.come_after(command, first),
            Self::Open { .. } => Ok(()),
        }
    }
}

/// A command's question about each file.
pub(crate) trait Question: Sync {
    /// The command's name in the JSON answer.
    const COMMAND: &'static str;
    /// Whether its answer includes facts about the file, which say that it comes from a dry run.
    const HAS_FACTS: bool = false;

    /// Answers for one file.
    ///
    /// # Errors
    /// When the file lacks the data for an answer.
    fn parts(&self, subject: &Arc<Subject>) -> Result<Vec<Part>, Failure>;
}

/// Asks every file, several at once, and prints each answer as it arrives, in the order of the files, and finally a
/// comparison of the files. A file that cannot be read is reported, and the others are still answered. Open snapshots
/// answer one after the other.
///
/// # Errors
/// When a file cannot be read or answered, or the answer cannot be printed.
pub(crate) fn ask<Q: Question>(
    source: &mut Source<'_>,
    question: &Q,
    inputs: &Inputs,
    show: Show,
) -> Result<(), Failure> {
    if let Source::Open { subjects, answer } = source {
        let mut parts = Vec::new();
        for subject in *subjects {
            let subject = Arc::new(subject.narrowed(inputs.device)?);
            parts.extend(answer_of(question, &subject)?);
        }
        return report::write_json(answer, Q::COMMAND, parts, show);
    }
    let files = files_once(&inputs.files)?;
    let answer = |index, file: &Path| {
        let place = (files.len() > 1).then_some(index);
        answer(question, file, inputs, place)
    };
    let (summaries, failures) = (RefCell::new(Vec::new()), RefCell::new(Vec::new()));
    let printed = each(&files, inputs.memory, answer, |answers| {
        let answers = answers.flat_map(|(answer, ranks)| {
            summaries.borrow_mut().extend(ranks);
            answer.unwrap_or_else(|failure| {
                failures.borrow_mut().push(failure);
                Vec::new()
            })
        });
        let comparison = iter::once_with(|| ranks_part(&Fleet::of_all(summaries.take())));
        let mut parts = answers.chain(comparison.flatten()).peekable();
        if parts.peek().is_none() && !failures.borrow().is_empty() {
            return Ok(());
        }
        if io::stdout().is_terminal() {
            progress::end();
        }
        let printed = report::print(Q::COMMAND, parts.by_ref(), show);
        // If nobody reads on, the exit code still covers the other files.
        parts.for_each(drop);
        printed
    });
    report_all(failures.into_inner().into_iter().chain(printed.err()))
}

/// Answers for one file. If it has a `place` among several, keeps a summary of its devices for the comparison.
fn answer(
    question: &impl Question,
    file: &Path,
    inputs: &Inputs,
    place: Option<usize>,
) -> (Result<Vec<Part>, Failure>, Option<Fleet>) {
    let subject = match Subject::load(file, inputs.device) {
        Ok(subject) => Arc::new(subject),
        Err(failure) => return (Err(failure), None),
    };
    let parts = answer_of(question, &subject);
    (parts, place.map(|place| ranks_of(&subject, place)))
}

/// The parts about a snapshot, with its damage and whether it comes from a dry run.
fn answer_of<Q: Question>(question: &Q, subject: &Arc<Subject>) -> Result<Vec<Part>, Failure> {
    let mut parts = question.parts(subject)?;
    for part in &mut parts {
        part.damage = subject.damage();
        let title = part
            .device
            .map(|device| subject.snapshot.device_title(device));
        part.device_title = title;
    }
    let is_told = Q::HAS_FACTS || subject.snapshot.dry_run().is_none();
    if let (false, Some(part)) = (is_told, parts.first_mut()) {
        part.notes.insert(0, DRY_RUN.to_owned());
    }
    Ok(parts)
}

/// Passes each file to `take`, and whether there are several, for commands that print while they read: at most one is
/// in memory. A file that cannot be read is reported, and the others are still read, even if nobody reads the output
/// any more: the exit code covers them all.
///
/// # Errors
/// When a file cannot be read, or `take` fails.
pub(crate) fn one_by_one(
    inputs: &Snapshots,
    mut take: impl FnMut(&Subject, bool) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let files = files(&inputs.files)?;
    let results = files.iter().map(|file| {
        let subject = Subject::load(file, inputs.device)?;
        take(&subject, files.len() > 1)
    });
    report_all(results.filter_map(Result::err))
}

/// Reports failures in the order of their files, except the most serious one, which becomes the result: so neither an
/// unreadable file nor a reader that closed early hides a broken budget. Wrong arguments fail for every file alike, so
/// they are reported only once.
pub(crate) fn report_all(failures: impl IntoIterator<Item = Failure>) -> Result<(), Failure> {
    let mut failures: Vec<_> = failures.into_iter().collect();
    failures.sort_by_key(Failure::exit_code);
    failures.dedup_by(|one, other| one.is_usage() && other.is_usage());
    let result = failures.pop();
    failures.iter().for_each(output::report);
    result.map_or(Ok(()), Err)
}

/// For how many files an answer says why they could not be read, and how many characters each reason may have.
const REASONS: usize = 3;
const REASON: usize = 160;

/// Why the first few files could not be read, in a line each, for answers in place of standard error.
pub(crate) fn reasons(failures: &[Failure]) -> impl Iterator<Item = String> {
    failures.iter().take(REASONS).map(|failure| {
        let words = failure.to_string();
        // Advice follows on other lines.
        let first = words.lines().next().unwrap_or_default();
        first.chars().take(REASON).collect()
    })
}

/// The failure if no file could be read, with the reasons.
pub(crate) fn none_read(mut failures: Vec<Failure>) -> Failure {
    match failures.len() {
        0 => Failure::Usage("no file is named".to_owned()),
        1 => failures.remove(0),
        count => Failure::Input(format!("none of {count} files could be read"))
            .followed_by(reasons(&failures)),
    }
}
