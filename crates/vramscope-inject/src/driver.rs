//! Driver functions that this library calls itself, without hooks.

use std::cell::Cell;
use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

use vramscope_record::layout::SUCCESS;

use crate::dlsym::real_dlsym;

thread_local! {
    /// Whether the program calls the driver on this thread.
    static IS_USED: Cell<bool> = const { Cell::new(false) };
}

/// Remembers that the program calls the driver on this thread, so that this library may do so too.
///
/// The driver has threads of its own, on which it runs the program's host functions. It must not be called there:
/// it may wait for a lock whose holder waits for the host function.
#[inline]
pub(crate) fn set_used_here() {
    IS_USED.set(true);
}

/// A driver function, looked up at its first use.
pub(crate) struct Function(AtomicPtr<c_void>);

/// Stands for a function that the loaded driver does not have.
const MISSING: *mut c_void = std::ptr::without_provenance_mut(1);

impl Function {
    pub(crate) const fn new() -> Self {
        Self(AtomicPtr::new(std::ptr::null_mut()))
    }

    /// The address; `None` if the driver is not loaded or does not have the function.
    #[inline]
    pub(crate) fn find(&self, name: &CStr) -> Option<*mut c_void> {
        let mut found = self.0.load(Ordering::Relaxed);
        if found.is_null() {
            found = look_up(name);
            self.0.store(found, Ordering::Relaxed);
        }
        (!found.is_null() && found != MISSING).then_some(found)
    }
}

/// The address of a function; null if the driver is not loaded, [`MISSING`] if it does not have the function.
#[cold]
fn look_up(name: &CStr) -> *mut c_void {
    match (library(), symbol(name)) {
        (None, _) => std::ptr::null_mut(),
        (Some(_), None) => MISSING,
        (Some(_), Some(found)) => found,
    }
}

/// The loaded driver.
pub(crate) fn library() -> Option<*mut c_void> {
    // SAFETY: a C string; `RTLD_NOLOAD` loads nothing.
    let driver = unsafe {
        libc::dlopen(
            c"libcuda.so.1".as_ptr(),
            libc::RTLD_LAZY | libc::RTLD_NOLOAD,
        )
    };
    (!driver.is_null()).then_some(driver)
}

/// The driver's own function of this name, whatever other libraries interpose.
pub(crate) fn symbol(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the handle of a loaded library, and a C string.
    let found = unsafe { real_dlsym(library()?, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

/// Looks up a driver function once; `None` until it exists.
macro_rules! function {
    ($name:ident: fn($($argument:ty),*) -> $result:ty) => {{
        static FUNCTION: $crate::driver::Function = $crate::driver::Function::new();
        let name = const { std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) };
        name.ok().and_then(|name| FUNCTION.find(name)).map(|found| {
            // SAFETY: the driver's function of this name, which has this type.
            unsafe {
                std::mem::transmute::<*mut std::ffi::c_void, unsafe extern "C" fn($($argument),*) -> $result>(found)
            }
        })
    }};
}

pub(crate) use function;

/// The device of the calling thread's current context. `None` on threads on which the program does not call the
/// driver.
pub(crate) fn current_device() -> Option<i16> {
    if !IS_USED.get() {
        return None;
    }
    let get = function!(cuCtxGetDevice: fn(*mut c_int) -> u32)?;
    let mut device = 0;
    // SAFETY: the out-pointer is valid.
    let result = unsafe { get(&raw mut device) };
    (result == SUCCESS)
        .then_some(device.try_into().ok())
        .flatten()
}
