//! Driver functions that this library calls itself, without hooks.

use std::ffi::{CStr, c_void};

/// The address of a driver function. Null if the driver is not loaded or does not have it.
pub(crate) fn find(name: &CStr) -> *mut c_void {
    // SAFETY: a C string; `RTLD_NOLOAD` loads nothing.
    let driver = unsafe {
        libc::dlopen(
            c"libcuda.so.1".as_ptr(),
            libc::RTLD_LAZY | libc::RTLD_NOLOAD,
        )
    };
    if driver.is_null() {
        return std::ptr::null_mut();
    }
    // SAFETY: the handle of a loaded library, and a C string.
    unsafe { libc::dlsym(driver, name.as_ptr()) }
}

/// Looks up a driver function once; `None` until it exists.
macro_rules! function {
    ($name:ident: fn($($argument:ty),*) -> $result:ty) => {{
        static FUNCTION: std::sync::atomic::AtomicPtr<std::ffi::c_void> =
            std::sync::atomic::AtomicPtr::new(std::ptr::null_mut());
        let mut found = FUNCTION.load(std::sync::atomic::Ordering::Relaxed);
        if found.is_null() {
            let name = const { std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) };
            found = name.map_or(std::ptr::null_mut(), $crate::driver::find);
            FUNCTION.store(found, std::sync::atomic::Ordering::Relaxed);
        }
        (!found.is_null()).then(|| {
            // SAFETY: the driver's function of this name, which has this type.
            unsafe {
                std::mem::transmute::<*mut std::ffi::c_void, unsafe extern "C" fn($($argument),*) -> $result>(found)
            }
        })
    }};
}

pub(crate) use function;

/// The device of the calling thread's current context.
pub(crate) fn current_device() -> Option<i16> {
    let get = function!(cuCtxGetDevice: fn(*mut std::ffi::c_int) -> u32)?;
    let mut device = 0;
    // SAFETY: the out-pointer is valid.
    let result = unsafe { get(&raw mut device) };
    (result == vramscope_record::layout::SUCCESS)
        .then_some(device.try_into().ok())
        .flatten()
}
