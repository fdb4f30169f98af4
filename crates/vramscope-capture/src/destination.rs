//! The file that a snapshot is written to, whole or not at all: beside its place first, so that a failure leaves
//! nothing half written, and what was there before as it was.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use vramscope_core::Snapshot;
use vramscope_core::{encode, pack};

use crate::failure::Failure;

/// How a snapshot is written: the ending of the file's name says so.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Format {
    Pickle,
    Json,
    Packed,
}

/// Endings and what they stand for.
const FORMATS: [(&str, Format); 4] = [
    ("pickle", Format::Pickle),
    ("pkl", Format::Pickle),
    ("json", Format::Json),
    ("vram", Format::Packed),
];

/// A file to be written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Destination {
    path: PathBuf,
    format: Format,
}

impl Destination {
    /// The file of this name.
    ///
    /// # Errors
    /// When its ending says nothing, or no file can be there: better known before a long run than after it.
    pub(crate) fn of(path: &Path) -> Result<Self, Failure> {
        let shown = path.display();
        let format = format_of(path).ok_or_else(|| {
            Failure::usage(format!("{shown}: the name does not say what to write")).with_cure(
                "End it in .pickle, .json or .vram; `vramscope convert` knows further formats.",
            )
        })?;
        let folder = folder_of(path);
        if path.is_dir() {
            return Err(Failure::usage(format!(
                "{shown} is a folder; name a file in it"
            )));
        }
        if !folder.is_dir() {
            return Err(Failure::usage(format!(
                "cannot write {shown}: there is no folder {}",
                folder.display()
            )));
        }
        Ok(Self {
            path: path.to_owned(),
            format,
        })
    }

    /// The file, as it was named.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The file beside it with `-SUFFIX` behind its name: of `snap.pickle`, `snap-SUFFIX.pickle`.
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

    /// Refuses to write in the place of something that is read.
    ///
    /// # Errors
    /// When it is among `inputs`.
    pub(crate) fn is_none_of(&self, inputs: &[PathBuf]) -> Result<(), Failure> {
        let Ok(place) = fs::canonicalize(&self.path) else {
            return Ok(());
        };
        match inputs
            .iter()
            .any(|input| fs::canonicalize(input).is_ok_and(|input| input == place))
        {
            false => Ok(()),
            true => Err(Failure::usage(format!(
                "{} is the file that is read; name another one to write",
                self.path.display()
            ))),
        }
    }

    /// Writes it, and gives its size in bytes.
    ///
    /// # Errors
    /// When that is not possible.
    pub(crate) fn write(&self, snapshot: &Snapshot) -> Result<u64, Failure> {
        self.try_write(snapshot)
            .map_err(Failure::io(format!("cannot write {}", self.path.display())))
    }

    fn try_write(&self, snapshot: &Snapshot) -> io::Result<u64> {
        // Through a link, not in its place.
        let place = fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
        if fs::metadata(&place).is_ok_and(|metadata| !metadata.is_file()) {
            self.encode(snapshot, &mut File::create(&place)?)?;
            return Ok(0);
        }
        let mut file = temporary(&place).tempfile_in(folder_of(&place))?;
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
            Format::Packed => pack::pack(snapshot, &mut out)?,
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

/// A file that will be `path`; whoever may read that (or other new files) may read it.
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
        assert!(file.is_none_of(std::slice::from_ref(&path)).is_ok());
        fs::write(&path, "").unwrap();
        assert!(
            file.is_none_of(&[folder.path().join(".").join("a.json")])
                .is_err()
        );
        assert!(file.is_none_of(&[folder.path().join("b.json")]).is_ok());
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
