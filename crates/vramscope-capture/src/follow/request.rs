//! How `dump` asks `run` for a snapshot of what it has taken over: by two files beside the log.
//!
//! `<log>.request` holds the path of the snapshot. `run` removes it when it begins, and writes `<log>.answer` when it is
//! done: what is to be said, behind `ok` or `error` on a line of its own.

use std::path::{self, Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use crate::failure::Failure;

/// How long `run` may take until it has seen a request.
const PATIENCE: Duration = Duration::from_secs(10);
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// Asks for a snapshot of what was taken over of this log, waits for it, and gives what there is to say.
///
/// # Errors
/// When nobody answers, or the snapshot could not be written.
pub(crate) fn ask(log: &Path, snapshot: &Path) -> Result<String, Failure> {
    let (request, answer) = (log.with_extension("request"), log.with_extension("answer"));
    let shown = log.display();
    let snapshot = path::absolute(snapshot).map_err(Failure::io("the working folder is gone"))?;
    let text = snapshot
        .to_str()
        .ok_or_else(|| Failure::usage("the snapshot's name is not UTF-8"))?;
    drop(fs::remove_file(&answer));
    put(&request, text).map_err(Failure::io(format!("cannot write {}", request.display())))?;
    let since = Instant::now();
    loop {
        if let Ok(text) = fs::read_to_string(&answer) {
            drop(fs::remove_file(&answer));
            return match text.split_once('\n') {
                Some(("ok", text)) => Ok(text.to_owned()),
                Some((_, text)) => Err(Failure::input(text)),
                None => Err(Failure::input(format!(
                    "{} cannot be understood",
                    answer.display()
                ))),
            };
        }
        if request.exists() && since.elapsed() > PATIENCE {
            drop(fs::remove_file(&request));
            return Err(Failure::input(format!(
                "nobody takes the records of {shown} over any more"
            ))
            .with_cure(format!(
                "The newest of them can be had by: vramscope-capture convert {shown} -o FILE"
            )));
        }
        thread::sleep(BETWEEN_LOOKS);
    }
}

/// Where somebody wants a snapshot to be, of what was taken over of this log.
pub(super) fn take(log: &Path) -> Option<PathBuf> {
    let request = log.with_extension("request");
    let path = fs::read_to_string(&request).ok()?;
    fs::remove_file(&request).ok()?;
    Some(path.into())
}

/// Answers.
///
/// # Errors
/// When that cannot be written.
pub(super) fn answer(log: &Path, outcome: Result<String, Failure>) -> io::Result<()> {
    let text = match outcome {
        Ok(text) => format!("ok\n{text}"),
        Err(failure) => format!("error\n{failure}"),
    };
    put(&log.with_extension("answer"), &text)
}

/// Writes a file that appears when it is complete.
fn put(path: &Path, text: &str) -> io::Result<()> {
    let beside = path.with_extension("unfinished");
    fs::write(&beside, text)?;
    fs::rename(beside, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_is_answered() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("1-2.raw");
        for outcome in [Ok("written".to_owned()), Err(Failure::input("not written"))] {
            let expected = outcome.as_ref().map_err(ToString::to_string).cloned();
            let asked = log.clone();
            let asking = thread::spawn(move || ask(&asked, Path::new("/x.pickle")));
            let path = loop {
                if let Some(path) = take(&log) {
                    break path;
                }
                thread::yield_now();
            };
            assert_eq!(path, Path::new("/x.pickle"));
            answer(&log, outcome).unwrap();
            assert_eq!(
                asking.join().unwrap().map_err(|error| error.to_string()),
                expected
            );
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
