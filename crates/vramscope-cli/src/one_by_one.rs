//! Files read one after another, for commands that write what they find at once.

use crate::arguments::Snapshots;
use crate::failure::Failure;
use crate::inputs::{files, report_all};
use crate::subject::Subject;

/// Shows every file to `take`, and whether it is one of several. A file that cannot be read is reported
/// and the others are gone on with.
///
/// # Errors
/// When a file cannot be read or `take` fails.
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
