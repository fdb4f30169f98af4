//! Several files: finds them, asks each the same question, and compares them as ranks of one job.

mod files;
mod ranks;
mod schedule;

use std::path::Path;

use vramscope_core::analysis::compare::ranks::RankSummary;

pub(crate) use self::files::files;
pub(crate) use self::ranks::{part as ranks_part, summaries};
pub(crate) use self::schedule::each;

use crate::arguments::{Inputs, Show};
use crate::failure::Failure;
use crate::output;
use crate::report::{self, Part};
use crate::subject::Subject;

/// A command's question to each file.
pub(crate) trait Question: Sync {
    /// The command's name in the JSON answer.
    const COMMAND: &'static str;

    /// Answers for one file.
    ///
    /// # Errors
    /// When the file lacks the data for an answer.
    fn parts(&self, subject: &Subject) -> Result<Vec<Part>, Failure>;
}

/// Asks every file, several at once, and prints the answers in the order of the files; after them, a
/// comparison of the files. A file that cannot be read is reported, and the others are still answered.
///
/// # Errors
/// When a file cannot be read or answered, or the answer cannot be printed.
pub(crate) fn ask<Q: Question>(question: &Q, inputs: &Inputs, show: Show) -> Result<(), Failure> {
    let files = files(&inputs.files)?;
    let answers = each(&files, inputs.memory, |_, file| {
        answer(question, file, inputs, files.len() > 1)
    });
    let (mut parts, mut summaries, mut failures) = (Vec::new(), Vec::new(), Vec::new());
    for (answer, ranks) in answers {
        summaries.extend(ranks);
        match answer {
            Ok(more) => parts.extend(more),
            Err(failure) => failures.push(failure),
        }
    }
    parts.extend(ranks_part(&summaries));
    if !parts.is_empty() || failures.is_empty() {
        failures.extend(report::print(Q::COMMAND, &parts, show).err());
    }
    report_all(failures)
}

/// Answers for one file, and keeps a summary of each of its devices for the comparison.
fn answer(
    question: &impl Question,
    file: &Path,
    inputs: &Inputs,
    is_one_of_several: bool,
) -> (Result<Vec<Part>, Failure>, Vec<RankSummary>) {
    let subject = match Subject::load(file, inputs.device) {
        Ok(subject) => subject,
        Err(failure) => return (Err(failure), Vec::new()),
    };
    let mut parts = question.parts(&subject);
    for part in parts.iter_mut().flatten() {
        part.damage = subject.damage();
    }
    let summaries = match is_one_of_several {
        true => summaries(&subject),
        false => Vec::new(),
    };
    (parts, summaries)
}

/// Reports failures in the order of their files, but for the gravest, which becomes the result: so neither a file that
/// cannot be read nor a reader that closed early hides a broken budget. Wrong arguments fail for every file alike, so
/// they are reported only once.
pub(crate) fn report_all(failures: impl IntoIterator<Item = Failure>) -> Result<(), Failure> {
    let mut failures: Vec<_> = failures.into_iter().collect();
    failures.sort_by_key(Failure::exit_code);
    failures.dedup_by(|one, other| matches!((one, other), (Failure::Usage(_), Failure::Usage(_))));
    let result = failures.pop();
    failures.iter().for_each(output::report);
    result.map_or(Ok(()), Err)
}
