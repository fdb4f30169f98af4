//! How `dump` requests a snapshot of records that `run` has consumed, through two files beside the log.
//!
//! `<log>.<pid of the requester>.request` contains the path of the snapshot. `run` removes it when it begins. When
//! it is done, it writes `<log>.<pid of the requester>.answer`: a line with `ok` or `error`, then the message.
//!
//! While it lives, `run` holds a lock on the folder ([`RunFolder`](crate::run_folder::RunFolder)), so that nobody waits
//! for a `run` that was killed.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{self, Path, PathBuf};
use std::time::{Duration, Instant};
use std::{process, thread};

use crate::failure::Failure;
use crate::output::quote;
use crate::run_folder::{RunState, state_of_run};

/// File name extension of requests.
pub(super) const EXTENSION: &str = "request";
/// Maximum length of the path in a request.
const MAX_PATH_BYTES: u64 = 1 << 16;
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// How long to wait for an answer.
struct Timeouts {
    while_running: Duration,
    /// If `run` holds no lock; it may still be alive.
    without_run: Duration,
    /// If the file system has no locks, so that it is unknown whether `run` is alive.
    without_locks: Duration,
}

const TIMEOUTS: Timeouts = Timeouts {
    while_running: Duration::from_secs(600),
    without_run: Duration::from_millis(500),
    without_locks: Duration::from_secs(10),
};

/// Requests a snapshot of the consumed records of a log and waits for it. Returns the message for the user.
///
/// # Errors
/// If there is no answer, or if the snapshot could not be written.
pub(crate) fn request_snapshot(log: &Path, snapshot: &Path) -> Result<String, Failure> {
    let snapshot = path::absolute(snapshot).map_err(Failure::io("the working folder is gone"))?;
    let text = snapshot
        .to_str()
        .ok_or_else(|| Failure::usage("the snapshot's name is not UTF-8"))?;
    let request = log.with_extension(format!("{}.{EXTENSION}", process::id()));
    wait_for_answer(log, &request, text, &TIMEOUTS)
}

fn wait_for_answer(
    log: &Path,
    request: &Path,
    text: &str,
    timeouts: &Timeouts,
) -> Result<String, Failure> {
    let answer = request.with_extension("answer");
    drop(fs::remove_file(&answer));
    write_atomically(request, text)
        .map_err(Failure::io(format!("cannot write {}", request.display())))?;
    let since = Instant::now();
    loop {
        // Check in the order in which `run` ends: it writes the answer, removes the log, and exits.
        let run = state_of_run(log);
        let is_log_there = log.exists();
        if let Ok(text) = fs::read_to_string(&answer) {
            drop(fs::remove_file(&answer));
            return match text.split_once('\n') {
                Some(("ok", text)) => Ok(text.to_owned()),
                Some((_, text)) => Err(Failure::input(text)),
                None => Err(Failure::input(format!(
                    "{} is not a valid answer",
                    answer.display()
                ))),
            };
        }
        let failure = match is_log_there {
            true => no_answer(log, text, &run, since.elapsed(), timeouts),
            false => Some(log_is_gone(log)),
        };
        if let Some(failure) = failure {
            drop(fs::remove_file(request));
            return Err(failure);
        }
        thread::sleep(POLL_INTERVAL);
    }
}

fn log_is_gone(log: &Path) -> Failure {
    let log = log.display();
    Failure::input(format!("{log} is gone: its program has ended meanwhile"))
        .with_advice("The snapshot is where `vramscope-capture run` writes it.")
}

/// Explains why there is no answer: `run` is gone, or it took too long.
fn no_answer(
    log: &Path,
    snapshot: &str,
    run: &RunState,
    waited: Duration,
    timeouts: &Timeouts,
) -> Option<Failure> {
    let (what, advice) = match run {
        RunState::Lives if waited >= timeouts.while_running => (
            format!(
                "has not answered for {} minutes",
                timeouts.while_running.as_secs() / 60
            ),
            "It may be stopped, or its disk may be slow. Try again later.".to_owned(),
        ),
        RunState::IsGone if waited >= timeouts.without_run => (
            "has ended. If it was killed, what it held of the recording is lost; else that is in the snapshot that it wrote"
                .to_owned(),
            convert_rest(log, snapshot),
        ),
        RunState::Unknown if waited >= timeouts.without_locks => (
            format!(
                "has not answered for {} seconds, and may have been ended",
                timeouts.without_locks.as_secs()
            ),
            convert_rest(log, snapshot),
        ),
        _ => return None,
    };
    Some(
        Failure::input(format!("the program's `vramscope-capture run` {what}")).with_advice(advice),
    )
}

fn convert_rest(log: &Path, snapshot: &str) -> String {
    format!(
        "What it had not read is still in the log: vramscope-capture convert {} -o {}",
        quote(log),
        quote(Path::new(snapshot))
    )
}

/// Accepts a request and returns the path of the snapshot. The request must belong to the log's owner or to root,
/// because `run` writes to any path it names.
pub(super) fn accept(request: &Path, log: &Path) -> Option<PathBuf> {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(request)
        .ok()?;
    let (metadata, owner) = (file.metadata().ok()?, fs::metadata(log).ok()?.uid());
    if !metadata.is_file() || ![owner, 0].contains(&metadata.uid()) {
        return None;
    }
    let mut path = String::new();
    file.take(MAX_PATH_BYTES).read_to_string(&mut path).ok()?;
    fs::remove_file(request).ok()?;
    Some(path.into())
}

/// Answers a request.
///
/// # Errors
/// If the answer cannot be written.
pub(super) fn answer(request: &Path, outcome: Result<String, Failure>) -> io::Result<()> {
    let text = match outcome {
        Ok(text) => format!("ok\n{text}"),
        Err(failure) => format!("error\n{failure}"),
    };
    write_atomically(&request.with_extension("answer"), &text)
}

/// Writes a file that appears only when it is complete. It is readable by all, since the requester may be another user.
fn write_atomically(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().ok_or(ErrorKind::NotFound)?;
    let mut file = tempfile::Builder::new()
        .permissions(Permissions::from_mode(0o644))
        .tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_folder::lock_folder;

    const SHORT: Timeouts = Timeouts {
        while_running: Duration::from_millis(400),
        without_run: Duration::ZERO,
        without_locks: Duration::from_secs(3600),
    };

    /// A folder with a log in it.
    fn folder_with_log() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("1-2.raw");
        fs::write(&log, "").unwrap();
        (folder, log)
    }

    fn request_as(requester: u32, log: &Path) -> thread::JoinHandle<Result<String, String>> {
        let request = log.with_extension(format!("{requester}.{EXTENSION}"));
        let log = log.to_owned();
        thread::spawn(move || {
            wait_for_answer(&log, &request, &format!("/{requester}.pickle"), &SHORT)
                .map_err(|failure| failure.to_string())
        })
    }

    #[test]
    fn everybody_who_asks_is_answered() {
        let (folder, log) = folder_with_log();
        let _lock = lock_folder(folder.path()).unwrap();
        let pending = [1, 2].map(|requester| request_as(requester, &log));
        for requester in [2, 1] {
            let request = log.with_extension(format!("{requester}.{EXTENSION}"));
            let path = loop {
                if let Some(path) = accept(&request, &log) {
                    break path;
                }
                thread::yield_now();
            };
            assert_eq!(path, PathBuf::from(format!("/{requester}.pickle")));
            let outcome = match requester {
                1 => Ok("written".to_owned()),
                _ => Err(Failure::input("not written")),
            };
            answer(&request, outcome).unwrap();
        }
        let answers = pending.map(|pending| pending.join().unwrap());
        assert_eq!(
            answers,
            [Ok("written".to_owned()), Err("not written".to_owned())]
        );
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn nobody_waits_for_ever() {
        let (folder, log) = folder_with_log();
        // A `run` that has ended is not waited for.
        let message = request_as(1, &log).join().unwrap().unwrap_err();
        assert!(message.contains("has ended"), "{message}");
        let command = format!("convert {} -o /1.pickle", quote(&log));
        assert!(message.contains(&command), "{message}");
        let lock = lock_folder(folder.path()).unwrap();
        let message = request_as(1, &log).join().unwrap().unwrap_err();
        assert!(message.contains("has not answered"), "{message}");
        // A `run` that is killed after accepting the request.
        let pending = request_as(1, &log);
        while accept(&log.with_extension(format!("1.{EXTENSION}")), &log).is_none() {
            thread::yield_now();
        }
        drop(lock);
        let message = pending.join().unwrap().unwrap_err();
        assert!(message.contains("has ended"), "{message}");
        let _lock = lock_folder(folder.path()).unwrap();
        let pending = request_as(1, &log);
        fs::remove_file(&log).unwrap();
        assert!(pending.join().unwrap().unwrap_err().contains("is gone"));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn only_files_of_the_same_user_are_requests() {
        let (_folder, log) = folder_with_log();
        let request = log.with_extension(format!("1.{EXTENSION}"));
        std::os::unix::fs::symlink(&log, &request).unwrap();
        assert_eq!(accept(&request, &log), None);
        fs::remove_file(&request).unwrap();
        fs::create_dir(&request).unwrap();
        assert_eq!(accept(&request, &log), None);
        fs::remove_dir(&request).unwrap();
        fs::write(&request, "/x.pickle").unwrap();
        // Only root can change the owner of a file.
        if std::os::unix::fs::chown(&request, Some(12_345), None).is_ok() {
            assert_eq!(accept(&request, &log), None);
        }
    }
}
