//! Names of generated code from `/tmp/perf-<pid>.map`, which `python -X perf` (3.12 and newer), Node, Julia and others
//! write for profilers.
//!
//! A later process with the same id overwrites the file, and a reboot removes it, so a copy is kept beside the log.

use super::bytes::FileBytes;
use super::demangle::demangle;
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;
use vramscope_record::reader::Header;
use vramscope_record::symbols::SourceFrame;

/// Maximum number of bytes read; enough to name millions of functions.
const MAX_BYTES: u64 = 256 << 20;
/// Maximum number of functions.
const MAX_FUNCTIONS: usize = 4 << 20;

/// Finds the map of a log's program: the copy, or else the program's own file, unless that belongs to an earlier
/// process.
pub(super) fn find(log: &Path, header: &Header) -> Option<PathBuf> {
    let kept = copy_path(log);
    if kept.is_file() {
        return Some(kept);
    }
    let map = path_of_process(header.process);
    let metadata = std::fs::symlink_metadata(&map).ok()?;
    let written = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    let owner = std::fs::metadata(log).ok()?.uid();
    let is_own = metadata.is_file()
        && metadata.uid() == owner
        && written.as_nanos() >= u128::from(header.created_ns);
    is_own.then_some(map)
}

fn path_of_process(process: u64) -> PathBuf {
    PathBuf::from(format!("/tmp/perf-{process}.map"))
}

/// The path of the copy: `<log>.perf-map`.
fn copy_path(log: &Path) -> PathBuf {
    let mut name = OsString::from(log.as_os_str());
    name.push(".perf-map");
    PathBuf::from(name)
}

/// Copies a process's map beside its log. Returns false if the process wrote none. The process may be running or have
/// just ended.
///
/// # Errors
///
/// If a file cannot be read or written.
pub fn save_copy(process: u64, log: &Path) -> io::Result<bool> {
    // Anybody can create files in `/tmp`: accept only a file of the log's owner, and no link.
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path_of_process(process));
    let map = match opened {
        Ok(map) => map,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    let (metadata, owner) = (map.metadata()?, std::fs::metadata(log)?.uid());
    if !metadata.is_file() || metadata.uid() != owner {
        return Ok(false);
    }
    // Function names are as private as the log.
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    io::copy(&mut map.take(MAX_BYTES), &mut options.open(copy_path(log))?)?;
    Ok(true)
}

/// Removes the map of a process that has ended, after [`save_copy`] found that it belongs to the user.
pub fn remove(process: u64) {
    // The file is small, and nobody expects files in `/tmp` to last.
    drop(std::fs::remove_file(path_of_process(process)));
}

/// A generated function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Generated {
    pub(super) frame: SourceFrame,
    pub(super) is_python: bool,
}

pub(super) struct PerfMap {
    file: FileBytes,
    /// Start address, end address, and range of the name in the file. Sorted by start address.
    functions: Vec<(u64, u64, u32, u32)>,
}

impl PerfMap {
    /// Reads a map; `None` if it does not exist or is empty.
    pub(super) fn read(path: &Path) -> Option<Self> {
        let file = FileBytes::read(path).ok()??;
        let bytes = file.get();
        let bytes = &bytes[..bytes.len().min(MAX_BYTES as usize)];
        let mut functions = Vec::new();
        let mut start = 0;
        for line in bytes.split_inclusive(|&byte| byte == b'\n') {
            functions.extend(parse_line(line, start));
            start += line.len();
            if functions.len() >= MAX_FUNCTIONS {
                break;
            }
        }
        // Generated code may be replaced; the last entry counts, and reversing puts it first.
        functions.reverse();
        functions.sort_by_key(|&(start, ..)| start);
        functions.dedup_by_key(|&mut (start, ..)| start);
        (!functions.is_empty()).then_some(Self { file, functions })
    }

    /// The function that contains an address.
    pub(super) fn function(&self, address: u64) -> Option<Generated> {
        let index = self
            .functions
            .partition_point(|&(start, ..)| start <= address);
        let &(_, end, from, to) = self.functions.get(index.checked_sub(1)?)?;
        let name = self.file.get().get(from as usize..to as usize)?;
        (address < end).then(|| split_name(&String::from_utf8_lossy(name)))
    }
}

/// Parses a line such as `7f12a0 1b py::name:/path.py`: start, size, name. `offset` is the line's position in the
/// file.
fn parse_line(line: &[u8], offset: usize) -> Option<(u64, u64, u32, u32)> {
    let mut fields = line.splitn(3, |&byte| byte == b' ');
    let mut number = || {
        let digits = std::str::from_utf8(fields.next()?).ok()?;
        u64::from_str_radix(digits.strip_prefix("0x").unwrap_or(digits), 16).ok()
    };
    let (start, size) = (number()?, number()?);
    let name = fields.next()?;
    let from = offset + (line.len() - name.len());
    let to = from + name.trim_ascii_end().len();
    Some((start, start.checked_add(size)?, from as u32, to as u32))
}

/// Splits a name. Python writes `py::qualified.name:file`.
fn split_name(name: &str) -> Generated {
    let python = name.strip_prefix("py::");
    let (function, file) = match python {
        Some(python) => python.split_once(':').unwrap_or((python, "??")),
        None => (name, "??"),
    };
    Generated {
        frame: SourceFrame {
            function: demangle(function, None),
            file: file.to_owned(),
            line: 0,
        },
        is_python: python.is_some(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(text: &[u8]) -> Option<PerfMap> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("map");
        std::fs::write(&path, text).unwrap();
        PerfMap::read(&path)
    }

    #[test]
    fn functions_are_found_by_address() {
        let map = map(
            b"1000 10 py::<module>:/a b.py\n1010 20 py::C.run.<locals>.f:/c:d.py\nzz\n2000 8 LazyCompile:~x y.js\n",
        )
        .unwrap();
        let found = |address| {
            map.function(address)
                .map(|it| (it.frame.function, it.frame.file))
        };
        let is = |function: &str, file: &str| Some((function.to_owned(), file.to_owned()));
        assert_eq!(found(0x0FFF), None);
        assert_eq!(found(0x100F), is("<module>", "/a b.py"));
        assert_eq!(found(0x1010), is("C.run.<locals>.f", "/c:d.py"));
        assert_eq!(found(0x1030), None);
        assert_eq!(found(0x2001), is("LazyCompile:~x y.js", "??"));
    }

    #[test]
    fn the_last_word_counts() {
        let map = map(b"1000 10 old\n1000 8 new\n").unwrap();
        assert_eq!(map.function(0x1004).unwrap().frame.function, "new");
        assert_eq!(map.function(0x1009), None);
    }

    #[test]
    fn what_is_no_map_holds_nothing() {
        for text in [
            &b""[..],
            b"\n\n",
            b"ffffffffffffffff 2 x\n",
            b"\xFF\xFE 1 2\n",
            b"1 2",
        ] {
            assert!(map(text).is_none(), "{text:?}");
        }
    }

    #[test]
    fn a_copy_is_kept_beside_the_log() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("1-2.raw");
        std::fs::write(&log, "log").unwrap();
        // Process ids never reach this number.
        let process = 4_200_000_000 + u64::from(std::process::id());
        assert!(!save_copy(process, &log).unwrap());
        std::fs::write(path_of_process(process), "1000 10 py::f:g.py\n").unwrap();
        let kept = save_copy(process, &log);
        std::fs::remove_file(path_of_process(process)).unwrap();
        assert!(kept.unwrap());
        assert!(PerfMap::read(&copy_path(&log)).is_some());
        assert_eq!(
            copy_path(Path::new("/x/1-2.raw")),
            Path::new("/x/1-2.raw.perf-map")
        );
    }
}
