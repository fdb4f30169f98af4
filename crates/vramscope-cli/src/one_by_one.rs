//! Reads files one after another, for commands that print while they read.

use crate::arguments::Snapshots;
use crate::failure::Failure;
use crate::inputs::{files, report_all};
use crate::subject::Subject;

/// Hands each file to `take`, with whether there are several. A file that cannot be read is reported and skipped.
pub(crate) fn one_by_one(
    inputs: &Snapshots,
    mut take: impl FnMut(&Subject, bool) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let files = files(&inputs.files)?;
    let mut failures = Vec::new();
    for file in &files {
        let subject = Subject::load(file, inputs.device);
        match subject.and_then(|subject| take(&subject, files.len() > 1)) {
            Ok(()) => {}
            Err(Failure::ClosedPipe) => return Err(Failure::ClosedPipe),
            Err(failure) => failures.push(failure),
        }
    }
    report_all(failures)
}
