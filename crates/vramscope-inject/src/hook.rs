//! Hooked driver functions, and the real ones that they call.

use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use crate::dlsym::{next_dlsym, object_of, real_dlsym};
use crate::driver::{self, Function};

/// A hooked driver function.
pub(crate) struct Hook {
    /// Its name in the driver.
    pub(crate) name: &'static CStr,
    /// The function that callers get instead.
    pub(crate) wrapper: *const c_void,
    /// The real function; null until it was looked up.
    real: AtomicPtr<c_void>,
    /// Start of the library of the real function; 0 if unknown.
    library: AtomicUsize,
    /// The driver's own function of this name.
    pub(crate) own: Function,
    /// Whether a note says that the driver gave an unknown function of this name.
    pub(crate) has_note: AtomicBool,
}

// SAFETY: the pointers are to functions.
unsafe impl Sync for Hook {}

/// What a function found for a hook's name is to the hook.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Found {
    /// The function that the wrapper calls from now on. The caller gets the wrapper.
    Real,
    /// A function of another library. The caller gets it as it is.
    Others,
}

impl Hook {
    pub(crate) const fn new(name: &'static CStr, wrapper: *const c_void) -> Self {
        Self {
            name,
            wrapper,
            real: AtomicPtr::new(std::ptr::null_mut()),
            library: AtomicUsize::new(0),
            own: Function::new(name),
            has_note: AtomicBool::new(false),
        }
    }

    /// As [`Self::new`], of a name with a zero byte at its end.
    pub(crate) const fn of(name: &'static str, wrapper: *const c_void) -> Self {
        let Ok(name) = CStr::from_bytes_with_nul(name.as_bytes()) else {
            panic!("a zero byte ends the name, and there is no other");
        };
        Self::new(name, wrapper)
    }

    /// Interposes the wrapper before `found`, a function of the hook's name. Returns the function for the caller:
    ///
    /// | the wrapper calls | `found` is | the caller gets | and the wrapper calls |
    /// | --- | --- | --- | --- |
    /// | nothing yet | any function | the wrapper | `found` |
    /// | `found` | | the wrapper | `found` |
    /// | a function of the same library | | the wrapper | `found` |
    /// | a function of a library that is gone | | the wrapper | `found` |
    /// | a function of another library | | `found` | what it called |
    /// | any | the wrapper itself, or null | the wrapper | what it called |
    ///
    /// The fifth case: of two libraries that offer the driver's functions, one calls the other. That call must not
    /// return to the first. It is recorded by the first.
    pub(crate) fn interpose(&self, found: *mut c_void) -> *mut c_void {
        let given = self.stand_before(found);
        if given.cast_const() == self.wrapper {
            WAS_LOOKED_UP.store(true, Ordering::Relaxed);
        }
        given
    }

    /// As [`Self::interpose`], for functions that the program did not look up.
    fn stand_before(&self, found: *mut c_void) -> *mut c_void {
        let wrapper = self.wrapper.cast_mut();
        if found.is_null() || found == wrapper {
            return wrapper;
        }
        loop {
            let known = self.real.load(Ordering::Acquire);
            if known != found {
                let then = self.library.load(Ordering::Relaxed);
                if judge(known, then, found, object_of) == Found::Others {
                    return found;
                }
                let (set, read) = (Ordering::AcqRel, Ordering::Acquire);
                if self.real.compare_exchange(known, found, set, read).is_err() {
                    continue;
                }
                self.library
                    .store(driver::library_of(found, &self.own), Ordering::Relaxed);
            }
            return wrapper;
        }
    }

    /// The real function; null until it was found.
    #[inline]
    pub(crate) fn real(&self) -> *mut c_void {
        self.real.load(Ordering::Acquire)
    }

    /// Whether a function is this one, whatever it is called: the wrapper, the function that the wrapper calls, or
    /// the driver's function of this name.
    pub(crate) fn is(&self, function: *mut c_void) -> bool {
        function.cast_const() == self.wrapper
            || function == self.real()
            || self.own.find() == Some(function)
    }

    /// Interposes the wrapper before the next function of its name in the order of symbol resolution, if it calls
    /// nothing yet: for programs linked with the driver, which never look it up.
    pub(crate) fn stand_before_next(&self) {
        if self.real().is_null() {
            self.stand_before(self.next());
        }
    }

    /// The next function of this name in the order of symbol resolution, or else that of the driver.
    fn next(&self) -> *mut c_void {
        // SAFETY: a special handle, and a C string.
        let mut next =
            self.without_wrapper(unsafe { real_dlsym(libc::RTLD_NEXT, self.name.as_ptr()) });
        for library in [c"libcuda.so.1", c"libcuda.so"] {
            if next.is_null() {
                // SAFETY: C strings; `RTLD_NOLOAD` loads nothing.
                unsafe {
                    let library =
                        libc::dlopen(library.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
                    if !library.is_null() {
                        next = self.without_wrapper(next_dlsym(library, self.name.as_ptr()));
                    }
                }
            }
        }
        next
    }

    /// The function; null if it is the wrapper itself.
    fn without_wrapper(&self, found: *mut c_void) -> *mut c_void {
        if found.cast_const() == self.wrapper {
            return std::ptr::null_mut();
        }
        found
    }
}

/// What `found` is to a hook whose wrapper calls `known`, which was in the library `then` when it was found.
/// `library_of` tells the library of an address now.
fn judge(
    known: *mut c_void,
    then: usize,
    found: *mut c_void,
    library_of: impl Fn(*const c_void) -> Option<usize>,
) -> Found {
    if known.is_null() || known == found {
        return Found::Real;
    }
    let now = library_of(known);
    let is_gone = now.is_none() || (then != 0 && now != Some(then));
    if is_gone || library_of(found) == now {
        Found::Real
    } else {
        Found::Others
    }
}

/// Whether any driver function was looked up here.
static WAS_LOOKED_UP: AtomicBool = AtomicBool::new(false);

/// Whether the driver is loaded although none of its functions was looked up here or called.
pub(crate) fn is_bypassed() -> bool {
    !WAS_LOOKED_UP.load(Ordering::Relaxed) && driver::is_unused()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(address: usize) -> *mut c_void {
        std::ptr::without_provenance_mut(address)
    }

    /// The cases of the table at [`Hook::interpose`], with libraries of 256 bytes.
    #[test]
    fn a_function_is_judged_by_its_library() {
        let loaded = |address: *const c_void| Some(address.addr() & !0xFF);
        let unloaded =
            |address: *const c_void| Some(address.addr() & !0xFF).filter(|&at| at != 0x100);
        let (known, same, other) = (function(0x110), function(0x120), function(0x230));
        assert_eq!(judge(function(0), 0, known, loaded), Found::Real);
        assert_eq!(judge(known, 0x100, known, loaded), Found::Real);
        assert_eq!(judge(known, 0x100, same, loaded), Found::Real);
        assert_eq!(judge(known, 0x100, other, loaded), Found::Others);
        assert_eq!(judge(known, 0x100, other, unloaded), Found::Real);
        // Something else is now where its library was.
        assert_eq!(judge(known, 0x080, other, loaded), Found::Real);
    }

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
