//! Files under temporary names, which get their final names when the command ends, all at once. And folders that are
//! needed only temporarily.
//!
//! If something ends the program earlier (an error, a panic, or a signal, through `interruption`), the files are
//! removed, with the folders created for them. Only SIGKILL, a crash of the machine, and memory refused at the instant
//! in which a file is created leave them behind.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::ops::DerefMut;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
#[cfg(unix)]
use std::{
    sync::TryLockError,
    thread,
    time::{Duration, Instant},
};

use tempfile::{Builder, TempPath};

/// This command's files so far; locked while files are created, renamed or removed.
static FILES: Mutex<Files> = Mutex::new(Files {
    unfinished: BTreeSet::new(),
    finished: Vec::new(),
    folders: Vec::new(),
    passing: BTreeSet::new(),
    is_kept: false,
});

pub(crate) struct Files {
    /// The temporary files that are being written.
    unfinished: BTreeSet<PathBuf>,
    /// The complete ones, with their final paths.
    finished: Vec<(TempPath, PathBuf)>,
    /// The folders that did not exist before, parents first.
    folders: Vec<PathBuf>,
    /// The folders that are removed with everything in them.
    passing: BTreeSet<PathBuf>,
    /// Whether files have got their final paths.
    is_kept: bool,
}

/// A temporary file, removed when dropped.
pub(crate) struct Temporary {
    /// `None` after [`Self::finish`].
    path: Option<TempPath>,
}

impl Temporary {
    /// Creates a file in a folder, and opens it.
    ///
    /// # Errors
    /// When it cannot be created.
    pub(crate) fn create(name: &Builder<'_, '_>, folder: &Path) -> io::Result<(File, Self)> {
        let mut files = lock();
        let (file, path) = name.tempfile_in(folder)?.into_parts();
        files.unfinished.insert(path.to_path_buf());
        Ok((file, Self { path: Some(path) }))
    }

    /// Schedules the complete file to get this path when the command ends.
    pub(crate) fn finish(mut self, place: PathBuf) {
        if let Some(path) = self.path.take() {
            let mut files = lock();
            files.unfinished.remove(&*path);
            files.finished.push((path, place));
        }
    }
}

impl AsRef<Path> for Temporary {
    fn as_ref(&self) -> &Path {
        self.path.as_deref().unwrap_or(Path::new(""))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(path) = self.path.take() {
            let mut files = lock();
            files.unfinished.remove(&*path);
            drop(path);
        }
    }
}

/// A temporary folder. When dropped, it is removed with everything in it.
pub(crate) struct PassingFolder {
    path: PathBuf,
}

impl PassingFolder {
    /// Creates a folder inside another one. `prefix` begins its name.
    ///
    /// # Errors
    /// When it cannot be created.
    pub(crate) fn create_in(parent: &Path, prefix: &str) -> io::Result<Self> {
        let mut files = lock();
        let folder = Builder::new().prefix(prefix).tempdir_in(parent)?;
        let path = folder.keep();
        files.passing.insert(path.clone());
        Ok(Self { path })
    }

    /// Moves files in it to other paths permanently, creating folders as needed. A signal finds either all of them or
    /// none. `first` runs before, while signals already wait.
    ///
    /// # Errors
    /// The first failure of `first` or of a file; the files after it stay.
    pub(crate) fn hand_out(
        &self,
        first: impl FnOnce() -> io::Result<()>,
        files: &[(PathBuf, PathBuf)],
    ) -> io::Result<()> {
        let _no_signal = lock();
        first()?;
        files.iter().try_for_each(|(from, to)| {
            let hand_out = || {
                to.parent().map_or(Ok(()), fs::create_dir_all)?;
                fs::rename(self.path.join(from), to)
            };
            // Meanwhile another process may have removed the folder because it was empty.
            hand_out().or_else(|_| hand_out())
        })
    }
}

impl AsRef<Path> for PassingFolder {
    fn as_ref(&self) -> &Path {
        &self.path
    }
}

impl Drop for PassingFolder {
    fn drop(&mut self) {
        let mut files = lock();
        files.passing.remove(&self.path);
        remove_with_all(&self.path);
    }
}

/// Runs `work` as a whole: signals wait until it is done.
pub(crate) fn as_a_whole<T>(work: impl FnOnce() -> T) -> T {
    let _no_signal = lock();
    work()
}

/// Creates a folder and its missing parents.
///
/// # Errors
/// When one cannot be created.
pub(crate) fn create_folder(path: &Path) -> io::Result<()> {
    let mut files = lock();
    let missing = path.ancestors().take_while(|folder| {
        let is_named = !folder.as_os_str().is_empty();
        is_named && !folder.is_dir()
    });
    let missing: Vec<_> = missing.collect();
    for folder in missing.into_iter().rev() {
        match fs::create_dir(folder) {
            Ok(()) => files.folders.push(folder.to_owned()),
            Err(_) if folder.is_dir() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The running command's output. If dropped before [`Self::keep`], it removes what was written.
pub(crate) struct Writing;

impl Writing {
    /// Moves complete files to their final paths, and removes folders that stayed empty. A signal finds either all of
    /// them or none. Returns the paths of files that cannot be renamed, which are removed.
    pub(crate) fn keep(self) -> Vec<(PathBuf, io::Error)> {
        let mut files = lock();
        files.is_kept = !files.finished.is_empty();
        let finished = std::mem::take(&mut files.finished).into_iter();
        let failed = finished.filter_map(|(file, place)| match file.persist(&place) {
            Ok(()) => None,
            Err(error) => Some((place, error.error)),
        });
        let failed = failed.collect();
        remove_empty(&std::mem::take(&mut files.folders));
        failed
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        let mut files = remove_all();
        files.unfinished.clear();
        files.finished.clear();
        files.folders.clear();
        files.passing.clear();
    }
}

/// Whether files have got their final paths: the command is done.
#[cfg(unix)]
pub(crate) fn is_kept() -> bool {
    lock().is_kept
}

/// Removes everything that was written. While the result lives, nothing is created or renamed.
pub(crate) fn remove_all() -> impl DerefMut<Target = Files> {
    remove_listed(lock())
}

/// Like [`remove_all`]; `None` if files are being created or renamed for longer than `patience`: perhaps this very
/// thread was stopped while doing so.
#[cfg(unix)]
pub(crate) fn remove_all_within(patience: Duration) -> Option<impl DerefMut<Target = Files>> {
    let end = Instant::now() + patience;
    loop {
        match FILES.try_lock() {
            Ok(files) => return Some(remove_listed(files)),
            Err(TryLockError::Poisoned(files)) => return Some(remove_listed(files.into_inner())),
            Err(TryLockError::WouldBlock) if Instant::now() < end => {
                thread::sleep(Duration::from_millis(1));
            }
            Err(TryLockError::WouldBlock) => return None,
        }
    }
}

fn remove_listed(files: MutexGuard<'static, Files>) -> MutexGuard<'static, Files> {
    let finished = files.finished.iter().map(|(path, _)| &**path);
    let unfinished = files.unfinished.iter().map(PathBuf::as_path);
    for path in finished.chain(unfinished) {
        // A file that cannot be removed stays: the program is about to end.
        drop(fs::remove_file(path));
    }
    files.passing.iter().for_each(|path| remove_with_all(path));
    remove_empty(&files.folders);
    files
}

/// Removes a folder into which other threads may still be writing.
fn remove_with_all(path: &Path) {
    let removed = || fs::remove_dir_all(path).is_ok() || !path.exists();
    // A folder that cannot be removed stays: the program is about to end.
    let _ = (0..5).any(|_| removed());
}

fn remove_empty(folders: &[PathBuf]) {
    for folder in folders.iter().rev() {
        // Fails unless the folder is empty.
        drop(fs::remove_dir(folder));
    }
}

/// The lists are complete whenever they are unlocked, so a poisoned lock can be used.
fn lock() -> MutexGuard<'static, Files> {
    FILES.lock().unwrap_or_else(PoisonError::into_inner)
}
