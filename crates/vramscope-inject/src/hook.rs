//! Hooked driver functions, and the real ones that they call.

use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use crate::dlsym::{next_dlsym, object_of, real_dlsym};
use crate::driver::{self, Function};

pub(crate) struct Hook {
    /// The name in the driver.
    pub(crate) name: &'static CStr,
    /// Two libraries may provide the driver's functions: the driver, and one placed before it.
    ways: [Way; 2],
    /// The driver's own function of this name.
    pub(crate) own: Function,
    /// Whether a note was written that the driver returned an unknown function of this name.
    pub(crate) has_note: AtomicBool,
}

/// A function that callers get instead of a real one.
struct Way {
    /// Null if there is none.
    wrapper: *const c_void,
    /// The function that the wrapper calls; null until it was looked up.
    real: AtomicPtr<c_void>,
    /// Start address of the library of `real`; 0 if unknown.
    library: AtomicUsize,
}

// SAFETY: the pointers are to functions.
unsafe impl Sync for Hook {}

/// How a function found under a hook's name relates to a wrapper.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Found {
    /// The function that the wrapper calls from now on.
    Real,
    /// A function of another library.
    Others,
}

impl Way {
    const fn new(wrapper: *const c_void) -> Self {
        Self {
            wrapper,
            real: AtomicPtr::new(std::ptr::null_mut()),
            library: AtomicUsize::new(0),
        }
    }

    /// Whether the wrapper calls `found` from now on.
    fn take(&self, found: *mut c_void, own: &Function) -> bool {
        loop {
            let known = self.real.load(Ordering::Acquire);
            if known == found {
                return true;
            }
            let then = self.library.load(Ordering::Relaxed);
            if self.wrapper.is_null() || judge(known, then, found, object_of) == Found::Others {
                return false;
            }
            let (set, read) = (Ordering::AcqRel, Ordering::Acquire);
            if self.real.compare_exchange(known, found, set, read).is_ok() {
                let library = driver::library_of(found, own);
                self.library.store(library, Ordering::Relaxed);
                return true;
            }
        }
    }
}

impl Hook {
    /// `second` is the wrapper for a second library; null if there is none.
    pub(crate) const fn new(
        name: &'static CStr,
        wrapper: *const c_void,
        second: *const c_void,
    ) -> Self {
        Self {
            name,
            ways: [Way::new(wrapper), Way::new(second)],
            own: Function::new(name),
            has_note: AtomicBool::new(false),
        }
    }

    /// Like [`Self::new`], for a name that ends with a zero byte.
    pub(crate) const fn of(
        name: &'static str,
        wrapper: *const c_void,
        second: *const c_void,
    ) -> Self {
        let Ok(name) = CStr::from_bytes_with_nul(name.as_bytes()) else {
            panic!("a zero byte ends the name, and there is no other");
        };
        Self::new(name, wrapper, second)
    }

    /// Puts a wrapper in front of `found`, a function of the hook's name. Returns the function for the caller:
    ///
    /// | the wrapper calls | `found` is | the caller gets | and the wrapper calls |
    /// | --- | --- | --- | --- |
    /// | nothing yet | any function | the wrapper | `found` |
    /// | `found` | | the wrapper | `found` |
    /// | a function of the same library | | the wrapper | `found` |
    /// | a function of a library that is gone | | the wrapper | `found` |
    /// | a function of another library | | the second wrapper, by the same rules | |
    /// | functions of two other libraries | | `found`, of which direct calls are not recorded | what it called |
    /// | any | a wrapper itself, or null | it, or the first wrapper | what it called |
    ///
    /// The fifth case: of two libraries that offer the driver's functions, one calls the other, and that call must not
    /// return to the first. Calls through both are recorded by the first wrapper, since only a thread's outermost call
    /// is recorded.
    pub(crate) fn interpose(&self, found: *mut c_void) -> *mut c_void {
        let given = self.stand_before(found);
        if self.has_wrapper(given) {
            WAS_LOOKED_UP.store(true, Ordering::Relaxed);
        }
        given
    }

    /// Like [`Self::interpose`], for functions that the program did not look up.
    fn stand_before(&self, found: *mut c_void) -> *mut c_void {
        if found.is_null() {
            return self.ways[0].wrapper.cast_mut();
        }
        if self.has_wrapper(found) {
            return found;
        }
        let way = self.ways.iter().find(|way| way.take(found, &self.own));
        way.map_or(found, |way| way.wrapper.cast_mut())
    }

    /// Whether a function is one of the wrappers.
    pub(crate) fn has_wrapper(&self, function: *mut c_void) -> bool {
        self.ways
            .iter()
            .any(|way| way.wrapper == function.cast_const())
    }

    /// Whether the hook can wrap the functions of two libraries.
    pub(crate) fn has_second_wrapper(&self) -> bool {
        !self.ways[1].wrapper.is_null()
    }

    /// The real function; null until it was found.
    #[inline]
    pub(crate) fn real(&self) -> *mut c_void {
        self.ways[0].real.load(Ordering::Acquire)
    }

    /// The second library's function.
    #[inline]
    pub(crate) fn second(&self) -> *mut c_void {
        self.ways[1].real.load(Ordering::Acquire)
    }

    /// Whether a function belongs to this hook, whatever its name: a wrapper, a function that a wrapper calls, or the
    /// driver's function of this name.
    pub(crate) fn is(&self, function: *mut c_void) -> bool {
        self.has_wrapper(function)
            || [self.real(), self.second()].contains(&function)
            || self.own.find() == Some(function)
    }

    /// For programs linked with the driver, which never look functions up: wraps the next function of this name in the
    /// order of symbol resolution, if the wrapper calls nothing yet.
    pub(crate) fn stand_before_next(&self) {
        if self.real().is_null() {
            self.stand_before(self.next());
        }
    }

    /// The next function of this name in the order of symbol resolution, or else the driver's.
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

    /// The function; null if it is a wrapper itself.
    fn without_wrapper(&self, found: *mut c_void) -> *mut c_void {
        if self.has_wrapper(found) {
            return std::ptr::null_mut();
        }
        found
    }
}

/// How `found` relates to a hook whose wrapper calls `known`, which was in the library `then` when it was found.
/// `library_of` returns the library that contains an address now.
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
        // Its library is gone, and something else is in its place.
        assert_eq!(judge(known, 0x080, other, loaded), Found::Real);
    }

    #[test]
    fn a_second_library_of_the_same_functions_has_a_wrapper_of_its_own() {
        unsafe extern "C" fn wrapper() {}
        unsafe extern "C" fn second_wrapper() -> u8 {
            2
        }
        let pointer = |function: *const ()| function.cast_mut().cast::<c_void>();
        let wrappers = [wrapper as *const (), second_wrapper as *const ()].map(pointer);
        let hook = Hook::new(c"malloc", wrappers[0], wrappers[1]);
        // Two functions of one library, and one of this program.
        let (first, same) = (
            pointer(libc::getpid as *const ()),
            pointer(libc::getppid as *const ()),
        );
        let other = pointer(object_of as *const ());
        assert_eq!(hook.interpose(first), wrappers[0]);
        assert_eq!(hook.interpose(other), wrappers[1]);
        assert_eq!((hook.real(), hook.second()), (first, other));
        assert_eq!(hook.interpose(same), wrappers[0]);
        assert_eq!((hook.real(), hook.second()), (same, other));
        for wrapper in wrappers {
            assert_eq!(hook.interpose(wrapper), wrapper);
        }
        assert_eq!((hook.real(), hook.second()), (same, other));
        // A hook without a second wrapper.
        let hook = Hook::new(c"malloc", wrappers[0], std::ptr::null());
        assert_eq!(hook.interpose(first), wrappers[0]);
        assert_eq!(hook.interpose(other), other);
    }
}
