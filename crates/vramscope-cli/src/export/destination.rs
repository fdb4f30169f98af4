//! Where what is made of a file goes: a file, a folder or standard output, whole or not at all.
//!
//! A file is written beside its place and takes it when it is complete, so that a failure leaves nothing half
//! written and what was there before as it was.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use vramscope_core::tables::Table;

use super::failed;
use super::format::Choice;
use crate::failure::Failure;
use crate::input::is_stdin;
use crate::output;

/// Where one file goes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Destination {
    Stdout,
    Path(PathBuf),
}

impl Destination {
    /// What it is called in messages.
    fn name(&self) -> String {
        match self {
            Self::Stdout => "standard output".to_owned(),
            Self::Path(path) => path.display().to_string(),
        }
    }

    /// Refuses a place that is the input itself.
    ///
    /// # Errors
    /// When it is.
    pub(crate) fn check(&self, input: &Path) -> Result<(), Failure> {
        let Self::Path(path) = self else {
            return Ok(());
        };
        let is_same = match (fs::canonicalize(path), fs::canonicalize(input)) {
            (Ok(output), Ok(input)) => output == input,
            _ => false,
        };
        if is_same && !is_stdin(input) {
            let name = self.name();
            return Err(Failure::Usage(format!(
                "{name} is the file that is read; name another one to write"
            )));
        }
        Ok(())
    }

    /// Writes a file.
    ///
    /// # Errors
    /// When that is not possible, or when it is not text and would go to a terminal.
    pub(crate) fn file(
        &self,
        choice: Choice,
        write: impl FnOnce(&mut dyn Write) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let write = |out: &mut dyn Write| choice.pack(out, write);
        match self {
            Self::Stdout => {
                let is_text = choice.format.is_text && choice.packing.is_none();
                output::pipe(is_text, write)
            }
            Self::Path(path) => replace(path, write),
        }
        .map_err(|failure| self.named(failure))
    }

    /// Says which file could not be written.
    fn named(&self, failure: Failure) -> Failure {
        match failure {
            Failure::Io { error, .. } => {
                Failure::io(format!("cannot write {}", self.name()))(error)
            }
            other => other,
        }
    }

    /// Writes all tables into a folder, which is made if there is none. Each takes its place when all are
    /// complete.
    ///
    /// # Errors
    /// When that is not possible.
    pub(crate) fn tables(
        &self,
        choice: Choice,
        write: impl Fn(Table, &mut dyn Write) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let Self::Path(path) = self else {
            let text = "these are several tables; name a folder with -o FOLDER, or one of them with --table";
            return Err(Failure::Usage(text.to_owned()));
        };
        let write = |folder: &Path| {
            Table::ALL.into_iter().try_for_each(|table| {
                let path = folder.join(choice.table_file(table));
                let file = File::create(path).map_err(failed)?;
                into(file, |out| choice.pack(out, |out| write(table, out)))
            })
        };
        fill(path, write).map_err(|failure| self.named(failure))
    }
}

/// Puts a new file in the place of `path`. What is no regular file (a pipe, `/dev/null`) is written to as it is.
fn replace(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<(), Failure>,
) -> Result<(), Failure> {
    // Through a link, not in its place.
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return into(File::create(path).map_err(failed)?, write);
    }
    // Else it is the temporary file that could not be made.
    fs::metadata(folder_of(path)).map_err(failed)?;
    let beside = temporary(path)
        .tempfile_in(folder_of(path))
        .map_err(failed)?;
    into(beside.as_file(), write)?;
    beside.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

fn into(
    file: impl Write,
    write: impl FnOnce(&mut dyn Write) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut out = BufWriter::new(file);
    write(&mut out)?;
    out.flush().map_err(failed)
}

/// Fills a folder beside `path`, then moves what is in it to `path`.
fn fill(path: &Path, write: impl FnOnce(&Path) -> Result<(), Failure>) -> Result<(), Failure> {
    let folder = folder_of(path);
    fs::create_dir_all(folder).map_err(failed)?;
    let beside = tempfile::Builder::new().prefix(PREFIX).tempdir_in(folder);
    let beside = beside.map_err(failed)?;
    write(beside.path())?;
    move_all(beside.path(), path).map_err(failed)
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
