//! Definition of C functions with `driver!`, and access to their arguments.

use std::cell::Cell;
use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};

use crate::driver::Driver;

/// Result of the driver's functions.
pub(crate) type CUresult = u32;
/// Result of a function's body; an error is returned to the caller.
pub(crate) type Answer<T = ()> = Result<T, CUresult>;
/// A stream, context, pool or other opaque handle. Handles are numbers here.
pub(crate) type Handle = *mut c_void;

/// The used values of `CUresult`.
pub(crate) mod result {
    pub(crate) const SUCCESS: u32 = 0;
    pub(crate) const INVALID_VALUE: u32 = 1;
    pub(crate) const OUT_OF_MEMORY: u32 = 2;
    pub(crate) const NOT_INITIALIZED: u32 = 3;
    pub(crate) const INVALID_DEVICE: u32 = 101;
    pub(crate) const INVALID_CONTEXT: u32 = 201;
    pub(crate) const INVALID_HANDLE: u32 = 400;
    pub(crate) const NOT_FOUND: u32 = 500;
    pub(crate) const CONTEXT_IS_DESTROYED: u32 = 709;
    pub(crate) const NOT_PERMITTED: u32 = 800;
    pub(crate) const STREAM_CAPTURE_UNSUPPORTED: u32 = 900;
    pub(crate) const HOST_MEMORY_ALREADY_REGISTERED: u32 = 712;
    pub(crate) const HOST_MEMORY_NOT_REGISTERED: u32 = 713;
    pub(crate) const NOT_SUPPORTED: u32 = 801;
    pub(crate) const STREAM_CAPTURE_INVALIDATED: u32 = 901;
}

static DRIVER: Mutex<Option<Driver>> = Mutex::new(None);

thread_local! {
    /// The thread's stack of current contexts, innermost last.
    static CONTEXTS: Cell<Vec<u64>> = const { Cell::new(Vec::new()) };
    /// Whether this is a thread of the driver, on which the driver must not be called.
    static IS_DRIVERS: Cell<bool> = const { Cell::new(false) };
}

/// Runs a program's function on a thread of the driver, and waits for it.
pub(crate) fn on_drivers_thread(function: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        scope.spawn(|| {
            IS_DRIVERS.set(true);
            function();
        });
    });
}

/// Checks that the calling thread may call the driver.
///
/// # Errors
///
/// `CUDA_ERROR_NOT_PERMITTED` on a thread of the driver.
#[expect(clippy::print_stderr, reason = "tests look for it")]
pub(crate) fn permitted() -> Answer {
    if IS_DRIVERS.get() {
        eprintln!("fakecuda: the driver was called on a thread of its own");
        return Err(result::NOT_PERMITTED);
    }
    Ok(())
}

/// Runs `body` with the locked state.
pub(crate) fn with_driver(
    call: &'static str,
    body: impl FnOnce(&mut Driver) -> Answer,
) -> CUresult {
    if let Err(error) = permitted() {
        return error;
    }
    let mut driver = DRIVER.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(driver) = driver.as_mut() else {
        return result::NOT_INITIALIZED;
    };
    driver.call = call;
    match body(driver) {
        Ok(()) => result::SUCCESS,
        Err(error) => error,
    }
}

/// `cuInit`: creates the state once. A forked child has no state: the real driver cannot be used there either.
pub(crate) fn initialise() -> CUresult {
    extern "C" fn in_child() {
        // If another thread held the lock during the fork, it stays locked: then calls block, as the real ones may.
        if let Ok(mut driver) = DRIVER.try_lock() {
            std::mem::forget(driver.take());
        }
    }
    let mut driver = DRIVER.lock().unwrap_or_else(PoisonError::into_inner);
    if driver.is_none() {
        *driver = Some(Driver::new());
        // SAFETY: the handler is a function of this library, which is never unloaded.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    }
    result::SUCCESS
}

/// Accesses the calling thread's stack of current contexts.
pub(crate) fn contexts<T>(work: impl FnOnce(&mut Vec<u64>) -> T) -> T {
    CONTEXTS.with(|cell| {
        let mut contexts = cell.take();
        let answer = work(&mut contexts);
        cell.set(contexts);
        answer
    })
}

/// Writes a result to the caller's pointer.
///
/// # Errors
///
/// `CUDA_ERROR_INVALID_VALUE` if it is null.
pub(crate) fn write_out<T>(place: *mut T, value: T) -> Answer {
    if place.is_null() {
        return Err(result::INVALID_VALUE);
    }
    // SAFETY: not null, and the caller's promise as for every function of the driver.
    unsafe { place.write_unaligned(value) };
    Ok(())
}

/// Writes an optional result, unless the pointer is null.
pub(crate) fn write_optional<T>(place: *mut T, value: T) {
    // A null pointer is no error here.
    write_out(place, value).unwrap_or_default();
}

/// Reads an argument through the caller's pointer.
///
/// # Errors
///
/// `CUDA_ERROR_INVALID_VALUE` if it is null.
pub(crate) fn read_in<T: Copy>(place: *const T) -> Answer<T> {
    if place.is_null() {
        return Err(result::INVALID_VALUE);
    }
    // SAFETY: not null, and the caller's promise as for every function of the driver.
    Ok(unsafe { place.read_unaligned() })
}

/// Converts a handle to a number.
pub(crate) fn number(handle: Handle) -> u64 {
    handle as u64
}

/// Converts a number to a handle.
pub(crate) fn handle(number: u64) -> Handle {
    number as Handle
}

/// Defines C functions and `table()`, which lists them.
///
/// ```text
/// fn cuX(a: A, b: B) |driver| { … }        with the locked state
/// fn cuX(a: A, b: B) { … }                 without the state
/// fn cuX, cuX_ptsz (a: A, b: B) …          under a second name
/// ```
///
/// Bodies have the type [`Answer`].
macro_rules! driver {
    ($( $(#[$meta:meta])* fn $name:ident $(, $alias:ident)* ($($arg:ident : $type:ty),* $(,)?) $(|$driver:ident|)? $body:block )*) => {
        $(
            driver!(@function [$(#[$meta])*] $name ($($arg: $type),*) $(|$driver|)? $body);
            driver!(@alias [$($alias)*] ($($arg: $type),*) $(|$driver|)? $body);
        )*

        /// The functions of this file by name.
        pub(crate) fn table() -> Vec<(&'static str, *const std::ffi::c_void)> {
            vec![$(
                (stringify!($name), $name as *const std::ffi::c_void),
                $( (stringify!($alias), $alias as *const std::ffi::c_void), )*
            )*]
        }
    };
    (@function [$($meta:tt)*] $name:ident ($($arg:ident : $type:ty),*) |$driver:ident| $body:block) => {
        $($meta)*
        #[unsafe(no_mangle)]
        extern "C" fn $name($($arg: $type),*) -> $crate::entry::CUresult {
            $crate::entry::with_driver(stringify!($name), |$driver| $body)
        }
    };
    (@function [$($meta:tt)*] $name:ident ($($arg:ident : $type:ty),*) $body:block) => {
        $($meta)*
        #[unsafe(no_mangle)]
        extern "C" fn $name($($arg: $type),*) -> $crate::entry::CUresult {
            let body = || -> $crate::entry::Answer { $body };
            let answer = $crate::entry::permitted().and_then(|()| body());
            answer.err().unwrap_or($crate::entry::result::SUCCESS)
        }
    };
    (@alias [] $($rest:tt)*) => {};
    // A separate function, which the compiler cannot merge with the first: programs may compare the addresses.
    (@alias [$alias:ident] $($rest:tt)*) => {
        driver!(@function [] $alias $($rest)*);
    };
}
