//! Signals during a capture: those from other processes are forwarded to the program.
//!
//! Signals from the terminal (Ctrl-C, Ctrl-\, hang-up) go to the whole process group, so the program receives them
//! directly. In both cases this process survives, because it still has to convert the log. During the conversion
//! another signal can end it (a second one, if only this process has the recording); it then removes the unfinished
//! snapshot and prints what became of the recording. Signals ignored at the start stay ignored for both processes, as
//! `nohup` requires. Signals with a handler have the default action again in the program, as always after `exec`.

use std::ffi::CString;
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// The signals that are forwarded.
const FORWARDED: [libc::c_int; 6] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGUSR1,
    libc::SIGUSR2,
];

/// Process that receives the signals; 0 if there is none.
static PROGRAM: AtomicI32 = AtomicI32::new(0);
/// Signals that arrived before the program had started, one bit each.
static PENDING: AtomicU64 = AtomicU64::new(0);

/// Message printed when a signal ends this process; null for none. Never freed, as a handler may be reading it.
static LAST_MESSAGE: AtomicPtr<String> = AtomicPtr::new(ptr::null_mut());
/// Message printed when a signal does not end this process yet; null for none. Never freed either.
static FIRST_MESSAGE: AtomicPtr<String> = AtomicPtr::new(ptr::null_mut());

/// File to remove when a signal ends this process; null for none. Never freed either.
static UNFINISHED_FILE: AtomicPtr<CString> = AtomicPtr::new(ptr::null_mut());

/// All paths ever stored in [`UNFINISHED_FILE`].
static KEPT: Mutex<Vec<&'static CString>> = Mutex::new(Vec::new());

/// A file to remove if a signal ends this process before this is dropped.
pub(crate) struct UnfinishedFile(());

impl UnfinishedFile {
    /// Only one file can be unfinished at a time. From now on, exceeding the permitted file size is a write error
    /// instead of a signal.
    ///
    /// # Errors
    /// If a handler cannot be installed.
    pub(crate) fn new(path: &Path) -> io::Result<Self> {
        let path = kept_for_ever(CString::new(path.as_os_str().as_bytes())?);
        UNFINISHED_FILE.store(ptr::from_ref(path).cast_mut(), Ordering::SeqCst);
        let handler: extern "C" fn(libc::c_int) = exit;
        for signal in FORWARDED.into_iter().chain([libc::SIGXCPU]) {
            if current_action(signal)? == libc::SIG_DFL {
                set_action(signal, handler as usize, 0)?;
            }
        }
        // Not ignored: programs started later would inherit that.
        let handler: extern "C" fn(libc::c_int) = do_nothing;
        set_action(libc::SIGXFSZ, handler as usize, 0)?;
        Ok(Self(()))
    }
}

impl Drop for UnfinishedFile {
    fn drop(&mut self) {
        UNFINISHED_FILE.store(ptr::null_mut(), Ordering::SeqCst);
    }
}

/// The path as text that is never freed. The same path is stored once, since a live snapshot is rewritten for days.
fn kept_for_ever(path: CString) -> &'static CString {
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(same) = kept.iter().find(|same| ***same == path) {
        return same;
    }
    let path: &'static CString = Box::leak(Box::new(path));
    kept.push(path);
    path
}

extern "C" fn do_nothing(_signal: libc::c_int) {}

/// Sets what signals do after the program has ended: print `last` and end this process. With `first`, the first signal
/// only prints that and the second one ends it.
pub(crate) fn set_interruption(first: Option<&str>, last: &str) {
    // The terminal may already show ^C or a progress bar on the current line.
    let message = |line: &str| Box::into_raw(Box::new(format!("\n{line}")));
    LAST_MESSAGE.store(message(last), Ordering::SeqCst);
    FIRST_MESSAGE.store(first.map_or(ptr::null_mut(), message), Ordering::SeqCst);
}

/// The snapshots are written: from now on signals end this process without a message.
pub(crate) fn clear_interruption() {
    FIRST_MESSAGE.store(ptr::null_mut(), Ordering::SeqCst);
    LAST_MESSAGE.store(ptr::null_mut(), Ordering::SeqCst);
}

/// Catches signals meant for the program. Must be called before the program starts.
///
/// # Errors
/// If a handler cannot be installed.
pub(crate) fn catch() -> io::Result<()> {
    FORWARDED
        .iter()
        .try_for_each(|&signal| install_handler(signal))
}

/// Forwards pending and future signals to this process.
pub(crate) fn forward_to(process: i32) {
    PROGRAM.store(process, Ordering::SeqCst);
    let pending = PENDING.swap(0, Ordering::SeqCst);
    for signal in FORWARDED {
        if pending & (1 << signal) != 0 {
            send(process, signal);
        }
    }
}

/// Stops forwarding, as the program has ended.
///
/// # Errors
/// If a handler cannot be changed.
pub(crate) fn stop_forwarding() -> io::Result<()> {
    PROGRAM.store(0, Ordering::SeqCst);
    FORWARDED.iter().try_for_each(|&signal| {
        if current_action(signal)? == libc::SIG_IGN {
            return Ok(());
        }
        let handler: extern "C" fn(libc::c_int) = exit;
        match LAST_MESSAGE.load(Ordering::SeqCst).is_null() {
            true => set_action(signal, libc::SIG_DFL, 0),
            false => set_action(signal, handler as usize, libc::SA_RESTART),
        }
    })
}

/// Signal handler after the program has ended: removes the unfinished file, prints the message and exits as the signal
/// would. Only prints if there is a message for the first signal.
extern "C" fn exit(signal: libc::c_int) {
    // SAFETY: null, or a leaked box.
    if let Some(message) = unsafe {
        FIRST_MESSAGE
            .swap(ptr::null_mut(), Ordering::SeqCst)
            .as_ref()
    } {
        return print(message);
    }
    // SAFETY: null, or a leaked box.
    if let Some(path) = unsafe { UNFINISHED_FILE.load(Ordering::SeqCst).as_ref() } {
        // SAFETY: `unlink` is allowed in handlers, and the path ends with a NUL.
        unsafe { libc::unlink(path.as_ptr()) };
    }
    // SAFETY: null, or a leaked box.
    if let Some(message) = unsafe { LAST_MESSAGE.load(Ordering::SeqCst).as_ref() } {
        print(message);
    }
    // SAFETY: allowed in handlers.
    unsafe { libc::_exit(128 + signal) }
}

/// Prints from a signal handler.
fn print(message: &str) {
    // SAFETY: allowed in handlers, and the message is valid; `errno` of the interrupted code is restored.
    unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        libc::write(libc::STDERR_FILENO, message.as_ptr().cast(), message.len());
        *errno = before;
    }
}

fn install_handler(signal: libc::c_int) -> io::Result<()> {
    if current_action(signal)? == libc::SIG_IGN {
        return Ok(());
    }
    let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) = forward;
    set_action(
        signal,
        handler as usize,
        libc::SA_SIGINFO | libc::SA_RESTART,
    )
}

/// The current action for a signal.
fn current_action(signal: libc::c_int) -> io::Result<libc::sighandler_t> {
    // SAFETY: all zeros are a valid `sigaction`.
    let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    // SAFETY: only queries; `action` is a valid out-pointer.
    match unsafe { libc::sigaction(signal, ptr::null(), &raw mut action) } {
        0 => Ok(action.sa_sigaction),
        _ => Err(io::Error::last_os_error()),
    }
}

fn set_action(
    signal: libc::c_int,
    handler: libc::sighandler_t,
    flags: libc::c_int,
) -> io::Result<()> {
    // SAFETY: all zeros are a valid `sigaction`.
    let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    action.sa_sigaction = handler;
    action.sa_flags = flags;
    // SAFETY: `handler` is a constant of the system, `forward` with SA_SIGINFO, or `exit` or `do_nothing` without.
    // They have the required types and only do what handlers may.
    match unsafe { libc::sigaction(signal, &raw const action, ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Signal handler while the program runs.
extern "C" fn forward(
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    _context: *mut libc::c_void,
) {
    // SAFETY: the kernel passes a valid pointer.
    let origin = unsafe { (*info).si_code };
    // Codes above 0 come from the kernel: signals from the terminal.
    if origin > 0 {
        return;
    }
    match PROGRAM.load(Ordering::SeqCst) {
        0 => drop(PENDING.fetch_or(1 << signal, Ordering::SeqCst)),
        program => send(program, signal),
    }
}

fn send(process: i32, signal: libc::c_int) {
    // SAFETY: `kill` is allowed in handlers; `errno` of the interrupted code is restored.
    unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        libc::kill(process, signal);
        *errno = before;
    }
}
