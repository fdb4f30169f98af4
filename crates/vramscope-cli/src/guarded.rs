//! Files named by others: the paths in an overview, the content of a dataset from elsewhere, the files that an agent
//! asks for. Only regular files are opened, and paths in a file only if they are below the folder concerned.
//!
//! A pipe would wait for ever, a device would never end, and a path may lead to private files.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// The file of a dataset that holds the summaries of all ranks, once these are packed.
pub(crate) const OVERVIEW: &str = "overview.vset";

/// The file of a dataset that is written first; it marks the folder as a dataset.
pub(crate) const FORMAT_FILE: &str = "format";

/// Maximum size of an overview, in bytes: one of a hundred thousand ranks has 90 MB.
pub(crate) const OVERVIEW_BYTES: u64 = 512 << 20;

/// Whether files are named by others than the user of the command line.
static ARE_NAMED_BY_OTHERS: AtomicBool = AtomicBool::new(false);

/// From now on, snapshots are read only from regular files, and not from standard input.
pub(crate) fn only_regular_files() {
    ARE_NAMED_BY_OTHERS.store(true, Ordering::Relaxed);
}

/// Fails for a path that must not be read as a snapshot: where others name files, anything but files and folders, and
/// standard input. An overview must always be a file.
///
/// # Errors
/// When it is one of these.
pub(crate) fn check(path: &Path) -> io::Result<()> {
    let is_of_others = ARE_NAMED_BY_OTHERS.load(Ordering::Relaxed);
    let is_overview = path.extension().is_some_and(|ending| ending == "vset");
    let is_neither = || fs::metadata(path).is_ok_and(|it| !it.is_file() && !it.is_dir());
    let is_stdin = is_of_others && path.as_os_str() == "-";
    match is_stdin || ((is_of_others || is_overview) && is_neither()) {
        true => Err(io::Error::new(
            ErrorKind::InvalidInput,
            "this is neither a file nor a folder",
        )),
        false => Ok(()),
    }
}

/// Opens a regular file.
///
/// # Errors
/// When it is something else, or cannot be opened.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    match fs::metadata(path)?.is_file() {
        true => File::open(path),
        false => Err(io::Error::new(ErrorKind::InvalidInput, "this is no file")),
    }
}

/// Reads a regular file, if it has at most `most_bytes`.
///
/// # Errors
/// When it is something else, longer, or cannot be read.
pub(crate) fn read(path: &Path, most_bytes: u64) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let mut bytes = Vec::new();
    match file.metadata()?.len() > most_bytes {
        false => drop(file.take(most_bytes).read_to_end(&mut bytes)?),
        true => {
            let why =
                format!("it has more than {most_bytes} bytes, too many for a file of this kind");
            return Err(io::Error::new(ErrorKind::InvalidData, why));
        }
    };
    Ok(bytes)
}

/// Whether it is a file itself, not a link to one.
pub(crate) fn is_real_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|it| it.is_file())
}

/// Whether it is a folder itself, not a link to one.
pub(crate) fn is_real_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|it| it.is_dir())
}

/// The snapshot that an overview names: a regular file in or below the overview's folder or, if that is a dataset, in
/// or below the dataset's parent. `None` for any other, and for hidden ones.
pub(crate) fn snapshot_of(overview: &Path, named: &str) -> Option<PathBuf> {
    let folder = overview.parent()?;
    let is_dataset = overview.ends_with(OVERVIEW) && is_real_file(&folder.join(FORMAT_FILE));
    let around = || match folder.file_name() {
        Some(_) => folder.parent().map(Path::to_owned),
        None => Some(folder.join("..")),
    };
    let around = is_dataset.then(around).flatten();
    below(folder, named).or_else(|| below(&around?, named))
}

/// The regular file with this path below a folder, if there is one. No link may lead out of the folder.
pub(crate) fn below(folder: &Path, named: &str) -> Option<PathBuf> {
    let is_plain = |part| match part {
        Component::Normal(name) => !name.to_string_lossy().starts_with('.'),
        _ => false,
    };
    if !Path::new(named).components().all(is_plain) {
        return None;
    }
    let path = folder.join(named);
    let real = fs::canonicalize(&path).ok()?;
    let here = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    let is_inside = real.starts_with(fs::canonicalize(here).ok()?);
    (is_inside && fs::metadata(&real).is_ok_and(|it| it.is_file())).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_overview_names_files_in_its_dataset_and_beside_it_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join("home").join(path);
        for path in ["x.vset/a/rank1.pickle", "x.vset/.b/c", "runs/rank0.pickle"] {
            fs::create_dir_all(at(path).parent().unwrap()).unwrap();
            fs::write(at(path), "").unwrap();
        }
        fs::write(folder.path().join("secret"), "").unwrap();
        let overview = at("x.vset").join(OVERVIEW);
        let found = |named: &str| snapshot_of(&overview, named);
        // It may have been copied to anywhere.
        assert_eq!(found("runs/rank0.pickle"), None);
        fs::write(at("x.vset").join(FORMAT_FILE), "").unwrap();
        assert_eq!(found("runs/rank0.pickle"), Some(at("runs/rank0.pickle")));
        assert_eq!(found("a/rank1.pickle"), Some(at("x.vset/a/rank1.pickle")));
        let secret = folder.path().join("secret");
        for named in [
            secret.to_str().unwrap(),
            "../secret",
            "../../secret",
            "x.vset/../runs/rank0.pickle",
            ".b/c",
            "a",
            "",
            "/dev/stdin",
        ] {
            assert_eq!(found(named), None, "{named}");
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(folder.path(), at("runs/out")).unwrap();
            assert_eq!(found("runs/out/secret"), None);
            std::os::unix::fs::symlink("/dev/zero", at("runs/zero")).unwrap();
            assert_eq!(found("runs/zero"), None);
        }
    }

    #[test]
    fn only_regular_files_of_a_bounded_length_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "1234").unwrap();
        assert_eq!(read(&path, 4).unwrap(), b"1234");
        assert!(read(&path, 3).is_err());
        assert!(read(folder.path(), 4).is_err());
        #[cfg(unix)]
        assert!(read(Path::new("/dev/zero"), 4).is_err());
    }
}
