//! This process's log. Created with its first record, written by all threads.
//!
//! A process that forks after its log was created leaves its children without a log; CUDA does not survive a fork
//! either. If there was no log yet, the child may create its own, unless another thread held one of this library's
//! locks during the fork. Every executed program may create a log.
//!
//! ```text
//!              first record             the file exists
//! Undecided ─────────────────> Creating ──────────────> Open
//!     │ fork while a lock is held │ no file, no capture,   │ fork in the child,
//!     v                           v fork in the child      v error of the recorder
//!    Off <────────────────────────┴────────────────────────┘
//! ```

use std::cell::Cell;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError, RwLock};

use vramscope_record::layout::{Kind, Loss, header, state};
use vramscope_record::rank::Rank;
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

/// Whether this process has a log.
#[derive(Clone, Copy)]
enum State {
    /// No log yet; the next record creates it.
    Undecided,
    /// A thread is creating it. Others wait for [`CREATION`].
    Creating,
    Open(&'static Log),
    /// No log, and none will be created: nothing is recorded any more.
    Off,
}

/// The [`State`]: one of three small numbers, or the address of the log, which is never freed.
static STATE: AtomicPtr<Log> = AtomicPtr::new(UNDECIDED);
const UNDECIDED: *mut Log = std::ptr::null_mut();
const CREATING: *mut Log = std::ptr::without_provenance_mut(1);
const OFF: *mut Log = std::ptr::without_provenance_mut(2);
/// Held by the thread that creates the log.
static CREATION: Mutex<()> = Mutex::new(());

impl State {
    #[inline]
    fn now() -> Self {
        match STATE.load(Ordering::Acquire) {
            UNDECIDED => Self::Undecided,
            CREATING => Self::Creating,
            OFF => Self::Off,
            // SAFETY: a leaked box.
            log => Self::Open(unsafe { &*log }),
        }
    }

    fn set(self) {
        let state = match self {
            Self::Undecided => UNDECIDED,
            Self::Creating => CREATING,
            Self::Open(log) => std::ptr::from_ref(log).cast_mut(),
            Self::Off => OFF,
        };
        STATE.store(state, Ordering::Release);
    }
}

/// Losses before the log exists, by number.
static EARLY_LOSSES: [AtomicU64; Loss::ALL.len()] = [const { AtomicU64::new(0) }; Loss::ALL.len()];
/// Notes before the log exists.
static EARLY_NOTES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// The capture settings; `None` in programs that are not captured.
pub(crate) fn settings() -> Option<&'static Settings> {
    static SETTINGS: OnceLock<Option<Settings>> = OnceLock::new();
    SETTINGS
        .get_or_init(|| Settings::of_variable(std::env::var_os(VARIABLE)?.to_str()?))
        .as_ref()
}

/// The rank of this process when it started. Read when this library is loaded: later the program may be changing the
/// variables at the same time.
pub(crate) fn rank() -> Option<Rank> {
    static RANK: OnceLock<Option<Rank>> = OnceLock::new();
    *RANK.get_or_init(|| Rank::of_environment(|name| std::env::var_os(name)))
}

/// Whether to record events now. Creates the log.
#[inline]
pub(crate) fn is_recording() -> bool {
    log().is_some_and(|log| log.word(header::IS_RECORDING).load(Ordering::Relaxed) != 0)
}

/// Whether [`is_recording`] may return true; quick to answer.
#[inline]
pub(crate) fn may_record() -> bool {
    match State::now() {
        State::Open(log) => log.word(header::IS_RECORDING).load(Ordering::Relaxed) != 0,
        State::Undecided | State::Creating => true,
        State::Off => false,
    }
}

/// Whether the log exists. Creates none.
pub(crate) fn exists() -> bool {
    matches!(State::now(), State::Open(_))
}

/// Whether this process has a log or may still create one.
pub(crate) fn is_enabled() -> bool {
    !matches!(State::now(), State::Off) && settings().is_some()
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

/// Writes a remark, or keeps it until the log is created.
pub(crate) fn note_later(text: String) {
    match State::now() {
        State::Open(_) => note(&text),
        State::Undecided | State::Creating => {
            let mut notes = EARLY_NOTES.lock().unwrap_or_else(PoisonError::into_inner);
            notes.push(text);
        }
        State::Off => {}
    }
}

/// Counts something that could not be recorded, or only in part.
pub(crate) fn lost(loss: Loss) {
    match State::now() {
        State::Open(log) => log.count_loss(loss, 1),
        State::Undecided | State::Creating => {
            EARLY_LOSSES[loss as usize].fetch_add(1, Ordering::Relaxed);
        }
        State::Off => {}
    }
}

/// Writes the losses and notes from before the log was created.
fn write_early(log: &Log) {
    for &loss in Loss::ALL {
        log.count_loss(loss, EARLY_LOSSES[loss as usize].swap(0, Ordering::Relaxed));
    }
    let mut notes = EARLY_NOTES.lock().unwrap_or_else(PoisonError::into_inner);
    for text in notes.drain(..) {
        log.append(Kind::Note, &[text.as_bytes()]);
    }
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
    match State::now() {
        State::Open(log) => Some(log),
        State::Undecided | State::Creating => create(),
        State::Off => None,
    }
}

/// Message of an internal error.
static FAILURE: Mutex<String> = Mutex::new(String::new());

#[cold]
fn create() -> Option<&'static Log> {
    if let Some(log) = UNPUBLISHED.get() {
        return Some(log);
    }
    let log = guard(|| {
        // Query the driver before taking the lock: the query may wait for a library that is being loaded, and that
        // library's constructors may wait for the lock.
        let device = has_pending().then(driver::current_device).flatten();
        let _guard = CREATION.lock().unwrap_or_else(PoisonError::into_inner);
        match State::now() {
            State::Open(log) => return Some(log),
            State::Off => return None,
            State::Undecided | State::Creating => {}
        }
        State::Creating.set();
        let Some(log) = create_with_program() else {
            State::Off.set();
            return None;
        };
        // Names and pending ranges are written before other threads write anything.
        UNPUBLISHED.set(Some(log));
        names::flush_names();
        flush_pending(device);
        UNPUBLISHED.set(None);
        State::Open(log).set();
        // What arrived meanwhile.
        names::flush_names();
        flush_pending(device);
        write_early(log);
        Some(log)
    });
    log?
}

/// Creates a log with its first record, if this process is captured and the file can be created.
fn create_with_program() -> Option<&'static Log> {
    let settings = settings()?;
    // Keeps errors of this library from being printed. The hook belongs to its own copy of the standard library, not to
    // the program's.
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
/// Neither allocates nor frees, as the allocator may not have handled the fork yet.
///
/// `are_unlocked`: whether the rest of the library found all its locks free.
pub(crate) fn after_fork(are_unlocked: bool) {
    THREAD.set(0);
    let is_undecided = matches!(State::now(), State::Undecided);
    let own = || names::are_unlocked() && EARLY_NOTES.try_lock().is_ok();
    if !(is_undecided && are_unlocked && annotations::after_fork() && own()) {
        State::Off.set();
    }
}

#[cold]
fn fail() {
    // Guarded again: nothing may unwind out of here.
    let _ = catch_unwind(|| {
        let State::Open(log) = State::now() else {
            return;
        };
        let failure = FAILURE
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        note(&format!(
            "recording ended after an error in vramscope: {failure}"
        ));
        log.word(header::STATE)
            .store(state::FAILED, Ordering::Relaxed);
    });
    State::Off.set();
}

/// Whether this process has no log and may still create one.
pub(crate) fn is_undecided() -> bool {
    matches!(State::now(), State::Undecided) && settings().is_some()
}

/// Creates the log if there are losses to report.
pub(crate) fn write_early_losses() {
    let has_losses = EARLY_LOSSES
        .iter()
        .any(|times| times.load(Ordering::Relaxed) != 0);
    if has_losses {
        log();
    }
}

/// Marks the log as that of a program that ended normally.
pub(crate) fn end() {
    if let State::Open(log) = State::now() {
        // What another thread stored while the log was being created.
        guard(|| write_early(log));
        log.word(header::STATE)
            .store(state::ENDED, Ordering::Relaxed);
    }
}
