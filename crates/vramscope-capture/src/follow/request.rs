//! How `dump` asks `run` for a snapshot of what it has taken over: by two files beside the log.
//!
//! `<log>.<pid of the asker>.request` holds the path of the snapshot. `run` removes it when it begins, and writes
//! `<log>.<pid of the asker>.answer` when it is done: what is to be said, behind `ok` or `error` on a line of its own.
//!
//! `run` holds a lock on the folder for as long as it lives, so that nobody waits for one that was killed.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{self, Path, PathBuf};
use std::time::{Duration, Instant};
use std::{process, thread};

use crate::failure::Failure;
use crate::output::quoted;

/// How names of requests end.
pub(super) const REQUEST: &str = "request";
/// A path in a request is no longer, in bytes.
const LONGEST_PATH_BYTES: u64 = 1 << 16;
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// How long an answer is waited for: while a `run` lives, which may have a long snapshot to write before, and while
/// none does or none can be told of.
struct Patience {
    alive: Duration,
    gone: Duration,
}

const PATIENCE: Patience = Patience {
    alive: Duration::from_secs(600),
    gone: Duration::from_secs(10),
};

/// Says that somebody looks after the logs in a folder, until this is dropped. `None` where the file system has no
/// locks: then askers wait less.
pub(super) fn attend(folder: &Path) -> Option<File> {
    let folder = File::open(folder).ok()?;
    folder.try_lock_shared().ok()?;
    Some(folder)
}

/// Asks for a snapshot of what was taken over of this log, waits for it, and gives what there is to say.
///
/// # Errors
/// When nobody answers, or the snapshot could not be written.
pub(crate) fn ask(log: &Path, snapshot: &Path) -> Result<String, Failure> {
    let snapshot = path::absolute(snapshot).map_err(Failure::io("the working folder is gone"))?;
    let text = snapshot
        .to_str()
        .ok_or_else(|| Failure::usage("the snapshot's name is not UTF-8"))?;
    let request = log.with_extension(format!("{}.{REQUEST}", process::id()));
    wait_for_answer(log, &request, text, &PATIENCE)
}

fn wait_for_answer(
    log: &Path,
    request: &Path,
    text: &str,
    patience: &Patience,
) -> Result<String, Failure> {
    let answer = request.with_extension("answer");
    drop(fs::remove_file(&answer));
    put(request, text).map_err(Failure::io(format!("cannot write {}", request.display())))?;
    let since = Instant::now();
    loop {
        // Looked at before the answer, which may come last of all.
        let is_log_there = log.exists();
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
        if let Some(failure) = reason_to_give_up(log, is_log_there, since.elapsed(), patience) {
            drop(fs::remove_file(request));
            return Err(failure);
        }
        thread::sleep(BETWEEN_LOOKS);
    }
}

fn reason_to_give_up(
    log: &Path,
    is_log_there: bool,
    waited: Duration,
    patience: &Patience,
) -> Option<Failure> {
    let shown = log.display();
    if !is_log_there {
        return Some(
            Failure::input(format!("{shown} is gone: its program has ended meanwhile"))
                .with_cure("The snapshot is where `vramscope-capture run` writes it."),
        );
    }
    if waited < patience.gone {
        return None;
    }
    if is_attended(log) {
        return (waited >= patience.alive).then(|| {
            let minutes = patience.alive.as_secs() / 60;
            Failure::input(format!(
                "`vramscope-capture run` has not answered for {minutes} minutes"
            ))
            .with_cure("It may be stopped, or its disk be slow. Ask again later.")
        });
    }
    Some(
        Failure::input(format!("nobody takes the records of {shown} over any more")).with_cure(
            format!(
                "The newest of them can be had by: vramscope-capture convert {} -o FILE",
                quoted(log)
            ),
        ),
    )
}

/// Whether somebody looks after this log: then nobody else can have its folder alone.
fn is_attended(log: &Path) -> bool {
    let folder = log.parent().unwrap_or(Path::new("."));
    File::open(folder).is_ok_and(|folder| folder.try_lock().is_err())
}

/// Where somebody wants a snapshot to be, if this is a request that they may make: their rights are the log's owner's
/// (or root's), for `run` writes where it says.
pub(super) fn take(request: &Path, log: &Path) -> Option<PathBuf> {
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
    file.take(LONGEST_PATH_BYTES)
        .read_to_string(&mut path)
        .ok()?;
    fs::remove_file(request).ok()?;
    Some(path.into())
}

/// Answers.
///
/// # Errors
/// When that cannot be written.
pub(super) fn answer(request: &Path, outcome: Result<String, Failure>) -> io::Result<()> {
    let text = match outcome {
        Ok(text) => format!("ok\n{text}"),
        Err(failure) => format!("error\n{failure}"),
    };
    put(&request.with_extension("answer"), &text)
}

/// Writes a file that appears when it is complete, under a new name until then. Others may read it: who asks may be
/// root, who answers not.
fn put(path: &Path, text: &str) -> io::Result<()> {
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

    const SHORT: Patience = Patience {
        alive: Duration::from_millis(400),
        gone: Duration::from_millis(200),
    };

    /// A folder with a log in it.
    fn place() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("1-2.raw");
        fs::write(&log, "").unwrap();
        (folder, log)
    }

    fn ask_as(asker: u32, log: &Path) -> thread::JoinHandle<Result<String, String>> {
        let request = log.with_extension(format!("{asker}.{REQUEST}"));
        let log = log.to_owned();
        thread::spawn(move || {
            wait_for_answer(&log, &request, &format!("/{asker}.pickle"), &SHORT)
                .map_err(|failure| failure.to_string())
        })
    }

    #[test]
    fn everybody_who_asks_is_answered() {
        let (folder, log) = place();
        let asking = [1, 2].map(|asker| ask_as(asker, &log));
        for asker in [2, 1] {
            let request = log.with_extension(format!("{asker}.{REQUEST}"));
            let path = loop {
                if let Some(path) = take(&request, &log) {
                    break path;
                }
                thread::yield_now();
            };
            assert_eq!(path, PathBuf::from(format!("/{asker}.pickle")));
            let outcome = match asker {
                1 => Ok("written".to_owned()),
                _ => Err(Failure::input("not written")),
            };
            answer(&request, outcome).unwrap();
        }
        let answers = asking.map(|asking| asking.join().unwrap());
        assert_eq!(
            answers,
            [Ok("written".to_owned()), Err("not written".to_owned())]
        );
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn nobody_waits_for_ever() {
        let (folder, log) = place();
        let said = ask_as(1, &log).join().unwrap().unwrap_err();
        assert!(said.contains("nobody takes"), "{said}");
        let attendant = attend(folder.path()).unwrap();
        let said = ask_as(1, &log).join().unwrap().unwrap_err();
        assert!(said.contains("has not answered"), "{said}");
        drop(attendant);
        // Killed after it has taken the request.
        let asking = ask_as(1, &log);
        while take(&log.with_extension(format!("1.{REQUEST}")), &log).is_none() {
            thread::yield_now();
        }
        assert!(asking.join().unwrap().unwrap_err().contains("nobody takes"));
        let asking = ask_as(1, &log);
        fs::remove_file(&log).unwrap();
        assert!(asking.join().unwrap().unwrap_err().contains("is gone"));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn only_files_of_the_same_user_are_requests() {
        let (_folder, log) = place();
        let request = log.with_extension(format!("1.{REQUEST}"));
        std::os::unix::fs::symlink(&log, &request).unwrap();
        assert_eq!(take(&request, &log), None);
        fs::remove_file(&request).unwrap();
        fs::create_dir(&request).unwrap();
        assert_eq!(take(&request, &log), None);
        fs::remove_dir(&request).unwrap();
        fs::write(&request, "/x.pickle").unwrap();
        // Only root may give files away.
        if std::os::unix::fs::chown(&request, Some(12_345), None).is_ok() {
            assert_eq!(take(&request, &log), None);
        }
    }
}
