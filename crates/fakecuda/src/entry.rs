//! How C functions are made: `driver!`, and what passes through their arguments.

use std::cell::Cell;
use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};

use crate::driver::Driver;

/// What the driver's functions return.
pub(crate) type CUresult = u32;
/// What the functions are made of: an error is what the caller gets.
pub(crate) type Answer<T = ()> = Result<T, CUresult>;
/// Streams, contexts, pools and the like: numbers to us.
pub(crate) type Handle = *mut c_void;

/// The results that are used.
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
    pub(crate) const HOST_MEMORY_ALREADY_REGISTERED: u32 = 712;
    pub(crate) const HOST_MEMORY_NOT_REGISTERED: u32 = 713;
    pub(crate) const NOT_SUPPORTED: u32 = 801;
    pub(crate) const STREAM_CAPTURE_INVALIDATED: u32 = 901;
}

static DRIVER: Mutex<Option<Driver>> = Mutex::new(None);

thread_local! {
    /// The thread's current contexts, innermost last.
    static CONTEXTS: Cell<Vec<u64>> = const { Cell::new(Vec::new()) };
}

/// Runs `body` on the driver's state, under its lock.
pub(crate) fn with_driver(
    call: &'static str,
    body: impl FnOnce(&mut Driver) -> Answer,
) -> CUresult {
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

/// `cuInit`: makes the state, once. Children by fork have none: as on the real driver they cannot use what their
/// parent initialised.
pub(crate) fn initialise() -> CUresult {
    extern "C" fn in_child() {
        // A lock that another thread held at the fork stays locked for ever: then calls wait as the real ones may.
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

/// Works on the calling thread's stack of current contexts.
pub(crate) fn contexts<T>(work: impl FnOnce(&mut Vec<u64>) -> T) -> T {
    CONTEXTS.with(|cell| {
        let mut contexts = cell.take();
        let answer = work(&mut contexts);
        cell.set(contexts);
        answer
    })
}

/// Gives `value` to the caller.
///
/// # Errors
///
/// `CUDA_ERROR_INVALID_VALUE` if there is no place for it.
pub(crate) fn give<T>(place: *mut T, value: T) -> Answer {
    if place.is_null() {
        return Err(result::INVALID_VALUE);
    }
    // SAFETY: not null, and the caller's promise as of every function of the driver.
    unsafe { place.write_unaligned(value) };
    Ok(())
}

/// The same for what the caller need not want.
pub(crate) fn give_if_wanted<T>(place: *mut T, value: T) {
    // No place is no error here.
    give(place, value).unwrap_or_default();
}

/// What the caller passes by pointer.
///
/// # Errors
///
/// `CUDA_ERROR_INVALID_VALUE` if it is null.
pub(crate) fn take<T: Copy>(place: *const T) -> Answer<T> {
    if place.is_null() {
        return Err(result::INVALID_VALUE);
    }
    // SAFETY: not null, and the caller's promise as of every function of the driver.
    Ok(unsafe { place.read_unaligned() })
}

/// A handle as a number.
pub(crate) fn number(handle: Handle) -> u64 {
    handle as u64
}

/// A number as a handle.
pub(crate) fn handle(number: u64) -> Handle {
    number as Handle
}

/// Makes C functions and, as `table()`, the list of them.
///
/// ```text
/// fn cuX(a: A, b: B) |driver| { … }        under the lock, with the state
/// fn cuX(a: A, b: B) { … }                 without
/// fn cuX, cuX_ptsz (a: A, b: B) …          under a second name
/// ```
///
/// Bodies are of type [`Answer`]. Those without the lock return the result's number as it is when they end in one.
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
            body().err().unwrap_or($crate::entry::result::SUCCESS)
        }
    };
    (@alias [] $($rest:tt)*) => {};
    // A whole function of its own, which the compiler will not take for the same: a program may tell them apart.
    (@alias [$alias:ident] $($rest:tt)*) => {
        driver!(@function [] $alias $($rest)*);
    };
}
