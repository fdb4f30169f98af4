//! Forwards to the program's own unwinder of exceptions; its functions are looked up when first needed.
//!
//! Two kinds of unwinding reach this library. Cancelling a thread (`pthread_cancel`) and C++ exceptions pass through
//! hooks. Their unwinder, usually `libgcc_s.so.1`, is loaded by then, and only it understands its own state: one inside
//! this library would crash there. And errors of this library are caught ([`crate::log::guard`]).
//!
//! Linking `libgcc_s.so.1` would load it before the program's own libraries, which may want a newer one than the
//! system's; and where there is none, this library could not be loaded. The C library, too, loads it only to cancel a
//! thread.

use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

/// Returned by the functions that begin to unwind if there is no unwinder: `_URC_FATAL_PHASE1_ERROR`. Rust aborts then.
const NO_UNWINDER: usize = 3;

/// All of these functions take up to three words and return one.
type Function = unsafe extern "C-unwind" fn(usize, usize, usize) -> usize;

/// Finds a function: among the program's own, in `libgcc_s` if that is loaded, or by loading it.
#[cold]
fn find(name: &CStr) -> *mut c_void {
    let libgcc = c"libgcc_s.so.1".as_ptr();
    // SAFETY: C strings. The constructors of `libgcc_s` do nothing that could disturb the program.
    unsafe {
        let found = libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr());
        if !found.is_null() {
            return found;
        }
        let mut library = libc::dlopen(libgcc, libc::RTLD_NOW | libc::RTLD_NOLOAD);
        if library.is_null() {
            library = libc::dlopen(libgcc, libc::RTLD_NOW);
        }
        match library.is_null() {
            true => library,
            false => libc::dlsym(library, name.as_ptr()),
        }
    }
}

/// Defines functions of the unwinder for the code in this library only. `no_mangle` would export them, and the whole
/// program would use them.
macro_rules! forward {
    ($($name:ident)*) => { $(
        #[expect(non_snake_case, reason = "the name of the unwinder's function")]
        unsafe extern "C-unwind" fn $name(a: usize, b: usize, c: usize) -> usize {
            static REAL: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
            let mut real = REAL.load(Ordering::Acquire);
            if real.is_null() {
                // `stringify!` yields no zero byte, so the error cannot happen.
                let name = CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes());
                real = find(name.unwrap_or_default());
                if real.is_null() {
                    return NO_UNWINDER;
                }
                REAL.store(real, Ordering::Release);
            }
            // SAFETY: the unwinder's function of this name, and the caller's own arguments.
            unsafe { std::mem::transmute::<*mut c_void, Function>(real)(a, b, c) }
        }

        std::arch::global_asm!(
            ".pushsection .text",
            concat!(".globl ", stringify!($name)),
            concat!(".hidden ", stringify!($name)),
            concat!(".type ", stringify!($name), ", @function"),
            concat!(stringify!($name), ":"),
            #[cfg(target_arch = "x86_64")]
            "jmp {}",
            #[cfg(target_arch = "aarch64")]
            "b {}",
            ".popsection",
            sym $name,
        );
    )* };
}

// Everything that Rust's own library may call.
forward! {
    _Unwind_Backtrace
    _Unwind_DeleteException
    _Unwind_FindEnclosingFunction
    _Unwind_ForcedUnwind
    _Unwind_GetCFA
    _Unwind_GetDataRelBase
    _Unwind_GetGR
    _Unwind_GetIP
    _Unwind_GetIPInfo
    _Unwind_GetLanguageSpecificData
    _Unwind_GetRegionStart
    _Unwind_GetTextRelBase
    _Unwind_RaiseException
    _Unwind_Resume
    _Unwind_Resume_or_Rethrow
    _Unwind_SetGR
    _Unwind_SetIP
}
