//! Functions of the driver that are called, not looked at.

use std::ffi::{CStr, c_void};

/// The address of one of the driver's functions, if it is loaded and has it.
pub(crate) fn address(name: &CStr) -> *mut c_void {
    // SAFETY: a text; nothing is loaded.
    let driver = unsafe {
        libc::dlopen(
            c"libcuda.so.1".as_ptr(),
            libc::RTLD_LAZY | libc::RTLD_NOLOAD,
        )
    };
    if driver.is_null() {
        return std::ptr::null_mut();
    }
    // SAFETY: a library that is loaded, and a text.
    unsafe { libc::dlsym(driver, name.as_ptr()) }
}

/// A function of the driver, looked for until it is found.
macro_rules! function {
    ($name:ident: fn($($argument:ty),*) -> $result:ty) => {{
        static FOUND: std::sync::atomic::AtomicPtr<std::ffi::c_void> =
            std::sync::atomic::AtomicPtr::new(std::ptr::null_mut());
        let mut found = FOUND.load(std::sync::atomic::Ordering::Relaxed);
        if found.is_null() {
            let name = const { std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) };
            found = name.map_or(std::ptr::null_mut(), $crate::driver::address);
            FOUND.store(found, std::sync::atomic::Ordering::Relaxed);
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

/// The device of the calling thread's context.
pub(crate) fn current_device() -> Option<i16> {
    let get = function!(cuCtxGetDevice: fn(*mut std::ffi::c_int) -> u32)?;
    let mut device = 0;
    // SAFETY: a place for the answer.
    let result = unsafe { get(&raw mut device) };
    (result == vramscope_record::layout::SUCCESS)
        .then_some(device.try_into().ok())
        .flatten()
}
