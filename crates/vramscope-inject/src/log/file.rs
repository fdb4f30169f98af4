//! The log's file: made, mapped, appended to.
//!
//! **A full disk must not end the target.** Writing to a mapped page for which the disk has no room raises `SIGBUS`.
//! So room is taken [`STEP_BYTES`] at a time before anything is written there, in ways that return an error instead:
//! `MADV_POPULATE_WRITE` (Linux 5.14), which makes the pages writable at once too, else `posix_fallocate`. When there
//! is none, a note says so, in room that was kept for it, and everything after that is counted as dropped. Left over
//! are file systems that copy on write: on one of them that is full to the last block, a page that was written back
//! and is written again may not find room; and somebody who truncates the file.
//!
//! The file is not kept open: a program that closes all descriptors, or counts on their numbers, must not notice.

use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use vramscope_record::layout::{
    HEADER_BYTES, Kind, LONGEST_PAYLOAD_BYTES, MAGIC, RECORD_HEADER_BYTES, VERSION, header,
    record_bytes, record_check,
};
use vramscope_record::settings::Settings;

/// Room that is taken from the disk at a time.
const STEP_BYTES: u64 = 1 << 20;
/// Of which this much is kept for saying that there is no more. Longer than any record.
const SPARE_BYTES: u64 = 1 << 17;
/// Bytes of a file whose records are taken over while it grows, of which few exist at a time.
const FOLLOWED_FILE_BYTES: u64 = 4 << 40;
/// Times that taking room may be interrupted by signals.
const MOST_INTERRUPTIONS: u32 = 1000;
/// Part of a limited address space that is taken; the rest is the program's.
const ADDRESS_SPACE_SHARE: u64 = 16;
/// What a log must be able to hold to be of use.
const LEAST_FILE_BYTES: u64 = 1 << 16;

/// A log that is being written.
pub(super) struct Log {
    base: NonNull<u8>,
    path: PathBuf,
    /// Device and inode of `path`.
    identity: (u64, u64),
    /// Room between what was consumed and what is written, if somebody consumes.
    followed_bytes: Option<u64>,
    /// Offset behind which there is no room in the file, or none on the disk.
    end: AtomicU64,
    /// Offset up to which there is room on the disk.
    backed: AtomicU64,
    backing: Mutex<()>,
}

// SAFETY: the mapping is shared by design: it is only written through atomics and into room that one thread reserved.
unsafe impl Send for Log {}
// SAFETY: as above.
unsafe impl Sync for Log {}

impl Log {
    /// Makes a log in this folder.
    pub(super) fn make(folder: &Path, settings: &Settings) -> Result<Self, Error> {
        let (process, start_ticks) = (std::process::id(), start_ticks());
        let (path, file) = create(folder, &format!("{process}-{start_ticks}"))?;
        let wanted = match settings.is_followed {
            true => FOLLOWED_FILE_BYTES,
            false => settings.capacity_bytes.saturating_add(HEADER_BYTES),
        };
        let (base, file_bytes) = map(&file, wanted).inspect_err(|_| remove(&path))?;
        let metadata = file.metadata()?;
        let log = Self {
            base,
            path,
            identity: (metadata.dev(), metadata.ino()),
            followed_bytes: settings.is_followed.then_some(settings.capacity_bytes),
            end: AtomicU64::new(file_bytes),
            backed: AtomicU64::new(0),
            backing: Mutex::new(()),
        };
        if !log.back(HEADER_BYTES) {
            remove(&log.path);
            return Err(ErrorKind::StorageFull.into());
        }
        log.word(header::VERSION).store(VERSION, Ordering::Relaxed);
        log.word(header::IS_RECORDING)
            .store(u32::from(settings.starts_on), Ordering::Relaxed);
        for (field, value) in [
            (
                header::CAPACITY_BYTES,
                settings.capacity_bytes.min(file_bytes - HEADER_BYTES),
            ),
            (header::FILE_BYTES, file_bytes),
            (header::WRITE_OFFSET, HEADER_BYTES),
            (header::CONSUMED_OFFSET, HEADER_BYTES),
            (header::PROCESS, process.into()),
            (header::START_TICKS, start_ticks),
            (header::CREATED_NS, super::now_ns()),
        ] {
            log.long(field).store(value, Ordering::Relaxed);
        }
        log.long(header::MAGIC)
            .store(u64::from_ne_bytes(MAGIC), Ordering::Release);
        Ok(log)
    }

    /// A `u32` of the header.
    pub(super) fn word(&self, field: usize) -> &AtomicU32 {
        // SAFETY: fields lie in the first page, which is mapped for good, aligned to their size.
        unsafe { self.base.add(field).cast().as_ref() }
    }

    /// A `u64` of the header.
    fn long(&self, field: usize) -> &AtomicU64 {
        // SAFETY: as above.
        unsafe { self.base.add(field).cast().as_ref() }
    }

    /// Appends a record and returns whether there was room.
    #[inline]
    pub(super) fn append(&self, kind: Kind, parts: &[&[u8]]) -> bool {
        let payload_bytes = payload_bytes(parts);
        let Some(offset) = self.reserve(record_bytes(payload_bytes) as u64) else {
            self.long(header::DROPPED_RECORDS)
                .fetch_add(1, Ordering::Relaxed);
            return false;
        };
        // SAFETY: `reserve` gave this thread alone this many bytes from there, in the mapping and backed by the disk.
        unsafe { self.fill(offset, kind, parts, payload_bytes) };
        true
    }

    /// Writes a record.
    ///
    /// # Safety
    /// `record_bytes(payload_bytes)` from `offset` must be the calling thread's alone, in the mapping, and backed by the
    /// disk; `offset` must be aligned as records are.
    #[inline]
    unsafe fn fill(&self, offset: u64, kind: Kind, parts: &[&[u8]], payload_bytes: usize) {
        let head = payload_bytes as u64 | u64::from(record_check(offset)) << 48;
        // SAFETY: as the caller promises; the copies add up to `payload_bytes`.
        unsafe {
            let record = self.base.add(offset as usize);
            record
                .cast::<AtomicU64>()
                .as_ref()
                .store(head, Ordering::Relaxed);
            let mut to = record.add(RECORD_HEADER_BYTES);
            let mut left = payload_bytes;
            for part in parts {
                let bytes = part.len().min(left);
                to.copy_from_nonoverlapping(NonNull::from_ref(*part).cast(), bytes);
                to = to.add(bytes);
                left -= bytes;
            }
            record
                .add(4)
                .cast::<AtomicU8>()
                .as_ref()
                .store(kind as u8, Ordering::Release);
        }
    }

    /// Offset of room for a record.
    #[inline]
    fn reserve(&self, bytes: u64) -> Option<u64> {
        let write_offset = self.long(header::WRITE_OFFSET);
        if let Some(followed_bytes) = self.followed_bytes {
            // Threads that look at once go beyond it by a record each, which does not matter: the file is far longer.
            let consumed = self.long(header::CONSUMED_OFFSET).load(Ordering::Relaxed);
            let ahead = write_offset
                .load(Ordering::Relaxed)
                .saturating_sub(consumed);
            if ahead.saturating_add(bytes) > followed_bytes {
                return None;
            }
        }
        let offset = write_offset.fetch_add(bytes, Ordering::Relaxed);
        let end = offset.saturating_add(bytes);
        if end > self.end.load(Ordering::Relaxed) {
            return None;
        }
        if end + SPARE_BYTES > self.backed.load(Ordering::Acquire) && !self.back(end) {
            return None;
        }
        Some(offset)
    }

    /// Sees to it that there is room on the disk up to `end` and some more; whether there is up to `end`.
    #[cold]
    fn back(&self, end: u64) -> bool {
        let _guard = self.backing.lock().unwrap_or_else(PoisonError::into_inner);
        let backed = self.backed.load(Ordering::Relaxed);
        let limit = self.end.load(Ordering::Relaxed);
        let wanted = (end + SPARE_BYTES).next_multiple_of(STEP_BYTES).min(limit);
        if wanted <= backed || end > limit {
            return end <= backed;
        }
        let Err(error) = self.take_room(backed, wanted) else {
            self.backed.store(wanted, Ordering::Release);
            return true;
        };
        self.end.store(backed, Ordering::Relaxed);
        if backed > 0 {
            self.say_why(&error, backed);
        }
        end <= backed
    }

    /// Writes into the room that was kept for it that there is no more, while all other threads wait.
    fn say_why(&self, error: &Error, backed: u64) {
        let folder = self.path.parent().unwrap_or(&self.path).display();
        let text = format!("recording ended: no room for the log in {folder} ({error})");
        let parts = [text.as_bytes()];
        let payload_bytes = payload_bytes(&parts);
        let bytes = record_bytes(payload_bytes) as u64;
        let offset = self
            .long(header::WRITE_OFFSET)
            .fetch_add(bytes, Ordering::Relaxed);
        if offset + bytes <= backed {
            // SAFETY: reserved by the addition, and in front of `backed`.
            unsafe { self.fill(offset, Kind::Note, &parts, payload_bytes) };
        }
    }

    /// Takes room on the disk for this part of the file.
    fn take_room(&self, from: u64, to: u64) -> Result<(), Error> {
        let bytes = (to - from) as usize;
        // SAFETY: part of our own mapping.
        let outcome = unsafe {
            let start = self.base.add(from as usize).as_ptr().cast();
            libc::madvise(start, bytes, libc::MADV_POPULATE_WRITE)
        };
        if outcome == 0 {
            return Ok(());
        }
        match Error::last_os_error() {
            error if error.raw_os_error() == Some(libc::EINVAL) => {}
            // What writing there would have raised SIGBUS for.
            error if error.raw_os_error() == Some(libc::EFAULT) => {
                return Err(Error::from_raw_os_error(libc::ENOSPC));
            }
            error => return Err(error),
        }
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NOFOLLOW)
            .open(&self.path)?;
        let metadata = file.metadata()?;
        if (metadata.dev(), metadata.ino()) != self.identity {
            return Err(ErrorKind::NotFound.into());
        }
        // SAFETY: no memory is involved. Nobody has written there, so that glibc's way without the file system's help,
        // a byte into each block, loses nothing.
        let fallocate =
            || unsafe { libc::posix_fallocate(file.as_raw_fd(), from as i64, bytes as i64) };
        // A program that is profiled gets signals all the time.
        match (0..MOST_INTERRUPTIONS)
            .map(|_| fallocate())
            .find(|&outcome| outcome != libc::EINTR)
        {
            Some(0) => Ok(()),
            error => Err(Error::from_raw_os_error(error.unwrap_or(libc::EINTR))),
        }
    }
}

/// Bytes of a payload; the longest are cut.
fn payload_bytes(parts: &[&[u8]]) -> usize {
    let bytes = parts.iter().map(|part| part.len()).sum::<usize>();
    bytes.min(LONGEST_PAYLOAD_BYTES)
}

/// Creates `<name>.raw`; or, if the program executed another and its log has that name, `<name>-2.raw` and so on.
fn create(folder: &Path, name: &str) -> Result<(PathBuf, File), Error> {
    let mut path = folder.join(format!("{name}.raw"));
    let mut number = 1;
    loop {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path);
        match file {
            Err(error) if error.kind() == ErrorKind::AlreadyExists && number < 100 => {
                number += 1;
                path = folder.join(format!("{name}-{number}.raw"));
            }
            file => return Ok((path, file?)),
        }
    }
}

/// A log that could not be begun.
fn remove(path: &Path) {
    // What cannot be removed is an empty file, which readers take for what it is.
    let _ = std::fs::remove_file(path);
}

/// Gives a file up to so many bytes, without room on the disk, and maps it: where, and how many there are.
fn map(file: &File, wanted: u64) -> Result<(NonNull<u8>, u64), Error> {
    let space = match limit(libc::RLIMIT_AS) {
        libc::RLIM_INFINITY => u64::MAX,
        space => space / ADDRESS_SPACE_SHARE,
    };
    // A file beyond its limit would raise SIGXFSZ. Whole pages, for they are mapped.
    let most = limit(libc::RLIMIT_FSIZE).min(space).min(i64::MAX as u64);
    let mut bytes = wanted.min(most) & !(HEADER_BYTES - 1);
    while bytes >= LEAST_FILE_BYTES {
        // File systems and address spaces have limits of their own: try less.
        if file.set_len(bytes).is_ok() {
            // SAFETY: a new mapping, which touches no other memory.
            let base = unsafe {
                let access = libc::PROT_READ | libc::PROT_WRITE;
                libc::mmap(
                    std::ptr::null_mut(),
                    bytes as usize,
                    access,
                    libc::MAP_SHARED,
                    file.as_raw_fd(),
                    0,
                )
            };
            if let Some(base) = NonNull::new(base.cast()).filter(|_| base != libc::MAP_FAILED) {
                return Ok((base, bytes));
            }
        }
        bytes = (bytes / 2) & !(HEADER_BYTES - 1);
    }
    Err(ErrorKind::FileTooLarge.into())
}

/// A limit of this process in bytes; `RLIM_INFINITY` without one.
fn limit(resource: libc::__rlimit_resource_t) -> u64 {
    let mut limit = libc::rlimit {
        rlim_cur: libc::RLIM_INFINITY,
        rlim_max: libc::RLIM_INFINITY,
    };
    // SAFETY: writes to `limit` alone.
    unsafe { libc::getrlimit(resource, &raw mut limit) };
    limit.rlim_cur
}

/// When this process was started, in clock ticks since boot; 0 if that cannot be read.
fn start_ticks() -> u64 {
    let stat = std::fs::read("/proc/self/stat").unwrap_or_default();
    // The name in parentheses may hold anything, so count from behind it: field 22 is the twentieth there.
    let behind = stat
        .iter()
        .rposition(|&byte| byte == b')')
        .map_or(0, |at| at + 2);
    String::from_utf8_lossy(&stat[behind.min(stat.len())..])
        .split(' ')
        .nth(19)
        .and_then(|ticks| ticks.parse().ok())
        .unwrap_or(0)
}

/// The parts of the record about the program: the executable and the arguments, each behind its length.
pub(super) fn program() -> Vec<Vec<u8>> {
    let executable = std::env::current_exe().unwrap_or_default();
    let arguments = std::env::args_os();
    std::iter::once(executable.into_os_string())
        .chain(arguments)
        .flat_map(|text| {
            let text = text.to_string_lossy().into_owned().into_bytes();
            [(text.len() as u32).to_le_bytes().to_vec(), text]
        })
        .collect()
}

/// The calling thread's id and name.
pub(super) fn this_thread() -> (u32, Vec<u8>) {
    let mut name = [0_u8; 16];
    // SAFETY: the kernel writes up to 16 bytes with a zero at the end.
    let id = unsafe {
        libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr());
        libc::gettid()
    };
    let end = name
        .iter()
        .position(|&byte| byte == 0)
        .unwrap_or(name.len());
    (id as u32, name[..end].to_vec())
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;
    use vramscope_record::layout::state;

    fn settings(capacity_bytes: u64, is_followed: bool) -> Settings {
        Settings {
            capacity_bytes,
            is_followed,
            ..Settings::default()
        }
    }

    /// The payloads of a log's records, read in the obvious way.
    fn payloads(log: &Log) -> Vec<Vec<u8>> {
        // Not all of it: a followed log is terabytes of nothing.
        let end = log.long(header::WRITE_OFFSET).load(Ordering::Relaxed);
        let mut bytes = Vec::new();
        let file = File::open(&log.path).unwrap();
        file.take(end.min(log.end.load(Ordering::Relaxed)))
            .read_to_end(&mut bytes)
            .unwrap();
        let mut payloads = Vec::new();
        let mut offset = HEADER_BYTES as usize;
        while bytes.get(offset + 4).is_some_and(|&kind| kind != 0) {
            assert_eq!(
                bytes[offset + 6..][..2],
                record_check(offset as u64).to_le_bytes()
            );
            let length = u32::from_le_bytes(bytes[offset..][..4].try_into().unwrap()) as usize;
            payloads.push(bytes[offset + RECORD_HEADER_BYTES..][..length].to_vec());
            offset += record_bytes(length);
        }
        payloads
    }

    fn dropped(log: &Log) -> u64 {
        log.long(header::DROPPED_RECORDS).load(Ordering::Relaxed)
    }

    #[test]
    fn threads_lose_and_tear_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let log = Log::make(folder.path(), &settings(16 << 20, false)).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..8_u8 {
                let log = &log;
                scope.spawn(move || {
                    for turn in 0..5_000_u32 {
                        let tail = vec![thread; turn as usize % 50];
                        assert!(log.append(Kind::Event, &[&[thread], &turn.to_le_bytes(), &tail]));
                    }
                });
            }
        });
        let mut next = [0; 8];
        for payload in payloads(&log) {
            let turn = u32::from_le_bytes(payload[1..5].try_into().unwrap());
            assert_eq!(turn, next[payload[0] as usize]);
            assert_eq!(payload[5..], vec![payload[0]; turn as usize % 50]);
            next[payload[0] as usize] += 1;
        }
        assert_eq!(next, [5_000; 8]);
        assert_eq!(dropped(&log), 0);
        assert_eq!(
            log.word(header::STATE).load(Ordering::Relaxed),
            state::RUNNING
        );
    }

    #[test]
    fn a_full_log_counts_and_takes_nothing_any_more() {
        let folder = tempfile::tempdir().unwrap();
        let log = Log::make(folder.path(), &settings(1 << 17, false)).unwrap();
        let long = [7; 1000];
        let taken = (0..1_000)
            .filter(|_| log.append(Kind::Note, &[&long]))
            .count();
        assert_eq!(taken, (1 << 17) / record_bytes(1000));
        assert!(!log.append(Kind::Note, &[b"short"]));
        assert_eq!(payloads(&log).len(), taken);
        assert_eq!(dropped(&log), 1_001 - taken as u64);
    }

    #[test]
    fn a_followed_log_goes_on_when_somebody_took_records_over() {
        let folder = tempfile::tempdir().unwrap();
        let log = Log::make(folder.path(), &settings(4 << 10, true)).unwrap();
        let fill = || {
            (0..100)
                .filter(|_| log.append(Kind::Note, &[&[7; 56]]))
                .count()
        };
        assert_eq!(fill(), 64);
        assert_eq!(fill(), 0);
        log.long(header::CONSUMED_OFFSET)
            .fetch_add(640, Ordering::Relaxed);
        assert_eq!(fill(), 10);
        assert_eq!(payloads(&log).len(), 74);
    }

    #[test]
    fn long_payloads_are_cut_and_names_are_not_used_twice() {
        let folder = tempfile::tempdir().unwrap();
        let log = Log::make(folder.path(), &settings(1 << 20, false)).unwrap();
        assert!(log.append(Kind::Text, &[&[1, 0, 0, 0], &vec![b'x'; 1 << 20]]));
        assert_eq!(payloads(&log)[0].len(), LONGEST_PAYLOAD_BYTES);
        let second = Log::make(folder.path(), &settings(1 << 20, false)).unwrap();
        assert_ne!(log.path, second.path);
        assert!(start_ticks() > 0);
    }
}
