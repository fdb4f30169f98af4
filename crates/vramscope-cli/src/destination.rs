//! The place to which a command writes: a file, a folder or standard output.
//!
//! A file is written to a temporary file in the same folder and renamed when it is complete. So a failure
//! leaves no half-written file, and an old file stays as it was.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::TempPath;

use crate::failure::Failure;
use crate::input::is_stdin;
use crate::output::{self, unwritten};

/// The place for one file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Destination {
    Stdout,
    Path(PathBuf),
}

impl Destination {
    /// Takes the path as the user typed it: `-` is standard output.
    pub(crate) fn of(path: &Path) -> Self {
        match is_stdin(path) {
            true => Self::Stdout,
            false => Self::Path(path.to_owned()),
        }
    }

    /// The name for messages.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Stdout => "standard output".to_owned(),
            Self::Path(path) => path.display().to_string(),
        }
    }

    /// Writes a file.
    ///
    /// # Errors
    /// When writing fails, or when bytes that are not text would go to a terminal.
    pub(crate) fn write(
        &self,
        is_text: bool,
        write: impl FnOnce(&mut dyn Write) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        match self {
            Self::Stdout => output::pipe(is_text, write),
            Self::Path(path) => {
                let mut file = Unfinished::create(path)?;
                file.write(write)?;
                file.finish()
            }
        }
    }
}

/// Fails if a place is one of the inputs. Called before anything is read.
pub(crate) fn check<'a>(
    destinations: impl IntoIterator<Item = &'a Destination>,
    inputs: &[PathBuf],
) -> Result<(), Failure> {
    let inputs = inputs.iter().filter(|input| !is_stdin(input));
    let inputs: HashSet<_> = inputs.flat_map(fs::canonicalize).collect();
    let is_input = |destination: &&Destination| match destination {
        Destination::Stdout => false,
        Destination::Path(path) => fs::canonicalize(path).is_ok_and(|path| inputs.contains(&path)),
    };
    match destinations.into_iter().find(is_input) {
        None => Ok(()),
        Some(destination) => Err(Failure::Usage(format!(
            "{} is the file that is read; name another one to write",
            destination.name()
        ))),
    }
}

/// A file that is being written. Dropped before [`Self::finish`], it leaves nothing behind.
pub(crate) struct Unfinished {
    /// The path as the user typed it.
    path: PathBuf,
    out: BufWriter<File>,
    /// The temporary file and the final path. `None` for anything but a regular file (a pipe, `/dev/null`), which is
    /// written directly.
    beside: Option<(TempPath, PathBuf)>,
    is_whole: bool,
}

impl Unfinished {
    /// Creates the temporary file.
    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
        let (file, beside) = beside(path).map_err(|error| named(path, unwritten(error)))?;
        Ok(Self {
            path: path.to_owned(),
            out: BufWriter::new(file),
            beside,
            is_whole: true,
        })
    }

    /// Writes more bytes with `write`, and passes on its error.
    pub(crate) fn write(
        &mut self,
        write: impl FnOnce(&mut dyn Write) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let result = write(&mut self.out);
        self.is_whole &= result.is_ok();
        result.map_err(|failure| named(&self.path, failure))
    }

    /// Renames the file to its final path, unless an earlier write failed.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        self.write(|out| out.flush().map_err(unwritten))?;
        match self.beside {
            Some((beside, place)) if self.is_whole => beside
                .persist(place)
                .map_err(|error| named(&self.path, unwritten(error.error))),
            _ => Ok(()),
        }
    }
}

fn beside(path: &Path) -> io::Result<(File, Option<(TempPath, PathBuf)>)> {
    // A symbolic link stays: its target is replaced.
    let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if fs::metadata(&place).is_ok_and(|metadata| !metadata.is_file()) {
        return Ok((File::create(place)?, None));
    }
    // Fails here if the folder is missing; later errors concern the temporary file.
    fs::metadata(folder_of(&place))?;
    let beside = temporary(&place).tempfile_in(folder_of(&place))?;
    let (file, beside) = beside.into_parts();
    Ok((file, Some((beside, place))))
}

/// Adds the file's name to the failure.
fn named(path: &Path, failure: Failure) -> Failure {
    match failure {
        Failure::Io { error, .. } => Failure::io(format!("cannot write {}", path.display()))(error),
        other => other,
    }
}

/// Writes files into a folder, which is created if it is missing. They get their names when all are complete.
pub(crate) fn fill(
    path: &Path,
    write: impl FnOnce(&Path) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let begin = || {
        let folder = folder_of(path);
        fs::create_dir_all(folder)?;
        tempfile::Builder::new().prefix(PREFIX).tempdir_in(folder)
    };
    let filled = begin().map_err(unwritten).and_then(|beside| {
        write(beside.path())?;
        move_all(beside.path(), path).map_err(unwritten)
    });
    filled.map_err(|failure| named(path, failure))
}

fn move_all(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        fs::rename(entry.path(), to.join(entry.file_name()))?;
    }
    Ok(())
}

/// The prefix of temporary files: with a dot, a shell's `*` does not match them.
const PREFIX: &str = ".vramscope-";

/// Prepares the temporary file for `path`, with the permissions that `path` has or a new file would get.
fn temporary(path: &Path) -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let earlier = fs::metadata(path).map(|metadata| metadata.permissions());
        builder.permissions(earlier.unwrap_or_else(|_| fs::Permissions::from_mode(0o666)));
    }
    builder
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}
