//! The log file: created, mapped and appended to.
//!
//! **A full disk must not end the program.** Writing to a mapped page without disk space raises `SIGBUS`. So space is
//! allocated [`STEP_BYTES`] at a time before anything is written there, in ways that return an error instead:
//! `MADV_POPULATE_WRITE` (Linux 5.14), which also makes the pages writable at once, else `posix_fallocate`. If there is
//! no space, a note is written into reserved space and all later records are counted as dropped. Readers map the file
//! too, so the header says where space ends. Two cases remain: a copy-on-write file system that is full to the last
//! block may have no space to rewrite a page, and somebody may truncate the file.
//!
//! The file is not kept open. A program may close all descriptors or rely on their numbers, and must not notice the
//! recorder.

use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use vramscope_record::layout::{
    HEADER_BYTES, Kind, LONGEST_PAYLOAD_BYTES, Loss, MAGIC, RECORD_HEADER_BYTES, VERSION, header,
    record_bytes, record_check,
};
use vramscope_record::settings::Settings;

/// Disk space allocated at a time.
const STEP_BYTES: u64 = 1 << 20;
/// The part of a step that is reserved for the note about a full disk. Longer than any record.
const SPARE_BYTES: u64 = 1 << 17;
/// Size of a sparse file whose records are consumed while it grows.
const FOLLOWED_FILE_BYTES: u64 = 4 << 40;
/// Maximum number of times that signals may interrupt an allocation of disk space.
const MAX_INTERRUPTIONS: u32 = 1000;
/// The log takes at most one such share of the address space; the program needs the rest, and CUDA reserves much of it.
const ADDRESS_SPACE_SHARE: u64 = 16;
/// Minimum size of a useful log.
const MIN_FILE_BYTES: u64 = 1 << 16;

/// A log that is being written.
pub(super) struct Log {
    base: NonNull<u8>,
    path: PathBuf,
    /// Device and inode of `path`.
    identity: (u64, u64),
    /// For a followed log: maximum bytes between the consumed offset and the write offset.
    followed_bytes: Option<u64>,
    /// End of the usable file: its size, or less once the disk is full.
    end: AtomicU64,
    /// End of the allocated disk space.
    backed: AtomicU64,
    backing: Mutex<()>,
}

// SAFETY: the mapping is shared by design: it is written only through atomics, and into room that one thread
// reserved.
unsafe impl Send for Log {}
// SAFETY: as above.
unsafe impl Sync for Log {}

impl Log {
    /// Creates a log in this folder.
    pub(super) fn create(folder: &Path, settings: &Settings) -> Result<Self, Error> {
        let (process, start_ticks) = (std::process::id(), start_ticks());
        let (path, file) = create_file(folder, &format!("{process}-{start_ticks}"))?;
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
        if !log.ensure_backed(HEADER_BYTES) {
            // An empty file shows why there is no log.
            file.set_len(0)?;
            return Err(ErrorKind::StorageFull.into());
        }
        log.word(header::VERSION).store(VERSION, Ordering::Relaxed);
        log.word(header::IS_RECORDING)
            .store(u32::from(settings.starts_on), Ordering::Relaxed);
        let rank = super::rank().map_or(0, |rank| rank.number.saturating_add(1));
        log.word(header::RANK).store(rank, Ordering::Relaxed);
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
        // SAFETY: fields are in the first page, which stays mapped, and aligned to their size.
        unsafe { self.base.add(field).cast().as_ref() }
    }

    /// A `u64` of the header.
    fn long(&self, field: usize) -> &AtomicU64 {
        // SAFETY: as above.
        unsafe { self.base.add(field).cast().as_ref() }
    }

    /// Adds to the counter of a loss.
    pub(super) fn count_loss(&self, loss: Loss, times: u64) {
        self.long(header::LOSSES + 8 * loss as usize)
            .fetch_add(times, Ordering::Relaxed);
    }

    /// Appends a record. Returns whether there was room.
    #[inline]
    pub(super) fn append(&self, kind: Kind, parts: &[&[u8]]) -> bool {
        let payload_bytes = payload_bytes(parts);
        let Some(offset) = self.reserve(record_bytes(payload_bytes) as u64) else {
            self.long(header::DROPPED_RECORDS)
                .fetch_add(1, Ordering::Relaxed);
            return false;
        };
        // SAFETY: `reserve` gave this range to this thread alone; it is mapped and has disk space.
        unsafe { self.fill(offset, kind, parts, payload_bytes) };
        true
    }

    /// Writes a record.
    ///
    /// # Safety
    /// `record_bytes(payload_bytes)` from `offset` must belong to the calling thread alone, be mapped, and have
    /// disk space. `offset` must have the alignment of records.
    #[inline]
    unsafe fn fill(&self, offset: u64, kind: Kind, parts: &[&[u8]], payload_bytes: usize) {
        let head = payload_bytes as u64 | u64::from(record_check(offset)) << 48;
        // SAFETY: the caller guarantees the range; the copies add up to `payload_bytes`.
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

    /// Reserves room for a record. Returns its offset, or `None` if the log is full.
    #[inline]
    fn reserve(&self, bytes: u64) -> Option<u64> {
        let write_offset = self.long(header::WRITE_OFFSET);
        if let Some(followed_bytes) = self.followed_bytes {
            // Threads that check at the same time may exceed the limit by one record each. That is harmless: the file
            // is far longer.
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
        if end + SPARE_BYTES > self.backed.load(Ordering::Acquire) && !self.ensure_backed(end) {
            return None;
        }
        Some(offset)
    }

    /// Ensures disk space up to `end` and beyond. Returns whether there is enough up to `end`.
    #[cold]
    fn ensure_backed(&self, end: u64) -> bool {
        let _guard = self.backing.lock().unwrap_or_else(PoisonError::into_inner);
        let backed = self.backed.load(Ordering::Relaxed);
        let limit = self.end.load(Ordering::Relaxed);
        let wanted = (end + SPARE_BYTES).next_multiple_of(STEP_BYTES).min(limit);
        if wanted <= backed || end > limit {
            return end <= backed;
        }
        let Err(error) = self.allocate_space(backed, wanted) else {
            self.backed.store(wanted, Ordering::Release);
            self.long(header::BACKED_BYTES)
                .store(wanted, Ordering::Relaxed);
            return true;
        };
        self.end.store(backed, Ordering::Relaxed);
        if backed > 0 {
            self.note_full_disk(&error, backed);
        }
        end <= backed
    }

    /// Writes a note about the full disk into the reserved space. The caller holds the lock, so no other thread takes
    /// it.
    fn note_full_disk(&self, error: &Error, backed: u64) {
        let folder = self.path.parent().unwrap_or(&self.path).display();
        let text = format!("recording ended: no disk space for the log in {folder} ({error})");
        let parts = [text.as_bytes()];
        let payload_bytes = payload_bytes(&parts);
        let bytes = record_bytes(payload_bytes) as u64;
        let offset = self
            .long(header::WRITE_OFFSET)
            .fetch_add(bytes, Ordering::Relaxed);
        if offset + bytes <= backed {
            // SAFETY: reserved by the addition, and before `backed`.
            unsafe { self.fill(offset, Kind::Note, &parts, payload_bytes) };
        }
    }

    /// Allocates disk space for this part of the file.
    fn allocate_space(&self, from: u64, to: u64) -> Result<(), Error> {
        let bytes = (to - from) as usize;
        // SAFETY: part of this log's own mapping.
        let outcome = unsafe {
            let start = self.base.add(from as usize).as_ptr().cast();
            libc::madvise(start, bytes, libc::MADV_POPULATE_WRITE)
        };
        if outcome == 0 {
            return Ok(());
        }
        match Error::last_os_error() {
            error if error.raw_os_error() == Some(libc::EINVAL) => {}
            // Writing there would have raised SIGBUS.
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
        // SAFETY: no memory is involved. Nothing was written there yet, so glibc's fallback, which writes a byte
        // into each block, destroys nothing.
        let fallocate =
            || unsafe { libc::posix_fallocate(file.as_raw_fd(), from as i64, bytes as i64) };
        // A profiler may interrupt the program with signals all the time.
        match (0..MAX_INTERRUPTIONS)
            .map(|_| fallocate())
            .find(|&outcome| outcome != libc::EINTR)
        {
            Some(0) => Ok(()),
            error => Err(Error::from_raw_os_error(error.unwrap_or(libc::EINTR))),
        }
    }
}

/// Size of a payload, limited to the maximum.
fn payload_bytes(parts: &[&[u8]]) -> usize {
    let bytes = parts.iter().map(|part| part.len()).sum::<usize>();
    bytes.min(LONGEST_PAYLOAD_BYTES)
}

/// Creates `<name>.raw`, or `<name>-2.raw` and so on if it exists because the process executed another program.
fn create_file(folder: &Path, name: &str) -> Result<(PathBuf, File), Error> {
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

/// Removes a log that could not be started.
fn remove(path: &Path) {
    // A file that cannot be removed stays empty, and readers recognise an empty file.
    let _ = std::fs::remove_file(path);
}

/// Sets a file's size without allocating disk space, and maps it. Returns the mapping and the size, which may be
/// smaller than `wanted`.
fn map(file: &File, wanted: u64) -> Result<(NonNull<u8>, u64), Error> {
    // SAFETY: reads a number: an address at the start of the program's stack, which is at the end of the address space.
    let stack = unsafe { libc::getauxval(libc::AT_RANDOM) };
    let space = most_mapped(limit(libc::RLIMIT_AS), stack);
    // A file beyond its size limit would raise SIGXFSZ. Only whole pages can be mapped.
    let most = limit(libc::RLIMIT_FSIZE).min(space).min(i64::MAX as u64);
    let mut bytes = wanted.min(most) & !(HEADER_BYTES - 1);
    while bytes >= MIN_FILE_BYTES {
        // File systems and address spaces have limits of their own: try smaller sizes.
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

/// The most bytes that a log may map in an address space with a limit and a stack at its end (0 if unknown). On
/// aarch64, some kernels have address spaces of 39 bits.
fn most_mapped(limit: u64, stack: u64) -> u64 {
    let space = match stack {
        0 => u64::MAX,
        stack => stack.checked_next_power_of_two().unwrap_or(u64::MAX),
    };
    space.min(limit) / ADDRESS_SPACE_SHARE
}

/// A resource limit of this process in bytes; `RLIM_INFINITY` if there is no limit.
fn limit(resource: libc::__rlimit_resource_t) -> u64 {
    let mut limit = libc::rlimit {
        rlim_cur: libc::RLIM_INFINITY,
        rlim_max: libc::RLIM_INFINITY,
    };
    // SAFETY: writes only to `limit`.
    unsafe { libc::getrlimit(resource, &raw mut limit) };
    limit.rlim_cur
}

/// Start time of this process in clock ticks since boot; 0 if unknown.
fn start_ticks() -> u64 {
    let stat = std::fs::read("/proc/self/stat").unwrap_or_default();
    // The process name in parentheses may contain anything, so count the fields after it: field 22 is the 20th there.
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

/// The payload of the program record: the executable and the arguments, each preceded by its length.
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
pub(super) fn thread_id_and_name() -> (u32, Vec<u8>) {
    let mut name = [0_u8; 16];
    // SAFETY: the kernel writes at most 16 bytes, with a zero at the end.
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

    /// Payloads of a log's records, read by a simple independent reader.
    fn payloads(log: &Log) -> Vec<Vec<u8>> {
        // Not the whole file: a followed log is sparse and terabytes long.
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
        let log = Log::create(folder.path(), &settings(16 << 20, false)).unwrap();
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
        let log = Log::create(folder.path(), &settings(1 << 17, false)).unwrap();
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
        let log = Log::create(folder.path(), &settings(4 << 10, true)).unwrap();
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
    fn a_small_address_space_is_left_to_the_program() {
        let most = |limit, bits: u32| most_mapped(limit, (1_u64 << bits) - 0x3456_7890);
        // Kernels for x86-64, and for aarch64 with 48 and 39 bits.
        for (bits, bytes) in [(47, 8 << 40), (48, 16 << 40), (39, 32 << 30)] {
            assert_eq!(most(libc::RLIM_INFINITY, bits), bytes, "{bits}");
        }
        assert_eq!(most(16 << 30, 47), 1 << 30);
        assert_eq!(most_mapped(libc::RLIM_INFINITY, u64::MAX), u64::MAX / 16);
        // The stack is at the end here, too.
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let ends = maps.lines().filter(|line| !line.ends_with("[vsyscall]"));
        let ends =
            ends.filter_map(|line| u64::from_str_radix(line.split(['-', ' ']).nth(1)?, 16).ok());
        // SAFETY: as in `map`.
        let stack = unsafe { libc::getauxval(libc::AT_RANDOM) };
        let end = ends.max().unwrap();
        assert_eq!(end.next_power_of_two(), stack.next_power_of_two());
    }

    #[test]
    fn long_payloads_are_cut_and_names_are_not_used_twice() {
        let folder = tempfile::tempdir().unwrap();
        let log = Log::create(folder.path(), &settings(1 << 20, false)).unwrap();
        assert!(log.append(Kind::Text, &[&[1, 0, 0, 0], &vec![b'x'; 1 << 20]]));
        assert_eq!(payloads(&log)[0].len(), LONGEST_PAYLOAD_BYTES);
        let second = Log::create(folder.path(), &settings(1 << 20, false)).unwrap();
        assert_ne!(log.path, second.path);
        assert!(start_ticks() > 0);
    }
}
