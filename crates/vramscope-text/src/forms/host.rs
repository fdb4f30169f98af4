//! Failures in which the computer's own memory ran out, not the GPU's.

use memchr::memmem;

use super::driver::whole_number;
use crate::cursor::Cursor;
use crate::record::{HostFailure, HostKind};

/// What shows its kind by itself, without white space.
const WORDS: [(&str, HostKind); 11] = [
    ("Outofmemory:Killedprocess", HostKind::Kernel),
    ("Memorycgroupoutofmemory", HostKind::Kernel),
    ("oom-kill:constraint", HostKind::Kernel),
    // Slurm, and Kubernetes.
    ("oom_killevent", HostKind::Kernel),
    ("oom-killevent", HostKind::Kernel),
    ("State:OUT_OF_MEMORY", HostKind::Kernel),
    ("OOMKilled", HostKind::Kernel),
    ("WinError1455", HostKind::PagingFile),
    ("oserror1455", HostKind::PagingFile),
    ("insufficientsharedmemory(shm)", HostKind::SharedMemory),
    // Level Zero and SYCL, by the names of their errors.
    ("_ERROR_OUT_OF_HOST_MEMORY", HostKind::Allocation),
];

/// How launchers say that SIGKILL ended a process, without white space.
const KILLED: [&str; 6] = [
    "exitcode-9",
    "exitcode:-9",
    "exitcode137",
    "returncode=-9",
    "Signal9(SIGKILL)",
    "<Signals.SIGKILL:9>",
];

/// A failure on one line, given as it is and without white space, and its beginning in the former; `after` is the text that
/// follows, without white space.
pub(crate) fn find(line: &[u8], compact: &[u8], after: &[u8]) -> Option<(usize, HostFailure)> {
    let has = |word: &str| memmem::find(compact, word.as_bytes()).is_some();
    let of = |kind| HostFailure::new(kind, None);
    if let Some((word, kind)) = WORDS.into_iter().find(|(word, _)| has(word)) {
        // Words of several parts begin with their line.
        let at = memmem::find(line, word.as_bytes()).unwrap_or(0);
        return Some((at, of(kind)));
    }
    // Slurm, too; not torch's error behind a rank.
    if has(":OutOfMemory") && !has(":OutOfMemoryError") {
        return Some((0, of(HostKind::Kernel)));
    }
    if of_ray(compact) {
        return Some((0, of(HostKind::Ray)));
    }
    if has("DataLoaderworker(pid") && has("killedbysignal:") {
        let kind = match has("Buserror") {
            true => HostKind::SharedMemory,
            // Other signals are faults of the program.
            false if has("signal:Killed") => HostKind::Worker,
            false => return None,
        };
        let at = memmem::find(line, b"DataLoader worker").unwrap_or(0);
        return Some((at, of(kind)));
    }
    if let Some(found) = find_allocation(line, compact, after) {
        return Some(found);
    }
    if KILLED.iter().any(|word| has(word)) {
        return Some((0, of(HostKind::Killed)));
    }
    // As printed by a shell: the last word of a line, or before the command.
    let end = memmem::rfind(line, b"Killed")?;
    let is_last = line[end + 6..].trim_ascii().is_empty() || line[end + 6..].starts_with(b"     ");
    let is_word = end == 0 || !line[end - 1].is_ascii_alphanumeric();
    (is_last && is_word).then(|| (end, of(HostKind::Killed)))
}

/// Whether Ray's monitor of memory says that it killed a worker. It counts those that crashed for other reasons in the same
/// line.
fn of_ray(compact: &[u8]) -> bool {
    let find = |word: &str| memmem::find(compact, word.as_bytes());
    if find("exceedsthememoryusagethreshold").is_some()
        || find("duetothenoderunninglowonmemory").is_some()
    {
        return true;
    }
    let Some(at) = find("killedduetomemorypressure(OOM)") else {
        return false;
    };
    let count = compact[..at].strip_suffix(b"Workers(tasks/actors)");
    match count {
        Some([.., before, b'0']) => before.is_ascii_digit(),
        Some(count) => count.last().is_some_and(u8::is_ascii_digit),
        // The count is on the line before.
        None => find(",0Workerscrashed").is_some(),
    }
}

/// A failed allocation.
fn find_allocation(line: &[u8], compact: &[u8], after: &[u8]) -> Option<(usize, HostFailure)> {
    let has = |word: &str| memmem::find(compact, word.as_bytes()).is_some();
    let at = |word: &str| memmem::find(line, word.as_bytes()).unwrap_or(0);
    // A terminal may have wrapped the figure.
    let text = [compact, after].concat();
    let of = |kind, word: &str| {
        let requested = Cursor::behind(&text, word).and_then(|mut it| it.figure());
        HostFailure::new(kind, requested)
    };
    // Their sizes have no unit.
    for (word, kind) in [
        ("couldnotallocatepinnedhostmemoryofsize:", HostKind::Pinned),
        ("CPUmemoryallocationfailedn=", HostKind::Allocation),
    ] {
        if let Some(mut cursor) = Cursor::behind(compact, word) {
            let requested = whole_number(&mut cursor, after);
            return Some((0, HostFailure::new(kind, requested)));
        }
    }
    // llama.cpp
    if has("cpu_buffer_type_alloc_buffer:failedtoallocatebuffer") {
        let behind = Cursor::behind(compact, "failedtoallocatebufferofsize");
        let requested = behind.and_then(|mut cursor| whole_number(&mut cursor, after));
        let at = at("cpu_buffer_type_alloc_buffer");
        return Some((at, HostFailure::new(HostKind::Allocation, requested)));
    }
    if has("bytesonhost:") && has("failedtoalloc") {
        return Some((0, of(HostKind::Pinned, "failedtoalloc")));
    }
    if has("OOMwhenallocatingtensor") && has("device:CPU") {
        return Some((0, HostFailure::new(HostKind::Allocation, None)));
    }
    if has("ofpinnedmemory:") && has("failedtoallocate") {
        return Some((0, of(HostKind::Pinned, "failedtoallocate")));
    }
    if has("DefaultCPUAllocator:") || has("BuynewRAM") {
        let failure = of(HostKind::Allocation, "youtriedtoallocate");
        return Some((at("DefaultCPUAllocator"), failure));
    }
    // ollama: `model requires more system memory (164.8 GiB) than is available (13.4 GiB)`
    if has("requiresmoresystemmemory(") {
        let mut failure = of(HostKind::Estimate, "requiresmoresystemmemory(");
        let available = Cursor::behind(&text, ")thanisavailable(");
        failure.available = available.and_then(|mut it| it.figure());
        return Some((at("requires"), failure));
    }
    // Errors of devices have the same names.
    let is_of_device = || {
        ["cuda", "CUDA", "hip", "HIP", "rmm", "outofmemory"]
            .iter()
            .any(|word| has(word) || memmem::find(after, word.as_bytes()).is_some())
    };
    for word in ["std::bad_alloc", "MemoryError"] {
        if let Some(found) = memmem::find(line, word.as_bytes()).filter(|_| !is_of_device()) {
            let before = &line[..found];
            // numpy calls its own `_ArrayMemoryError`.
            let is_word = before.ends_with(b"_Array")
                || !before.last().is_some_and(u8::is_ascii_alphanumeric);
            let failure = of(HostKind::Allocation, "Unabletoallocate");
            return is_word.then_some((found, failure));
        }
    }
    None
}
