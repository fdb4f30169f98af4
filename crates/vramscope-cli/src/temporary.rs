//! Files under temporary names, which become others in the end or are removed.
//!
//! Whatever ends the program removes them, too: an error, a panic, or a signal, by way of `interruption`. Only
//! SIGKILL and a crash of the machine leave them behind.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::{Builder, TempPath};

/// The paths of all temporary files, locked while one is created, renamed or removed.
static PATHS: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// A temporary file, removed when dropped.
pub(crate) struct Temporary {
    /// `None` after [`rename`].
    path: Option<TempPath>,
}

impl Temporary {
    /// Creates a file in a folder, and opens it.
    ///
    /// # Errors
    /// When it cannot be created.
    pub(crate) fn create(name: &Builder<'_, '_>, folder: &Path) -> io::Result<(File, Self)> {
        let mut paths = lock();
        let (file, path) = name.tempfile_in(folder)?.into_parts();
        paths.insert(path.to_path_buf());
        Ok((file, Self { path: Some(path) }))
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
            let mut paths = lock();
            paths.remove(&*path);
            drop(path);
        }
    }
}

/// Gives files their final paths. A signal finds either all of them renamed or none.
///
/// # Errors
/// When a file cannot be renamed; then it and those after it are removed.
pub(crate) fn rename(files: impl IntoIterator<Item = (Temporary, PathBuf)>) -> io::Result<()> {
    let taken = files
        .into_iter()
        .filter_map(|(mut file, place)| Some((file.path.take()?, place)));
    // Taken before locking: dropping a `Temporary` locks, too.
    let files: Vec<_> = taken.collect();
    let mut paths = lock();
    for (file, _) in &files {
        paths.remove(&**file);
    }
    files
        .into_iter()
        .try_for_each(|(file, place)| file.persist(place).map_err(|error| error.error))
}

/// Removes all temporary files. As long as the result lives, none is created or renamed.
#[cfg(unix)]
pub(crate) fn remove_all() -> impl Drop {
    let paths = lock();
    for path in &*paths {
        // What cannot be removed stays: the program is about to end.
        drop(std::fs::remove_file(path));
    }
    paths
}

/// The set is complete whenever it is unlocked, so a poisoned lock can be used.
fn lock() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    PATHS.lock().unwrap_or_else(PoisonError::into_inner)
}
