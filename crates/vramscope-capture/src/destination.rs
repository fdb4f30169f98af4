//! The file for a snapshot. It is first written under a temporary name, so that a failure or a signal leaves no partial
//! file and does not destroy an earlier file.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use vramscope_core::Snapshot;
use vramscope_core::{encode, vram_format};

use crate::failure::Failure;
#[cfg(target_os = "linux")]
use crate::launch::UnfinishedFile;

/// Format of a snapshot, chosen by the file name's extension.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Format {
    Pickle,
    Json,
    Packed,
}

/// File name extensions and their formats.
const FORMATS: [(&str, Format); 4] = [
    ("pickle", Format::Pickle),
    ("pkl", Format::Pickle),
    ("json", Format::Json),
    ("vram", Format::Packed),
];

/// A snapshot file to write.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Destination {
    path: PathBuf,
    format: Format,
}

impl Destination {
    /// Checks the path before the run: finding out afterwards that it is wrong would be too late.
    ///
    /// # Errors
    /// If the extension is unknown, or if no file can be created at the path.
    pub(crate) fn of(path: &Path) -> Result<Self, Failure> {
        let display = path.display();
        let format = format_of(path).ok_or_else(|| {
            Failure::usage(format!(
                "{display}: the file name extension does not name a format"
            ))
            .with_advice("Use .pickle, .json or .vram; `vramscope convert` writes further formats.")
        })?;
        let folder = folder_of(path);
        if path.is_dir() {
            return Err(Failure::usage(format!(
                "{display} is a folder; name a file in it"
            )));
        }
        if !folder.is_dir() {
            return Err(Failure::usage(format!(
                "cannot write {display}: there is no folder {}",
                folder.display()
            )));
        }
        Ok(Self {
            path: path.to_owned(),
            format,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn folder(&self) -> &Path {
        folder_of(&self.path)
    }

    /// The file with `-SUFFIX` added to its stem: `snap.pickle` becomes `snap-SUFFIX.pickle`.
    pub(crate) fn with_suffix(&self, suffix: &str) -> Self {
        let mut name = self.path.file_stem().unwrap_or_default().to_owned();
        name.push(format!("-{suffix}"));
        if let Some(ending) = self.path.extension() {
            name.push(".");
            name.push(ending);
        }
        Self {
            path: self.path.with_file_name(name),
            format: self.format,
        }
    }

    /// Refuses to overwrite an input.
    ///
    /// # Errors
    /// If the file is among `inputs`.
    pub(crate) fn check_not_among(&self, inputs: &[PathBuf]) -> Result<(), Failure> {
        let Ok(place) = fs::canonicalize(&self.path) else {
            return Ok(());
        };
        match inputs
            .iter()
            .any(|input| fs::canonicalize(input).is_ok_and(|input| input == place))
        {
            false => Ok(()),
            true => Err(Failure::usage(format!(
                "{} is an input; name another file to write",
                self.path.display()
            ))),
        }
    }

    /// Writes the snapshot. Returns the file's size in bytes, 0 for a device or pipe.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn write(&self, snapshot: &Snapshot) -> Result<u64, Failure> {
        self.try_write(snapshot)
            .map_err(Failure::io(format!("cannot write {}", self.path.display())))
    }

    /// Writes one version of a snapshot that is written repeatedly. The returned file is locked while it is open, which
    /// shows viewers that more versions may follow.
    ///
    /// # Errors
    /// If the file cannot be written.
    #[cfg(target_os = "linux")]
    pub(crate) fn write_version(&self, snapshot: &Snapshot) -> Result<File, Failure> {
        let mut name = temporary(&self.path);
        // The same name each time, so old versions do not pile up.
        let own = self.path.file_name().unwrap_or_default().to_string_lossy();
        let own = format!(".vramscope-{}-{own}", std::process::id());
        name.prefix(&own).rand_bytes(0);
        let write = || {
            let place = self.place();
            let mut file = name.tempfile_in(folder_of(&place))?;
            let _unfinished = UnfinishedFile::new(file.path())?;
            // Some file systems have no locks. Viewers then cannot see whether more follows.
            let _is_locked = file.as_file().try_lock();
            self.encode(snapshot, file.as_file_mut())?;
            file.persist(place).map_err(|error| error.error)
        };
        write().map_err(Failure::io(format!("cannot write {}", self.path.display())))
    }

    /// The file to replace; a link is followed.
    fn place(&self) -> PathBuf {
        fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone())
    }

    fn try_write(&self, snapshot: &Snapshot) -> io::Result<u64> {
        let place = self.place();
        if fs::metadata(&place).is_ok_and(|metadata| !metadata.is_file()) {
            self.encode(snapshot, &mut File::create(&place)?)?;
            return Ok(0);
        }
        let mut file = temporary(&place).tempfile_in(folder_of(&place))?;
        #[cfg(target_os = "linux")]
        let _unfinished = UnfinishedFile::new(file.path())?;
        self.encode(snapshot, file.as_file_mut())?;
        let bytes = file.as_file().metadata()?.len();
        file.persist(place).map_err(|error| error.error)?;
        Ok(bytes)
    }

    fn encode(&self, snapshot: &Snapshot, file: &mut File) -> io::Result<()> {
        let mut out = BufWriter::new(file);
        match self.format {
            Format::Pickle => encode::encode(snapshot, &mut out)?,
            Format::Json => encode::encode_json(snapshot, &mut out)?,
            Format::Packed => vram_format::write(snapshot, &mut out)?,
        }
        out.flush()
    }
}

fn format_of(path: &Path) -> Option<Format> {
    let ending = path.extension()?.to_str()?.to_ascii_lowercase();
    let known = FORMATS.iter().find(|(name, _)| *name == ending);
    known.map(|&(_, format)| format)
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// A temporary file to be renamed to `path`, with the permissions of the file there or of new files.
fn temporary(path: &Path) -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".vramscope-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let earlier = fs::metadata(path).map(|metadata| metadata.permissions());
        builder.permissions(earlier.unwrap_or_else(|_| fs::Permissions::from_mode(0o666)));
    }
    builder
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_is_written_and_whose_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let of = |name: &str| Destination::of(&folder.path().join(name));
        let file = of("a.b.PICKLE").unwrap();
        assert_eq!(file.format, Format::Pickle);
        assert_eq!(
            file.with_suffix("oom-1").path().file_name().unwrap(),
            "a.b-oom-1.PICKLE"
        );
        for name in ["a", "a.txt", "a.raw", "missing/a.pickle", "."] {
            assert_eq!(of(name).unwrap_err().exit_code(), 2, "{name}");
        }
    }

    #[test]
    fn what_is_read_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        let file = Destination::of(&path).unwrap();
        assert!(file.check_not_among(std::slice::from_ref(&path)).is_ok());
        fs::write(&path, "").unwrap();
        assert!(
            file.check_not_among(&[folder.path().join(".").join("a.json")])
                .is_err()
        );
        assert!(
            file.check_not_among(&[folder.path().join("b.json")])
                .is_ok()
        );
    }

    #[test]
    fn every_format_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        for (ending, _) in FORMATS {
            let file = Destination::of(&folder.path().join("a").with_extension(ending)).unwrap();
            let bytes = file.write(&Snapshot::default()).unwrap();
            let written = fs::read(file.path()).unwrap();
            assert_eq!(written.len() as u64, bytes);
            assert!(
                vramscope_core::decode(written.as_slice()).is_ok(),
                "{ending}"
            );
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), FORMATS.len());
    }
}
