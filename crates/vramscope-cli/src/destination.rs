//! Where what is made of a file goes: a file, a folder or standard output, whole or not at all.
//!
//! A file is written beside its place and takes it when it is complete, so that a failure leaves nothing half
//! written and what was there before as it was.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::TempPath;

use crate::failure::Failure;
use crate::input::is_stdin;
use crate::output::{self, unwritten};

/// Where one file goes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Destination {
    Stdout,
    Path(PathBuf),
}

impl Destination {
    /// As the user named it: `-` is standard output.
    pub(crate) fn of(path: &Path) -> Self {
        match is_stdin(path) {
            true => Self::Stdout,
            false => Self::Path(path.to_owned()),
        }
    }

    /// What it is called in messages.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Stdout => "standard output".to_owned(),
            Self::Path(path) => path.display().to_string(),
        }
    }

    /// Writes a file.
    ///
    /// # Errors
    /// When that is not possible, or when it is not text and would go to a terminal.
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

/// Refuses places that are among the inputs: to be asked before anything is read.
///
/// # Errors
/// When one is.
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

/// A file on its way. Dropped unfinished, it leaves nothing behind.
pub(crate) struct Unfinished {
    /// As the user named it.
    path: PathBuf,
    out: BufWriter<File>,
    /// Where it is, and its place; none for what is no regular file (a pipe, `/dev/null`): that is written to as it
    /// is.
    beside: Option<(TempPath, PathBuf)>,
    is_whole: bool,
}

impl Unfinished {
    /// Begins a file beside its place.
    ///
    /// # Errors
    /// When that is not possible.
    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
        let (file, beside) = beside(path).map_err(|error| named(path, unwritten(error)))?;
        Ok(Self {
            path: path.to_owned(),
            out: BufWriter::new(file),
            beside,
            is_whole: true,
        })
    }

    /// Writes more of it.
    ///
    /// # Errors
    /// The one of `write`.
    pub(crate) fn write(
        &mut self,
        write: impl FnOnce(&mut dyn Write) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let result = write(&mut self.out);
        self.is_whole &= result.is_ok();
        result.map_err(|failure| named(&self.path, failure))
    }

    /// Gives it its place, unless some of it could not be written.
    ///
    /// # Errors
    /// When that is not possible.
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
    // Through a link, not in its place.
    let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if fs::metadata(&place).is_ok_and(|metadata| !metadata.is_file()) {
        return Ok((File::create(place)?, None));
    }
    // Else it is the temporary file that could not be made.
    fs::metadata(folder_of(&place))?;
    let beside = temporary(&place).tempfile_in(folder_of(&place))?;
    let (file, beside) = beside.into_parts();
    Ok((file, Some((beside, place))))
}

/// Says which file could not be written.
fn named(path: &Path, failure: Failure) -> Failure {
    match failure {
        Failure::Io { error, .. } => Failure::io(format!("cannot write {}", path.display()))(error),
        other => other,
    }
}

/// Fills a folder, which is made if there is none: each file takes its place when all are complete.
///
/// # Errors
/// When that is not possible.
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

/// How what is being written is called, hidden from `*`.
const PREFIX: &str = ".vramscope-";

/// A file that will be `path`; whoever may read that (or other new files) may read it.
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
