//! Signals that end the program. They leave neither unfinished files nor progress bars, and the parent process sees
//! that the signal ended this one, as without a handler. Running out of memory ends it by such a signal or by a panic,
//! and becomes an error like others.

use std::io;
use std::mem::MaybeUninit;
use std::panic;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use libc::{SIGABRT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU, SIGXFSZ, c_int};
use signal_hook::iterator::Signals;
use signal_hook::low_level::{self, emulate_default_handler};

use crate::{memory, progress, temporary};

/// Signals that terminals, users, batch systems and CPU-time limits send to end a program.
const ENDING: [c_int; 5] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU];

/// How long the bars may take to vanish: a stopped terminal must not keep the program alive.
const PATIENCE: Duration = Duration::from_millis(100);

/// Whether signals are meant for a program in the foreground, and not for this one.
static IS_DEAF: AtomicBool = AtomicBool::new(false);

/// Runs `work`, during which signals do not end this process.
pub(crate) fn without<T>(work: impl FnOnce() -> T) -> T {
    IS_DEAF.store(true, Ordering::SeqCst);
    let done = work();
    IS_DEAF.store(false, Ordering::SeqCst);
    done
}

/// Starts a thread that waits for signals: in a handler itself, locks and most of the standard library are forbidden.
///
/// # Errors
/// When the thread or the handlers cannot be set up.
#[expect(unsafe_code, reason = "a handler may be called anywhere")]
pub(crate) fn watch() -> io::Result<()> {
    // SAFETY: an abort of the standard library comes from outside of the allocator and of all locks but those that
    // `aborted` gives up waiting for. An abort from elsewhere may be in the middle of anything; the process ends anyway.
    unsafe { low_level::register(SIGABRT, aborted) }?;
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        // A C library that was refused memory, such as zstd, makes its Rust wrapper panic.
        if memory::is_exhausted() {
            let _no_new_ones = temporary::remove_all_within(PATIENCE);
            end_without_memory();
        }
        // A panic of the SQL engine becomes an error of the query.
        #[cfg(feature = "sql")]
        if thread::current().name() == Some(vramscope_sql::THREADS) {
            return;
        }
        usual(panic);
    }));
    // Signals ignored at the start stay ignored, as `nohup` requires.
    let ending = ENDING.into_iter().filter(|&signal| !is_ignored(signal));
    let mut signals = Signals::new(ending.chain([SIGXFSZ]))?;
    thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            for signal in signals.forever() {
                // If the signal does not end the program, exceeding the permitted file size is a write error.
                if signal != SIGXFSZ && !IS_DEAF.load(Ordering::SeqCst) {
                    end(signal);
                }
            }
        })?;
    Ok(())
}

/// Called when the program aborts: either essential memory was refused, which the standard library has printed and
/// which becomes an error, or there is a bug.
fn aborted() {
    let _no_new_ones = temporary::remove_all_within(PATIENCE);
    if memory::was_refused() && !thread::panicking() {
        end_without_memory();
    }
    // Does not return.
    drop(emulate_default_handler(SIGABRT));
}

fn end_without_memory() -> ! {
    write_to_stderr(match memory::was_over_limit() {
        true => OVER_LIMIT,
        false => OUT_OF_MEMORY,
    });
    low_level::exit(1);
}

/// If the decoder refuses a file, it says more.
const OUT_OF_MEMORY: &str = "error: there is not enough memory for this answer; raise the limit (see `ulimit -v`), or \
                             cut the file into parts with `vramscope cut`\n";

const OVER_LIMIT: &str = "error: the query needs more memory than it may have; give it more with --memory, or make its values \
                          shorter\n";

/// Writes without taking locks, which another thread may hold for ever.
#[expect(unsafe_code, reason = "the standard library locks")]
fn write_to_stderr(text: &str) {
    // SAFETY: the text has this many bytes. If nobody reads it, there is nobody to tell.
    unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
}

fn end(signal: c_int) {
    // Once its files are in place, the command is no longer interrupted: the program is about to end by itself.
    if temporary::is_kept() {
        thread::sleep(PATIENCE);
    }
    let _no_new_ones = temporary::remove_all();
    let (erased, wait) = mpsc::channel();
    let erasing = thread::Builder::new().spawn(move || {
        progress::suspend(|| {
            let _ = erased.send(());
            // No bar may be drawn any more.
            loop {
                thread::park();
            }
        })
    });
    if erasing.is_ok() {
        let _ = wait.recv_timeout(PATIENCE);
    }
    // Does not return.
    drop(emulate_default_handler(signal));
}

/// Whether this process was started with a signal ignored.
#[expect(unsafe_code, reason = "the standard library knows no signals")]
fn is_ignored(signal: c_int) -> bool {
    // SAFETY: all zeros are a valid `sigaction`.
    let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    // SAFETY: nothing is changed, and `action` may be written.
    let answer = unsafe { libc::sigaction(signal, ptr::null(), &raw mut action) };
    answer == 0 && action.sa_sigaction == libc::SIG_IGN
}
