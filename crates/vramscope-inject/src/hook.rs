//! Hooked driver functions, and the lookup of the real ones by the dynamic linker's own `dlsym`.

use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// A hooked driver function.
pub(crate) struct Hook {
    /// Its name in the driver.
    pub(crate) name: &'static CStr,
    /// The function that callers get instead.
    pub(crate) wrapper: *const c_void,
    /// The real function; null until it was looked up.
    real: AtomicPtr<c_void>,
}

// SAFETY: the pointers are to functions.
unsafe impl Sync for Hook {}

impl Hook {
    pub(crate) const fn new(name: &'static CStr, wrapper: *const c_void) -> Self {
        Self {
            name,
            wrapper,
            real: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    /// Interposes the wrapper before `real`. Returns the function for the caller: usually the wrapper, but `real`
    /// if the wrapper already precedes the function of another library. One of two such libraries calls the other,
    /// and that call must not return to the first.
    pub(crate) fn interpose(&self, real: *mut c_void) -> *mut c_void {
        if !real.is_null() && real.cast_const() != self.wrapper {
            let (set, read) = (Ordering::AcqRel, Ordering::Acquire);
            match self
                .real
                .compare_exchange(std::ptr::null_mut(), real, set, read)
            {
                Ok(_) => {}
                Err(known) if known == real => {}
                Err(known) => match object_of(known) {
                    Some(object) if object_of(real) != Some(object) => return real,
                    // The same library, or the previous one was unloaded.
                    _ => self.real.store(real, Ordering::Release),
                },
            }
            WAS_LOOKED_UP.store(true, Ordering::Relaxed);
        }
        self.wrapper.cast_mut()
    }

    /// The real function; null if it does not exist.
    #[inline]
    pub(crate) fn real(&self) -> *mut c_void {
        let real = self.real.load(Ordering::Acquire);
        if real.is_null() {
            self.find_real()
        } else {
            real
        }
    }

    /// Finds the real function for programs linked with the driver, which never looked it up.
    #[cold]
    fn find_real(&self) -> *mut c_void {
        let mut real = self.look_up_in(libc::RTLD_NEXT);
        for library in [c"libcuda.so.1", c"libcuda.so"] {
            if real.is_null() {
                // SAFETY: a C string; `RTLD_NOLOAD` loads nothing.
                let library =
                    unsafe { libc::dlopen(library.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
                if !library.is_null() {
                    real = self.look_up_in(library);
                }
            }
        }
        self.interpose(real);
        real
    }

    /// The function of this name in `library`; null if that is the wrapper itself.
    fn look_up_in(&self, library: *mut c_void) -> *mut c_void {
        // SAFETY: a library's handle or a special one, and a C string.
        let real = unsafe { real_dlsym(library, self.name.as_ptr()) };
        if real.cast_const() == self.wrapper {
            return std::ptr::null_mut();
        }
        real
    }
}

/// Start of the library that contains an address; `None` if there is none.
fn object_of(address: *const c_void) -> Option<usize> {
    // SAFETY: plain data, which `dladdr` fills in.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: `dladdr` only looks the address up; the out-pointer is valid.
    (unsafe { libc::dladdr(address, &raw mut info) } != 0).then(|| info.dli_fbase.addr())
}

/// Whether any driver function was looked up here.
static WAS_LOOKED_UP: AtomicBool = AtomicBool::new(false);

/// Whether the driver is loaded although none of its functions was looked up here.
pub(crate) fn is_bypassed() -> bool {
    if WAS_LOOKED_UP.load(Ordering::Relaxed) {
        return false;
    }
    // SAFETY: a C string; `RTLD_NOLOAD` loads nothing.
    let driver = unsafe {
        libc::dlopen(
            c"libcuda.so.1".as_ptr(),
            libc::RTLD_LAZY | libc::RTLD_NOLOAD,
        )
    };
    !driver.is_null()
}

type Dlsym = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;

/// The dynamic linker's own `dlsym`; null until [`find_dlsym`] found it.
pub(crate) static REAL_DLSYM: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

/// Calls the dynamic linker's own `dlsym`.
///
/// # Safety
/// As for `dlsym`.
pub(crate) unsafe fn real_dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void {
    find_dlsym();
    // SAFETY: `find_dlsym` stored a function of this type, or did not return.
    unsafe {
        let real = std::mem::transmute::<*mut c_void, Dlsym>(REAL_DLSYM.load(Ordering::Acquire));
        real(library, name)
    }
}

/// Finds the dynamic linker's own `dlsym`, at the first call.
#[inline]
pub(crate) fn find_dlsym() {
    if !REAL_DLSYM.load(Ordering::Acquire).is_null() {
        return;
    }
    // Symbol versions in glibc 2.34 and later, in older ones on aarch64, and on x86-64.
    for version in [c"GLIBC_2.34", c"GLIBC_2.17", c"GLIBC_2.2.5"] {
        // SAFETY: C strings.
        let real = unsafe { libc::dlvsym(libc::RTLD_NEXT, c"dlsym".as_ptr(), version.as_ptr()) };
        if !real.is_null() {
            REAL_DLSYM.store(real, Ordering::Release);
            return;
        }
    }
    // The program cannot continue without `dlsym`. Every glibc has one of these versions.
    std::process::abort();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_library_of_the_same_functions_is_given_its_own() {
        unsafe extern "C" fn wrapper() {}
        let hook = Hook::new(c"malloc", wrapper as *const c_void);
        let wrapper = hook.wrapper.cast_mut();
        // Two functions of one library, and one of this program.
        let (first, same) = (
            libc::getpid as *const () as *mut c_void,
            libc::getppid as *const () as *mut c_void,
        );
        let other = object_of as *const () as *mut c_void;
        assert_eq!(hook.interpose(first), wrapper);
        assert_eq!(hook.interpose(other), other);
        assert_eq!(hook.real(), first);
        assert_eq!(hook.interpose(same), wrapper);
        assert_eq!(hook.real(), same);
        assert_eq!(hook.interpose(wrapper), wrapper);
        assert_eq!(hook.real(), same);
    }
}
