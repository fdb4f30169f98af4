//! Signals while a program is captured: what other processes send to us is meant for it.
//!
//! What the terminal sends (Ctrl-C, Ctrl-\, hanging up) goes to the whole process group, so the program has it already.
//! Either way we stay, for there is something to convert; who does not want to wait for that can end us then. Signals that were ignored when we were started stay so for
//! both, as `nohup` wants it; those with a handler are the default again in the program, as everywhere.
//!
//! Who does not wait for the conversion is told what became of what was recorded.

use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU64, Ordering};

/// What may reach a program to end it, to ask it for something, or to be told about Ctrl-C.
const PASSED_ON: [libc::c_int; 6] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGUSR1,
    libc::SIGUSR2,
];

/// Who they are passed on to; 0 while there is nobody.
static PROGRAM: AtomicI32 = AtomicI32::new(0);
/// A bit for each that came while there was nobody yet.
static WAITING: AtomicU64 = AtomicU64::new(0);

/// What is said when a signal ends us; null for nothing. Not freed, for a handler may be at it.
static LAST_WORDS: AtomicPtr<String> = AtomicPtr::new(ptr::null_mut());

/// A line to be said when a signal ends us after the program.
pub(crate) fn leave_last_words(line: &str) {
    // The terminal shows ^C, or a bar, at the line's beginning.
    let words = Box::leak(Box::new(format!("\n{line}")));
    LAST_WORDS.store(words, Ordering::SeqCst);
}

/// From now on that is not true any more.
pub(crate) fn forget_last_words() {
    LAST_WORDS.store(ptr::null_mut(), Ordering::SeqCst);
}

/// Begins to keep signals for the program. To be called before it is started.
///
/// # Errors
/// When the system refuses a handler.
pub(crate) fn keep() -> io::Result<()> {
    PASSED_ON.iter().try_for_each(|&signal| handle(signal))
}

/// Passes on what came, and what comes from now on, to this process.
pub(crate) fn pass_on_to(process: i32) {
    PROGRAM.store(process, Ordering::SeqCst);
    let waiting = WAITING.swap(0, Ordering::SeqCst);
    for signal in PASSED_ON {
        if waiting & (1 << signal) != 0 {
            send(process, signal);
        }
    }
}

/// The program has ended: signals are for us again.
///
/// # Errors
/// When the system refuses that.
pub(crate) fn release() -> io::Result<()> {
    PROGRAM.store(0, Ordering::SeqCst);
    PASSED_ON.iter().try_for_each(|&signal| {
        if disposition(signal)? == libc::SIG_IGN {
            return Ok(());
        }
        let handler: extern "C" fn(libc::c_int) = leave;
        match LAST_WORDS.load(Ordering::SeqCst).is_null() {
            true => set(signal, libc::SIG_DFL, 0),
            false => set(signal, handler as usize, 0),
        }
    })
}

/// The handler after the program: ends us as the signal would, but for what is said. Nothing is cleaned up.
extern "C" fn leave(signal: libc::c_int) {
    // SAFETY: null, or leaked.
    if let Some(words) = unsafe { LAST_WORDS.load(Ordering::SeqCst).as_ref() } {
        // SAFETY: `write` may be called in handlers, and the text is there.
        unsafe { libc::write(libc::STDERR_FILENO, words.as_ptr().cast(), words.len()) };
    }
    // SAFETY: may be called in handlers.
    unsafe { libc::_exit(128 + signal) }
}

fn handle(signal: libc::c_int) -> io::Result<()> {
    if disposition(signal)? == libc::SIG_IGN {
        return Ok(());
    }
    let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) = came;
    set(
        signal,
        handler as usize,
        libc::SA_SIGINFO | libc::SA_RESTART,
    )
}

/// What happens at a signal.
fn disposition(signal: libc::c_int) -> io::Result<libc::sighandler_t> {
    // SAFETY: all zeros are a valid `sigaction`.
    let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    // SAFETY: asks only; `action` is a place for the answer.
    match unsafe { libc::sigaction(signal, ptr::null(), &raw mut action) } {
        0 => Ok(action.sa_sigaction),
        _ => Err(io::Error::last_os_error()),
    }
}

fn set(signal: libc::c_int, handler: libc::sighandler_t, flags: libc::c_int) -> io::Result<()> {
    // SAFETY: all zeros are a valid `sigaction`.
    let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    action.sa_sigaction = handler;
    action.sa_flags = flags;
    // SAFETY: `handler` is one of the system's own, or `came` with SA_SIGINFO or `leave` without, which have the
    // types that go with that and do only what a handler may.
    match unsafe { libc::sigaction(signal, &raw const action, ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The handler.
extern "C" fn came(signal: libc::c_int, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    // SAFETY: the kernel hands over a valid one.
    let origin = unsafe { (*info).si_code };
    // Codes above 0 are the kernel's own: the terminal's signals.
    if origin > 0 {
        return;
    }
    match PROGRAM.load(Ordering::SeqCst) {
        0 => drop(WAITING.fetch_or(1 << signal, Ordering::SeqCst)),
        program => send(program, signal),
    }
}

fn send(process: i32, signal: libc::c_int) {
    // SAFETY: `kill` may be called in handlers; the error number of whatever was interrupted is put back.
    unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        libc::kill(process, signal);
        *errno = before;
    }
}
