//! The library for NVTX 1 and 2 that programs would call if this one did not come first. It has slots like NVTX 3, so
//! it calls this library's functions, or those of another tool named by `NVTX_INJECTION64_PATH`.

use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::{AtomicPtr, AtomicU8, Ordering};

use crate::dlsym::real_dlsym;
use crate::log;

const LIBRARY: &CStr = c"libnvToolsExt.so.1";

/// Whether that library exists: one of the constants below. Decided once, at the first call of any function, because a
/// range that began in one library must not end in the other.
static IS_LOADED: AtomicU8 = AtomicU8::new(UNKNOWN);
const UNKNOWN: u8 = 0;
const NO: u8 = 1;
const YES: u8 = 2;

/// A function of that library.
pub(super) struct Next {
    /// The name, with a zero at its end.
    name: &'static str,
    /// Null until it was looked up.
    found: AtomicPtr<c_void>,
}

impl Next {
    /// `name` must end with a zero.
    pub(super) const fn new(name: &'static str) -> Self {
        Self {
            name,
            found: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    /// The function's address; null if this library's is to be used. `own` is the export of the same name.
    #[inline]
    pub(super) fn find(&self, own: *const c_void) -> *mut c_void {
        if IS_LOADED.load(Ordering::Acquire) == NO {
            return std::ptr::null_mut();
        }
        let found = self.found.load(Ordering::Acquire);
        if found.is_null() {
            self.look_up(own)
        } else {
            found
        }
    }

    #[cold]
    fn look_up(&self, own: *const c_void) -> *mut c_void {
        let look_up = || {
            let found = function(self.name.as_ptr().cast(), own);
            let is_loaded = if found.is_null() { NO } else { YES };
            // Another function may have decided it. The library has all functions or none.
            let _ =
                IS_LOADED.compare_exchange(UNKNOWN, is_loaded, Ordering::AcqRel, Ordering::Acquire);
            self.found.store(found, Ordering::Release);
            found
        };
        log::guard(look_up).unwrap_or(std::ptr::null_mut())
    }
}

/// The function of this name after this library in symbol order, or in a library that only others see; null if there is
/// none.
fn function(name: *const c_char, own: *const c_void) -> *mut c_void {
    // SAFETY: a C string.
    let next = unsafe { real_dlsym(libc::RTLD_NEXT, name) };
    if !next.is_null() {
        return next;
    }
    // SAFETY: a C string; `RTLD_NOLOAD` loads nothing.
    let library = unsafe { libc::dlopen(LIBRARY.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    if library.is_null() {
        return library;
    }
    // SAFETY: the handle of a loaded library, and a C string.
    let found = unsafe { real_dlsym(library, name) };
    // This library may be loaded under that name.
    if found.cast_const() == own {
        return std::ptr::null_mut();
    }
    found
}
