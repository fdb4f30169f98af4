//! The log of this process. Created with its first record, written by all threads.
//!
//! A process that forks after its log was created leaves its children without a log; CUDA does not survive a fork
//! either. If the process had no log yet, the child may create its own, unless another thread held one of this
//! library's locks during the fork. Every executed program may create a log.

use std::cell::Cell;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError, RwLock};

use vramscope_record::layout::{Kind, header, state};
use vramscope_record::settings::{Settings, VARIABLE};

use crate::driver;

mod annotations;
mod file;
mod names;

pub(crate) use annotations::{
    Label, PendingRange, add_pending, annotate, flush_pending, has_pending, remove_pending,
};
use file::Log;
pub(crate) use names::{Domain, give_name, register, registered};

/// Maximum number of cached texts. Further texts are written at each use.
const MAX_TEXTS: usize = 1 << 16;
/// Longer texts are not cached.
const MAX_CACHED_TEXT_BYTES: usize = 1 << 10;

/// The log in use; null before the first record, and if recording is disabled.
static LOG: AtomicPtr<Log> = AtomicPtr::new(std::ptr::null_mut());
/// Whether this process creates a log: one of the constants below.
static CREATION: AtomicU8 = AtomicU8::new(UNDECIDED);
const UNDECIDED: u8 = 0;
const STARTED: u8 = 1;
const DISABLED: u8 = 2;

/// The capture settings; `None` in programs that are not captured.
pub(crate) fn settings() -> Option<&'static Settings> {
    static SETTINGS: OnceLock<Option<Settings>> = OnceLock::new();
    SETTINGS
        .get_or_init(|| Settings::of_variable(std::env::var_os(VARIABLE)?.to_str()?))
        .as_ref()
}

/// Whether events are to be recorded now. Creates the log.
#[inline]
pub(crate) fn is_recording() -> bool {
    log().is_some_and(|log| log.word(header::IS_RECORDING).load(Ordering::Relaxed) != 0)
}

/// Whether the log exists. Creates none.
pub(crate) fn exists() -> bool {
    !LOG.load(Ordering::Acquire).is_null()
}

/// Whether this process has a log or may still create one.
pub(crate) fn is_enabled() -> bool {
    CREATION.load(Ordering::Relaxed) != DISABLED && settings().is_some()
}

/// Starts or pauses recording.
pub(crate) fn set_recording(is_on: bool) {
    if let Some(log) = log() {
        log.word(header::IS_RECORDING)
            .store(u32::from(is_on), Ordering::Relaxed);
    }
}

/// Increments a counter of the header: [`header::OUT_OF_MEMORY_COUNT`] or [`header::DUMP_COUNT`].
pub(crate) fn count(field: usize) {
    if let Some(log) = log() {
        log.word(field).fetch_add(1, Ordering::Relaxed);
    }
}

/// Appends a record whose payload is the concatenation of `parts`. Returns whether there was room for it.
#[inline]
pub(crate) fn put(kind: Kind, parts: &[&[u8]]) -> bool {
    log().is_some_and(|log| log.append(kind, parts))
}

/// Writes a remark for the reader of the snapshot.
pub(crate) fn note(text: &str) {
    put(Kind::Note, &[text.as_bytes()]);
}

/// The number of a text. Writes the text if it is new.
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
    if text.len() > MAX_CACHED_TEXT_BYTES {
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
    if texts.len() < MAX_TEXTS {
        texts.insert(text.into(), number);
    }
    number
}

/// Nanoseconds since the Unix epoch by the system clock, which may be set back.
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
    /// The calling thread's id; 0 until its name was written.
    static THREAD: Cell<u32> = const { Cell::new(0) };
    /// The unpublished log that the calling thread is creating. No other thread may write to it yet.
    static UNPUBLISHED: Cell<Option<&'static Log>> = const { Cell::new(None) };
}

/// The calling thread's id. Writes the thread's name at the first call.
#[inline]
pub(crate) fn thread() -> u32 {
    match THREAD.get() {
        0 => {
            let (id, name) = file::thread_id_and_name();
            let name = names::thread_name(id).map_or(name, Vec::from);
            if put(Kind::Thread, &[&id.to_le_bytes(), &name]) {
                THREAD.set(id);
            }
            id
        }
        id => id,
    }
}

/// Sets the name of a thread, which replaces the system's name.
pub(crate) fn name_thread(thread: u32, name: &[u8]) {
    if !is_enabled() {
        return;
    }
    names::set_thread_name(thread, name);
    if exists() {
        put(Kind::Thread, &[&thread.to_le_bytes(), name]);
    }
}

/// Runs work that must not disturb the program: preserves `errno`, and an error disables recording for good.
#[inline]
pub(crate) fn guard<T>(work: impl FnOnce() -> T) -> Option<T> {
    // SAFETY: `errno` belongs to the calling thread.
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

/// The log; created if recording is enabled.
#[inline]
fn log() -> Option<&'static Log> {
    // SAFETY: null or a leaked box.
    match unsafe { LOG.load(Ordering::Acquire).as_ref() } {
        None if CREATION.load(Ordering::Relaxed) != DISABLED => create(),
        log => log,
    }
}

/// Message of the recorder's own error.
static FAILURE: Mutex<String> = Mutex::new(String::new());

#[cold]
fn create() -> Option<&'static Log> {
    static CREATING: Mutex<()> = Mutex::new(());
    if let Some(log) = UNPUBLISHED.get() {
        return Some(log);
    }
    let log = guard(|| {
        // The driver is queried before the lock is taken: the query may wait for a library that is being loaded,
        // and that library's constructors may wait for the lock.
        let device = has_pending().then(driver::current_device).flatten();
        let _guard = CREATING.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: null or a leaked box.
        let log = unsafe { LOG.load(Ordering::Acquire).as_ref() };
        if log.is_some() || CREATION.load(Ordering::Relaxed) == DISABLED {
            return log;
        }
        CREATION.store(STARTED, Ordering::Relaxed);
        let log = create_with_program();
        match log {
            Some(log) => {
                // Names and pending ranges are written before other threads write anything.
                UNPUBLISHED.set(Some(log));
                names::flush_names();
                flush_pending(device);
                UNPUBLISHED.set(None);
                LOG.store(std::ptr::from_ref(log).cast_mut(), Ordering::Release);
                // What became pending meanwhile.
                names::flush_names();
                flush_pending(device);
            }
            None => CREATION.store(DISABLED, Ordering::Relaxed),
        }
        log
    });
    log?
}

/// Creates a log with its first record, if this process is captured and the file can be created.
fn create_with_program() -> Option<&'static Log> {
    let settings = settings()?;
    // Keeps errors of this library from being printed. The hook belongs to its own copy of the standard library,
    // not to the program's.
    std::panic::set_hook(Box::new(|error| {
        *FAILURE.lock().unwrap_or_else(PoisonError::into_inner) = error.to_string();
    }));
    let log = Log::create(Path::new(&settings.folder), settings).ok()?;
    let program = file::program();
    log.append(
        Kind::Program,
        &program.iter().map(Vec::as_slice).collect::<Vec<_>>(),
    );
    Some(Box::leak(Box::new(log)))
}

/// Runs in the child of a fork. The log belongs to the parent, and threads that do not exist here may hold locks.
/// Allocates and frees nothing, as the allocator may not have handled the fork yet.
///
/// `are_unlocked`: whether the rest of the library found all its locks free.
pub(crate) fn after_fork(are_unlocked: bool) {
    THREAD.set(0);
    let is_undecided = CREATION.load(Ordering::Relaxed) == UNDECIDED;
    if !(is_undecided && are_unlocked && annotations::after_fork() && names::are_unlocked()) {
        switch_off();
    }
}

fn switch_off() {
    CREATION.store(DISABLED, Ordering::Relaxed);
    LOG.store(std::ptr::null_mut(), Ordering::Release);
}

#[cold]
fn fail() {
    if LOG.load(Ordering::Acquire).is_null() {
        return switch_off();
    }
    // Guarded again: nothing may unwind out of here.
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

/// Whether this process has no log and may still create one.
pub(crate) fn is_undecided() -> bool {
    LOG.load(Ordering::Acquire).is_null()
        && CREATION.load(Ordering::Relaxed) == UNDECIDED
        && settings().is_some()
}

/// Marks the log as that of a program that ended in an orderly way.
pub(crate) fn end() {
    // SAFETY: null or a leaked box.
    if let Some(log) = unsafe { LOG.load(Ordering::Acquire).as_ref() } {
        log.word(header::STATE)
            .store(state::ENDED, Ordering::Relaxed);
    }
}
