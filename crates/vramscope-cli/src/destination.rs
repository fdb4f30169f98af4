//! Where a command writes: a file, a folder or standard output.
//!
//! A file is written to a temporary file in the same folder and renamed when the command is done. So a failure leaves
//! no half-written file, an interrupt leaves none at all, and old files stay unchanged until then.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::input::is_stdin;
use crate::output::{self, unwritten};
use crate::temporary::{self, Temporary, Writing};

/// Where one file goes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Destination {
    Stdout,
    Path(PathBuf),
}

impl Destination {
    /// The path as typed by the user: `-` is standard output.
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

    /// Whether it is in a folder or below it.
    #[cfg(feature = "sql")]
    pub(crate) fn is_in(&self, folder: &Path) -> bool {
        let Self::Path(path) = self else {
            return false;
        };
        let place = fs::canonicalize(path).or_else(|_| fs::canonicalize(folder_of(path)));
        let folder = fs::canonicalize(folder);
        matches!((place, folder), (Ok(place), Ok(folder)) if place.starts_with(&folder))
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

/// Fails if an output is one of the inputs. Called before anything is read.
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

/// Fails if the file cannot be created. Called before a program runs to produce it. Pipes and devices are not opened.
pub(crate) fn check_place(destination: &Destination) -> Result<(), Failure> {
    let Destination::Path(path) = destination else {
        return Ok(());
    };
    match fs::metadata(path) {
        Ok(found) if !found.is_file() && !found.is_dir() => Ok(()),
        _ => Unfinished::create(path).map(drop),
    }
}

/// A file being written. If dropped before [`Self::finish`], it leaves nothing behind.
pub(crate) struct Unfinished {
    /// The path as typed by the user.
    path: PathBuf,
    out: BufWriter<File>,
    /// The temporary file and the final path. `None` for anything but a regular file (a pipe, `/dev/null`), which is
    /// written directly.
    beside: Option<(Temporary, PathBuf)>,
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

    /// Writes more bytes with `write`, and passes its error on.
    pub(crate) fn write(
        &mut self,
        write: impl FnOnce(&mut dyn Write) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let result = write(&mut self.out);
        self.is_whole &= result.is_ok();
        result.map_err(|failure| named(&self.path, failure))
    }

    fn flush(&mut self) -> Result<(), Failure> {
        self.write(|out| out.flush().map_err(unwritten))
    }

    /// Completes the file, unless an earlier write failed.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        self.flush()?;
        self.keep();
        Ok(())
    }

    /// Schedules the file to get its final path when the command ends.
    fn keep(self) {
        if let Some((file, place)) = self.beside.filter(|_| self.is_whole) {
            file.finish(place);
        }
    }
}

fn beside(path: &Path) -> io::Result<(File, Option<(Temporary, PathBuf)>)> {
    // A symbolic link stays: its target is replaced.
    let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if fs::metadata(&place).is_ok_and(|metadata| !metadata.is_file()) {
        return Ok((File::create(place)?, None));
    }
    // Fails here if the folder is missing; later errors concern the temporary file.
    let folder = folder_of(&place);
    fs::metadata(folder)?;
    let (file, beside) = Temporary::create(&named_for(&place), folder)?;
    Ok((file, Some((beside, place))))
}

/// Adds the file's name to the failure.
pub(crate) fn named(path: &Path, failure: Failure) -> Failure {
    match failure {
        Failure::Io { error, .. } => Failure::io(format!("cannot write {}", path.display()))(error),
        other => other,
    }
}

/// Creates a folder, if it is missing. It is removed again if nothing is written into it.
pub(crate) fn create_folder(path: &Path) -> Result<(), Failure> {
    let doing = format!("cannot make the folder {}", path.display());
    temporary::create_folder(path).map_err(Failure::io(doing))
}

/// Moves a command's files to their final paths. Returns the failures.
pub(crate) fn keep(writing: Writing) -> impl Iterator<Item = Failure> {
    let failed = writing.keep().into_iter();
    failed.map(|(path, error)| named(&path, unwritten(error)))
}

/// Files being written into a folder: all or nothing.
pub(crate) struct UnfinishedFolder {
    path: PathBuf,
    files: Vec<Unfinished>,
}

impl UnfinishedFolder {
    /// Prepares for writing into `path`, which is created if needed.
    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
        create_folder(path)?;
        Ok(Self {
            path: path.to_owned(),
            files: Vec::new(),
        })
    }

    /// Writes a file of this name.
    pub(crate) fn write(
        &mut self,
        name: &str,
        write: impl FnOnce(&mut dyn Write) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut file = Unfinished::create(&self.path.join(name))?;
        file.write(write)?;
        file.flush()?;
        self.files.push(file);
        Ok(())
    }

    /// Completes the files.
    pub(crate) fn finish(self) {
        self.files.into_iter().for_each(Unfinished::keep);
    }
}

/// The name of a temporary file for `path`, with the permissions that `path` has or a new file would get.
#[cfg_attr(not(unix), expect(unused_variables, reason = "permissions are Unix's"))]
fn named_for(path: &Path) -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    // With a dot, a shell's `*` does not match it.
    builder.prefix(".vramscope-");
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
