//! The folder for the raw logs of one run. A log stays there until its snapshot is written.

use std::fs::{self, DirBuilder, File, Permissions, TryLockError};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process;

use tempfile::TempDir;
use vramscope_core::units::Bytes;

use crate::destination::Destination;
use crate::failure::Failure;
use crate::launch::library::{free_bytes, is_in_memory, temporary_places};
use crate::output::quote;

/// Extensions of irreplaceable files: logs, and snapshots that could not be written to their destination.
const RECORDINGS: [&str; 2] = ["raw", "pickle"];

/// A folder that only the user may read; several runs may share `--raw-dir`. Removed at the end, unless it holds a
/// recording.
pub(crate) struct RunFolder {
    path: PathBuf,
    /// Shows `dump` that this process is alive. Taken before the program starts, and held until its snapshots are
    /// written.
    _lock: Option<File>,
    /// Whether the folder was chosen here and is in memory, because nothing better was found.
    is_in_memory: bool,
    /// Whether logs are kept after their snapshots are written.
    keeps_logs: bool,
}

impl RunFolder {
    /// Creates a folder for logs of about `log_bytes`: in `raw_folder`, which is created if needed, or else among the
    /// temporary files. There, a disk with enough room is preferred: in memory, logs would count towards the memory
    /// limit of the program's container, which might be killed for it. The last choice is the snapshot's folder.
    ///
    /// # Errors
    /// If no folder can be created.
    pub(crate) fn new(
        raw_folder: Option<&Path>,
        destination: &Destination,
        log_bytes: u64,
    ) -> Result<Self, Failure> {
        let created = match raw_folder {
            Some(parent) => DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(parent)
                .and_then(|()| create_in(parent, ""))
                .map_err(|error| (parent.to_owned(), error)),
            None => {
                let mut places = temporary_places();
                places.push(destination.folder().to_owned());
                let places = suitable_first(places, |place| {
                    !is_in_memory(place) && free_bytes(place).is_ok_and(|free| free >= log_bytes)
                });
                let mut tried = places.iter().map(|place| {
                    create_in(place, "vramscope-").map_err(|error| (place.clone(), error))
                });
                let first = tried
                    .next()
                    .unwrap_or_else(|| Err((std::env::temp_dir(), io::ErrorKind::NotFound.into())));
                first.or_else(|failure| tried.find_map(Result::ok).ok_or(failure))
            }
        };
        let path = created.map_err(|(parent, error)| {
            Failure::io(format!("cannot create a folder in {}", parent.display()))(error)
        })?;
        let path = path.keep();
        Ok(Self {
            is_in_memory: raw_folder.is_none() && is_in_memory(&path),
            _lock: lock_folder(&path),
            path,
            keeps_logs: raw_folder.is_some(),
        })
    }

    /// The absolute path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// A remark about a folder in memory; `None` otherwise.
    pub(crate) fn remark(&self, log_bytes: u64) -> Option<String> {
        self.is_in_memory.then(|| {
            format!(
                "the raw logs are in memory, as no folder for temporary files is on a disk with room: {}. Each takes up to \
                 {} (--cap), of this container's memory if there is a limit. --raw-dir names a folder on a disk",
                quote(&self.path),
                Bytes(log_bytes)
            )
        })
    }

    /// Removes a log and its companion files, after its snapshot is written or because it has no content.
    pub(crate) fn remove(&self, log: &Path) {
        let (false, Some(stem)) = (self.keeps_logs, log.file_stem()) else {
            return;
        };
        let start = [stem.as_bytes(), b"."].concat();
        for entry in fs::read_dir(&self.path).into_iter().flatten().flatten() {
            let path = entry.path();
            if entry.file_name().as_bytes().starts_with(&start)
                && (path == log || !is_recording(&path))
            {
                // A file that stays behind does no harm.
                drop(fs::remove_file(path));
            }
        }
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        let mut entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
        let is_needed = self.keeps_logs || entries.any(|entry| is_recording(&entry.path()));
        drop(match is_needed {
            // Fails unless the folder is empty.
            true => fs::remove_dir(&self.path),
            false => fs::remove_dir_all(&self.path),
        });
    }
}

/// Locks a folder until the returned file is dropped, to show that its `run` is alive. `None` if the file system has no
/// locks.
pub(crate) fn lock_folder(folder: &Path) -> Option<File> {
    let folder = File::open(folder).ok()?;
    folder.try_lock_shared().ok()?;
    Some(folder)
}

/// Whether a folder's `run` is alive, judged by the lock.
pub(crate) enum RunState {
    Lives,
    IsGone,
    /// The file system has no locks.
    Unknown,
}

/// Whether the `run` whose folder holds this log is alive.
pub(crate) fn state_of_run(log: &Path) -> RunState {
    let folder = log.parent().unwrap_or(Path::new("."));
    match File::open(folder).map(|folder| folder.try_lock()) {
        Ok(Ok(())) => RunState::IsGone,
        Ok(Err(TryLockError::WouldBlock)) => RunState::Lives,
        Ok(Err(TryLockError::Error(_))) | Err(_) => RunState::Unknown,
    }
}

/// The folders, suitable ones first.
fn suitable_first(mut places: Vec<PathBuf>, is_suitable: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    places.sort_by_cached_key(|place| !is_suitable(place));
    places
}

/// The command line that converts a log, or all logs in a folder.
pub(crate) fn convert_command(logs: &Path, destination: &Destination) -> String {
    format!(
        "vramscope-capture convert {} -o {}",
        quote(logs),
        quote(destination.path())
    )
}

fn create_in(parent: &Path, prefix: &str) -> io::Result<TempDir> {
    tempfile::Builder::new()
        .prefix(&format!("{prefix}{}-", process::id()))
        .permissions(Permissions::from_mode(0o700))
        .tempdir_in(parent.canonicalize()?)
}

fn is_recording(path: &Path) -> bool {
    let extension = path.extension().and_then(|it| it.to_str());
    extension.is_some_and(|extension| RECORDINGS.contains(&extension))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_are_on_a_disk_if_there_is_one() {
        let places = ["/tmp", "/var/tmp", "/dev/shm", "/home"].map(PathBuf::from);
        let first = |suitable: &[&str]| {
            let is_suitable = |place: &Path| suitable.contains(&place.to_str().unwrap());
            suitable_first(places.to_vec(), is_suitable)[0].clone()
        };
        assert_eq!(first(&["/tmp", "/var/tmp"]), Path::new("/tmp"));
        assert_eq!(first(&["/var/tmp", "/home"]), Path::new("/var/tmp"));
        assert_eq!(first(&["/home"]), Path::new("/home"));
        assert_eq!(first(&[]), Path::new("/tmp"));
    }
}
