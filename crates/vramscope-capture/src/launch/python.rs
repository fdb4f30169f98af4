//! Whether a program is a Python that can safely be asked to name its functions in stacks.
//!
//! Since 3.12, Python does so if a variable is set, by generating code for each function. Nothing is started to find
//! out: the file name identifies a Python, and a symbol in the file its version.
//!
//! Some versions then crash or misbehave, so they are left alone:
//! - 3.12.0 and 3.12.1 stop recursion at 750 calls instead of 1,000 (python/cpython#105003, #113403).
//! - 3.13.12, 3.13.13 and 3.14.3 to 3.14.5 crash in forked processes (#144766, #149156).
//! - Free-threaded builds generate that code without a lock (#152330).

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::elf_file;

/// Makes Python name its functions for profilers.
pub(crate) const VARIABLE: &str = "PYTHONPERFSUPPORT";

/// Python's version since 3.11, as `0x030C01F0` for 3.12.1.
const VERSION_SYMBOL: &str = "Py_Version";

/// Ranges of versions that can do so safely; the ends are exclusive.
const SAFE: [[(u8, u8, u8); 2]; 3] = [
    [(3, 12, 2), (3, 13, 12)],
    [(3, 13, 14), (3, 14, 3)],
    [(3, 14, 6), (u8::MAX, 0, 0)],
];

/// Whether one of these files, a script and its interpreters, is such a Python.
pub(crate) fn can_name_functions(files: &[PathBuf]) -> bool {
    let python = files.iter().find(|file| is_python(file));
    python
        .and_then(|python| version(python))
        .is_some_and(is_safe)
}

fn is_safe(version: (u8, u8, u8)) -> bool {
    SAFE.iter()
        .any(|[first, end]| (*first..*end).contains(&version))
}

/// Whether the file name is that of an interpreter with a global lock: `python`, `python3.12`.
fn is_python(file: &Path) -> bool {
    let name = file.file_name().and_then(|name| name.to_str());
    name.and_then(|name| name.strip_prefix("python"))
        .is_some_and(|numbers| {
            let is_number = |byte: u8| byte.is_ascii_digit() || byte == b'.';
            numbers.bytes().all(is_number)
        })
}

/// The version of an interpreter, which may be in a separate library.
fn version(python: &Path) -> Option<(u8, u8, u8)> {
    let python = fs::canonicalize(python).ok()?;
    if !is_python(&python) {
        return None;
    }
    let prefix = python.parent()?.parent()?;
    let name = python.file_name()?.to_str()?;
    let library = format!("lib{name}.so.1.0");
    let of_system = format!("lib/{}-linux-gnu", std::env::consts::ARCH);
    let libraries = ["lib", "lib64", &of_system].map(|folder| prefix.join(folder).join(&library));
    [python].iter().chain(&libraries).find_map(|file| {
        let value = elf_file::exported_bytes(File::open(file).ok()?, VERSION_SYMBOL)?;
        // The number has eight bytes.
        let [_, micro, minor, major] = *value.first_chunk()?;
        Some((major, minor, micro))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_tells_an_interpreter() {
        for (name, expected) in [
            ("/usr/bin/python3.12", true),
            ("python3", true),
            ("python", true),
            ("python3.13t", false),
            ("python3-config", false),
            ("ipython3", false),
            ("train.py", false),
        ] {
            assert_eq!(is_python(Path::new(name)), expected, "{name}");
        }
    }

    #[test]
    fn versions_with_known_faults_are_left_alone() {
        for version in [
            (3, 12, 2),
            (3, 13, 0),
            (3, 13, 11),
            (3, 13, 14),
            (3, 14, 0),
            (3, 14, 2),
            (3, 14, 6),
            (3, 15, 0),
        ] {
            assert!(is_safe(version), "{version:?}");
        }
        for version in [
            (2, 7, 18),
            (3, 11, 7),
            (3, 12, 1),
            (3, 13, 12),
            (3, 13, 13),
            (3, 14, 3),
            (3, 14, 5),
        ] {
            assert!(!is_safe(version), "{version:?}");
        }
    }

    /// Scripts with that name, such as pyenv's, and files without a version do not count.
    #[test]
    fn the_name_alone_does_not_do() {
        let folder = tempfile::tempdir().unwrap();
        let python = folder.path().join("python3.12");
        fs::write(&python, "#!/bin/sh\n").unwrap();
        assert!(!can_name_functions(std::slice::from_ref(&python)));
        fs::copy("/bin/sh", &python).unwrap();
        assert!(!can_name_functions(&[python]));
        assert!(!can_name_functions(&[]));
    }
}
