//! Names of code that was generated while the program ran: `/tmp/perf-<pid>.map`, which `python -X perf` (3.12 and
//! newer), Node, Julia and others write for profilers.
//!
//! It is in the way of the next program and gone with the next boot, so a copy is kept beside the log.

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

/// More of a map than this is not read: a hundred million characters name a million functions.
const MOST_BYTES: u64 = 256 << 20;
/// More functions than these are not kept.
const MOST_FUNCTIONS: usize = 4 << 20;

/// The map of a log's program: the copy, else the one that the program writes, if it is not an earlier program's.
pub(super) fn of_log(log: &Path, header: &Header) -> Option<PathBuf> {
    let kept = beside(log);
    if kept.is_file() {
        return Some(kept);
    }
    let map = of_process(header.process);
    let metadata = std::fs::symlink_metadata(&map).ok()?;
    let written = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    let owner = std::fs::metadata(log).ok()?.uid();
    let is_its = metadata.is_file()
        && metadata.uid() == owner
        && written.as_nanos() >= u128::from(header.created_ns);
    is_its.then_some(map)
}

/// Where a program writes its map.
fn of_process(process: u64) -> PathBuf {
    PathBuf::from(format!("/tmp/perf-{process}.map"))
}

/// Where the map of a log's program is kept: `<log>.perf-map`.
fn beside(log: &Path) -> PathBuf {
    let mut name = OsString::from(log.as_os_str());
    name.push(".perf-map");
    PathBuf::from(name)
}

/// Copies the map of a program that is running or has just ended beside its log; false if it wrote none.
///
/// # Errors
///
/// Those of reading and writing files.
pub fn keep(process: u64, log: &Path) -> io::Result<bool> {
    // Anybody may make files in `/tmp`: only one's own is meant, and not through a link.
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(of_process(process));
    let map = match opened {
        Ok(map) => map,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    let (metadata, owner) = (map.metadata()?, std::fs::metadata(log)?.uid());
    if !metadata.is_file() || metadata.uid() != owner {
        return Ok(false);
    }
    // Names of a program's functions are nobody else's business, as little as its log is.
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    io::copy(&mut map.take(MOST_BYTES), &mut options.open(beside(log))?)?;
    Ok(true)
}

/// A function that was generated.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Generated {
    pub(super) frame: SourceFrame,
    pub(super) is_python: bool,
}

/// A map that was read.
pub(super) struct PerfMap {
    file: FileBytes,
    /// First address, the one behind, and where the name stands in the file; ascending by first address.
    functions: Vec<(u64, u64, u32, u32)>,
}

impl PerfMap {
    /// Reads a map; `None` if there is none, or nothing in it.
    pub(super) fn read(path: &Path) -> Option<Self> {
        let file = FileBytes::read(path).ok()??;
        let bytes = file.get();
        let bytes = &bytes[..bytes.len().min(MOST_BYTES as usize)];
        let mut functions = Vec::new();
        let mut start = 0;
        for line in bytes.split_inclusive(|&byte| byte == b'\n') {
            functions.extend(function(line, start));
            start += line.len();
            if functions.len() >= MOST_FUNCTIONS {
                break;
            }
        }
        // Where code was replaced by other code, the last word counts: it is found first.
        functions.reverse();
        functions.sort_by_key(|&(start, ..)| start);
        functions.dedup_by_key(|&mut (start, ..)| start);
        (!functions.is_empty()).then_some(Self { file, functions })
    }

    /// The function that holds an address.
    pub(super) fn function(&self, address: u64) -> Option<Generated> {
        let index = self
            .functions
            .partition_point(|&(start, ..)| start <= address);
        let &(_, end, from, to) = self.functions.get(index.checked_sub(1)?)?;
        let name = self.file.get().get(from as usize..to as usize)?;
        (address < end).then(|| generated(&String::from_utf8_lossy(name)))
    }
}

/// `7f12a0 1b py::name:/path.py`: start, size, name. `offset` is that of the line in the file.
fn function(line: &[u8], offset: usize) -> Option<(u64, u64, u32, u32)> {
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

/// Python's trampolines are called `py::qualified.name:file`.
fn generated(name: &str) -> Generated {
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
        // No process has this number.
        let process = 4_200_000_000 + u64::from(std::process::id());
        assert!(!keep(process, &log).unwrap());
        std::fs::write(of_process(process), "1000 10 py::f:g.py\n").unwrap();
        let kept = keep(process, &log);
        std::fs::remove_file(of_process(process)).unwrap();
        assert!(kept.unwrap());
        assert!(PerfMap::read(&beside(&log)).is_some());
        assert_eq!(
            beside(Path::new("/x/1-2.raw")),
            Path::new("/x/1-2.raw.perf-map")
        );
    }
}
