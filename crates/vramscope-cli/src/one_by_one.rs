//! Reads files one after another, for commands that print while they read.

use std::path::Path;

use crate::arguments::Snapshots;
use crate::failure::Failure;
use crate::input::{is_stdin, open_file};
use crate::inputs::{files, report_all};
use crate::subject::Subject;

/// Hands each file to `take`, with whether there are several. A file that cannot be read is reported and skipped.
pub(crate) fn one_by_one(
    inputs: &Snapshots,
    mut take: impl FnMut(&Subject, bool) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let files = files(&inputs.files)?;
    let mut failures = Vec::new();
    let mut rest = files.iter();
    while let Some(file) = rest.next() {
        let subject = Subject::load(file, inputs.device);
        match subject.and_then(|subject| take(&subject, files.len() > 1)) {
            Ok(()) => {}
            Err(Failure::ClosedPipe) => {
                // Nobody reads the other answers, but the exit code still tells of files that are not there.
                failures.push(Failure::ClosedPipe);
                failures.extend(rest.filter_map(|file| missing(file)));
                break;
            }
            Err(failure) => failures.push(failure),
        }
    }
    report_all(failures)
}

/// The failure, if a file cannot be opened.
fn missing(file: &Path) -> Option<Failure> {
    match is_stdin(file) {
        true => None,
        false => open_file(file).err(),
    }
}
