//! The log: made at the first record of a process that is captured, appended to from all threads.
//!
//! A process that forks after its log was made leaves its children without one, for CUDA does not survive a fork
//! either; a child of a process that had none yet may still make its own, unless another thread held a lock of ours at
//! that moment, and so may every program that is executed.

use std::cell::Cell;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError, RwLock};

use vramscope_record::layout::{Kind, header, state};
use vramscope_record::settings::{Settings, VARIABLE};

use crate::{driver, linker, ranges};

mod file;

use file::Log;

/// Texts that are remembered; further ones are written each time.
const MOST_TEXTS: usize = 1 << 16;
/// Longer texts are written each time.
const LONGEST_REMEMBERED_TEXT_BYTES: usize = 1 << 10;

/// The log in use; null before the first record, and when there is none to be written.
static LOG: AtomicPtr<Log> = AtomicPtr::new(std::ptr::null_mut());
/// Whether this process is to make a log: one of the constants below.
static WISH: AtomicU8 = AtomicU8::new(UNKNOWN);
const UNKNOWN: u8 = 0;
const BEING_MADE: u8 = 1;
const UNWANTED: u8 = 2;

/// How to capture; `None` in programs that are not captured.
pub(crate) fn settings() -> Option<&'static Settings> {
    static SETTINGS: OnceLock<Option<Settings>> = OnceLock::new();
    SETTINGS
        .get_or_init(|| Settings::of_variable(std::env::var_os(VARIABLE)?.to_str()?))
        .as_ref()
}

/// Whether events are to be recorded now. Makes the log.
#[inline]
pub(crate) fn is_recording() -> bool {
    log().is_some_and(|log| log.word(header::IS_RECORDING).load(Ordering::Relaxed) != 0)
}

/// Whether there is a log. Makes none.
pub(crate) fn is_made() -> bool {
    !LOG.load(Ordering::Acquire).is_null()
}

/// Whether this process has a log or may still make one.
pub(crate) fn is_wanted() -> bool {
    WISH.load(Ordering::Relaxed) != UNWANTED && settings().is_some()
}

/// Begins or stops recording.
pub(crate) fn set_recording(is_on: bool) {
    if let Some(log) = log() {
        log.word(header::IS_RECORDING)
            .store(u32::from(is_on), Ordering::Relaxed);
    }
}

/// Counts in one of the header's words: [`header::OUT_OF_MEMORY_COUNT`], [`header::DUMP_COUNT`].
pub(crate) fn count(field: usize) {
    if let Some(log) = log() {
        log.word(field).fetch_add(1, Ordering::Relaxed);
    }
}

/// Appends a record whose payload is `parts`, one after the other, and returns whether there was room for it.
#[inline]
pub(crate) fn put(kind: Kind, parts: &[&[u8]]) -> bool {
    log().is_some_and(|log| log.append(kind, parts))
}

/// Writes something down that whoever reads the snapshot should know.
pub(crate) fn note(text: &str) {
    put(Kind::Note, &[text.as_bytes()]);
}

/// The number of a text, which is written when it is new.
pub(crate) fn text(text: &[u8]) -> u32 {
    static TEXTS: RwLock<Option<HashMap<Box<[u8]>, u32>>> = RwLock::new(None);
    static LAST: AtomicU32 = AtomicU32::new(0);
    if log().is_none() {
        return 0;
    }
    let write = || {
        let number = LAST.fetch_add(1, Ordering::Relaxed) + 1;
        put(Kind::Text, &[&number.to_le_bytes(), text]).then_some(number)
    };
    if text.len() > LONGEST_REMEMBERED_TEXT_BYTES {
        return write().unwrap_or(0);
    }
    let known = TEXTS.read().unwrap_or_else(PoisonError::into_inner);
    if let Some(&number) = known.as_ref().and_then(|texts| texts.get(text)) {
        return number;
    }
    drop(known);
    let mut known = TEXTS.write().unwrap_or_else(PoisonError::into_inner);
    let texts = known.get_or_insert_default();
    if let Some(&number) = texts.get(text) {
        return number;
    }
    let Some(number) = write() else { return 0 };
    if texts.len() < MOST_TEXTS {
        texts.insert(text.into(), number);
    }
    number
}

/// Nanoseconds since the Unix epoch, by the system's clock: they go back when that is set back.
#[inline]
pub(crate) fn now_ns() -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: writes to `now` alone.
    unsafe { libc::clock_gettime(libc::CLOCK_REALTIME, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

thread_local! {
    /// The calling thread's id, once its name is written.
    static THREAD: Cell<u32> = const { Cell::new(0) };
    /// The log that the calling thread is making, which only it may write to yet.
    static OWN: Cell<Option<&'static Log>> = const { Cell::new(None) };
}

/// The calling thread's id. Its name is written when it is new.
#[inline]
pub(crate) fn thread() -> u32 {
    match THREAD.get() {
        0 => {
            let (id, name) = file::this_thread();
            let name = ranges::thread_name(id).map_or(name, Vec::from);
            if put(Kind::Thread, &[&id.to_le_bytes(), &name]) {
                THREAD.set(id);
            }
            id
        }
        id => id,
    }
}

/// Runs what the target must not notice: an error in it switches recording off for good, and `errno` stays as it was.
#[inline]
pub(crate) fn guarded<T>(work: impl FnOnce() -> T) -> Option<T> {
    // SAFETY: the calling thread's own variable.
    let errno = unsafe { *libc::__errno_location() };
    let outcome = catch_unwind(AssertUnwindSafe(work));
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
    match outcome {
        Ok(value) => Some(value),
        Err(_) => {
            fail();
            None
        }
    }
}

/// The log, which is made if it is wanted and not there.
#[inline]
fn log() -> Option<&'static Log> {
    // SAFETY: null or a leaked box.
    match unsafe { LOG.load(Ordering::Acquire).as_ref() } {
        None if WISH.load(Ordering::Relaxed) != UNWANTED => make(),
        log => log,
    }
}

/// What the recorder's own error said.
static FAILURE: Mutex<String> = Mutex::new(String::new());

#[cold]
fn make() -> Option<&'static Log> {
    static MAKING: Mutex<()> = Mutex::new(());
    if let Some(log) = OWN.get() {
        return Some(log);
    }
    let log = guarded(|| {
        // The driver is asked before the lock is taken, for this may wait for a library that is being loaded, whose
        // constructors may wait for the lock.
        let device = ranges::are_waiting().then(driver::current_device).flatten();
        let _guard = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: null or a leaked box.
        let log = unsafe { LOG.load(Ordering::Acquire).as_ref() };
        if log.is_some() || WISH.load(Ordering::Relaxed) == UNWANTED {
            return log;
        }
        WISH.store(BEING_MADE, Ordering::Relaxed);
        let log = begin();
        match log {
            Some(log) => {
                // What waited for this is written before other threads write anything.
                OWN.set(Some(log));
                ranges::recording_begins(device);
                OWN.set(None);
                LOG.store(std::ptr::from_ref(log).cast_mut(), Ordering::Release);
                // And what came meanwhile.
                ranges::recording_begins(device);
            }
            None => WISH.store(UNWANTED, Ordering::Relaxed),
        }
        log
    });
    log?
}

/// A new log with its first record, if this process is captured and a log can be made.
fn begin() -> Option<&'static Log> {
    let settings = settings()?;
    // An error of ours would be printed. This is our own copy of the standard library: the target's is another.
    std::panic::set_hook(Box::new(|error| {
        *FAILURE.lock().unwrap_or_else(PoisonError::into_inner) = error.to_string();
    }));
    let log = Log::make(Path::new(&settings.folder), settings).ok()?;
    let program = file::program();
    log.append(
        Kind::Program,
        &program.iter().map(Vec::as_slice).collect::<Vec<_>>(),
    );
    Some(Box::leak(Box::new(log)))
}

/// In the child of a fork: the log is its parent's, locks may be held by threads that are not here. Allocates and frees
/// nothing, for an allocator may not have noticed the fork yet.
extern "C" fn forked() {
    THREAD.set(0);
    if WISH.load(Ordering::Relaxed) != UNKNOWN || !ranges::forked() {
        switch_off();
    }
}

fn switch_off() {
    WISH.store(UNWANTED, Ordering::Relaxed);
    LOG.store(std::ptr::null_mut(), Ordering::Release);
}

#[cold]
fn fail() {
    if LOG.load(Ordering::Acquire).is_null() {
        return switch_off();
    }
    // Once more, for nothing may unwind from here.
    let _ = catch_unwind(|| {
        let failure = FAILURE
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        note(&format!(
            "recording ended after an error in vramscope: {failure}"
        ));
        if let Some(log) = log() {
            log.word(header::STATE)
                .store(state::FAILED, Ordering::Relaxed);
        }
    });
    switch_off();
}

/// For a log that would not be there otherwise.
const BYPASSED: &str = "the CUDA driver was loaded, but no call that has to do with memory came by: either the program \
    made none, or it finds the driver past vramscope's library (RTLD_DEEPBIND, dlmopen)";

/// When the library was loaded: before the program, which may change its variables.
extern "C" fn loaded() {
    let prepare = || {
        if settings().is_some() {
            // SAFETY: the handler touches atomics and variables of its thread, and tries locks.
            unsafe { libc::pthread_atfork(None, None, Some(forked)) };
        }
    };
    guarded(prepare);
}

/// Called by the dynamic linker when it has loaded the library.
#[used]
#[unsafe(link_section = ".init_array")]
static LOADED: extern "C" fn() = loaded;

/// When the program ends in an orderly way.
extern "C" fn end() {
    let is_unmade =
        LOG.load(Ordering::Acquire).is_null() && WISH.load(Ordering::Relaxed) == UNKNOWN;
    if is_unmade && settings().is_some() && linker::is_bypassed() {
        guarded(|| note(BYPASSED));
    }
    // SAFETY: null or a leaked box.
    if let Some(log) = unsafe { LOG.load(Ordering::Acquire).as_ref() } {
        log.word(header::STATE)
            .store(state::ENDED, Ordering::Relaxed);
    }
}

/// Called by the dynamic linker when the program ends.
#[used]
#[unsafe(link_section = ".fini_array")]
static END: extern "C" fn() = end;
