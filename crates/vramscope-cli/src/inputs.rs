//! Many files: which ones are meant, one answer from all of them, and how they compare as ranks of one job.

mod files;
mod ranks;
mod schedule;

use std::path::Path;

use vramscope_core::analysis::ranks::RankSummary;

pub(crate) use self::files::files;
pub(crate) use self::ranks::{part as ranks_part, summaries};
pub(crate) use self::schedule::each;

use crate::arguments::{Inputs, Show};
use crate::failure::Failure;
use crate::output;
use crate::report::{self, Part};
use crate::subject::Subject;

/// What a command asks of each file.
pub(crate) trait Question: Sync {
    /// The command's name, as in JSON.
    const COMMAND: &'static str;

    /// The parts of the answer that are about this file.
    ///
    /// # Errors
    /// When the file lacks what is asked for.
    fn parts(&self, subject: &Subject) -> Result<Vec<Part>, Failure>;
}

/// Asks every file, several at once, and prints the answers in the order of the files; after them, how
/// the files compare. A file that cannot be read is reported and the others are answered for.
///
/// # Errors
/// When a file cannot be read or answered for, or nothing can be printed.
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
        report::print(Q::COMMAND, &parts, show)?;
    }
    report_all(failures)
}

/// What one file answers, and what is kept of it to compare it with the others.
fn answer(
    question: &impl Question,
    file: &Path,
    inputs: &Inputs,
    is_one_of_several: bool,
) -> (Result<Vec<Part>, Failure>, Vec<RankSummary>) {
    match Subject::load(file, inputs.device) {
        Ok(subject) if is_one_of_several => (question.parts(&subject), summaries(&subject)),
        Ok(subject) => (question.parts(&subject), Vec::new()),
        Err(failure) => (Err(failure), Vec::new()),
    }
}

/// Reports failures in the order of their files; the last one is the result. What is wrong with the
/// arguments is so for every file: that is said once, at the end, and is the result.
///
/// # Errors
/// When there are any.
pub(crate) fn report_all(failures: Vec<Failure>) -> Result<(), Failure> {
    let is_usage = |failure: &Failure| matches!(failure, Failure::Usage(_));
    let (usage, mut others): (Vec<_>, Vec<_>) = failures.into_iter().partition(is_usage);
    let result = usage.into_iter().next().or_else(|| others.pop());
    others.iter().for_each(output::report);
    result.map_or(Ok(()), Err)
}
