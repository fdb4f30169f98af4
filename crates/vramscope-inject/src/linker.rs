//! The dynamic linker: `dlsym`, so that programs which look the driver up by name find the hooks.
//!
//! The real `dlsym` looks at its return address: what `RTLD_NEXT` and `RTLD_DEFAULT` mean depends on who asks. So
//! [`dlsym`] here asks [`pick`] whether there is a hook, and else jumps to the real one as if it had never been there.
//! `dlvsym` stays the linker's own, for it is how the real `dlsym` is found; the driver's functions have no versions.

use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use crate::hooks;

/// One of the driver's functions, and what stands before it.
pub(crate) struct Hook {
    /// Its name in the driver.
    pub(crate) name: &'static CStr,
    /// The function that callers are given.
    pub(crate) wrapper: *const c_void,
    /// The real one; null until it was looked up.
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

    /// Puts the wrapper before `real`, and returns what the caller is to be given: `real` itself if the wrapper stands
    /// before another library's already. Of two such libraries one calls the other, which must not lead to it again.
    pub(crate) fn stand_before(&self, real: *mut c_void) -> *mut c_void {
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
                    // Another way into the same library, or the former one was unloaded.
                    _ => self.real.store(real, Ordering::Release),
                },
            }
            IS_SEEN.store(true, Ordering::Relaxed);
        }
        self.wrapper.cast_mut()
    }

    /// The real function; null if there is none.
    #[inline]
    pub(crate) fn real(&self) -> *mut c_void {
        let real = self.real.load(Ordering::Acquire);
        if real.is_null() { self.find() } else { real }
    }

    /// For programs that are linked with the driver, so that the dynamic linker led them here.
    #[cold]
    fn find(&self) -> *mut c_void {
        let mut real = self.behind(libc::RTLD_NEXT);
        for library in [c"libcuda.so.1", c"libcuda.so"] {
            if real.is_null() {
                // SAFETY: a text; nothing is loaded.
                let library =
                    unsafe { libc::dlopen(library.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
                if !library.is_null() {
                    real = self.behind(library);
                }
            }
        }
        self.stand_before(real);
        real
    }

    /// The function of this name as `library` has it, unless that is the wrapper.
    fn behind(&self, library: *mut c_void) -> *mut c_void {
        // SAFETY: a handle of a library, or a special one, and a text.
        let real = unsafe { real_dlsym(library, self.name.as_ptr()) };
        if real.cast_const() == self.wrapper {
            return std::ptr::null_mut();
        }
        real
    }
}

/// Where the library begins that an address is in; `None` if it is in none.
fn object_of(address: *const c_void) -> Option<usize> {
    // SAFETY: plain data, which `dladdr` fills in.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: an address, which is only looked up, and a place for the answer.
    (unsafe { libc::dladdr(address, &raw mut info) } != 0).then(|| info.dli_fbase.addr())
}

/// Whether any of the driver's functions was looked up here.
static IS_SEEN: AtomicBool = AtomicBool::new(false);

/// Whether the driver is loaded although nobody looked any of its functions up here.
pub(crate) fn is_bypassed() -> bool {
    if IS_SEEN.load(Ordering::Relaxed) {
        return false;
    }
    // SAFETY: a text; nothing is loaded.
    let driver = unsafe {
        libc::dlopen(
            c"libcuda.so.1".as_ptr(),
            libc::RTLD_LAZY | libc::RTLD_NOLOAD,
        )
    };
    !driver.is_null()
}

type Dlsym = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;

static REAL_DLSYM: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

/// The linker's own `dlsym`.
///
/// # Safety
/// As `dlsym`.
unsafe fn real_dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void {
    find_dlsym();
    // SAFETY: `find_dlsym` found the function of this type, or did not return.
    unsafe {
        let real = std::mem::transmute::<*mut c_void, Dlsym>(REAL_DLSYM.load(Ordering::Acquire));
        real(library, name)
    }
}

#[inline]
fn find_dlsym() {
    if !REAL_DLSYM.load(Ordering::Acquire).is_null() {
        return;
    }
    // The versions of glibc 2.34 and later, of older ones on aarch64, and on x86-64.
    for version in [c"GLIBC_2.34", c"GLIBC_2.17", c"GLIBC_2.2.5"] {
        // SAFETY: texts.
        let real = unsafe { libc::dlvsym(libc::RTLD_NEXT, c"dlsym".as_ptr(), version.as_ptr()) };
        if !real.is_null() {
            REAL_DLSYM.store(real, Ordering::Release);
            return;
        }
    }
    // No program can go on without it, and there is no glibc like that.
    std::process::abort();
}

/// What `dlsym` is to return instead of what the real one would; null for nothing.
///
/// # Safety
/// As `dlsym`.
unsafe extern "C" fn pick(library: *mut c_void, name: *const c_char) -> *mut c_void {
    find_dlsym();
    let nothing = std::ptr::null_mut();
    // SAFETY: a text, of which the second byte is only read if the first does not end it.
    if name.is_null() || unsafe { *name as u8 != b'c' || *name.add(1) as u8 != b'u' } {
        return nothing;
    }
    // These search where the caller is, which only the real one can; both may find the exports of hooks.
    if library == libc::RTLD_NEXT || library == libc::RTLD_DEFAULT {
        return nothing;
    }
    // SAFETY: a text.
    let name = unsafe { CStr::from_ptr(name) };
    let Some(hook) = hooks::of_name(name) else {
        return nothing;
    };
    // SAFETY: the caller's own arguments.
    let real = unsafe { real_dlsym(library, name.as_ptr()) };
    if real.is_null() {
        return nothing;
    }
    hook.stand_before(real)
}

/// `dlsym`: the hook, or a jump to the real one with the caller's own return address.
///
/// # Safety
/// As `dlsym`.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "push rdi",
        ".cfi_adjust_cfa_offset 8",
        "push rsi",
        ".cfi_adjust_cfa_offset 8",
        "sub rsp, 8",
        ".cfi_adjust_cfa_offset 8",
        "call {pick}",
        "add rsp, 8",
        ".cfi_adjust_cfa_offset -8",
        "pop rsi",
        ".cfi_adjust_cfa_offset -8",
        "pop rdi",
        ".cfi_adjust_cfa_offset -8",
        "test rax, rax",
        "jne 2f",
        "mov rax, [rip + {real}]",
        "jmp rax",
        "2: ret",
        ".cfi_endproc",
        pick = sym pick,
        real = sym REAL_DLSYM,
    )
}

/// `dlsym`: the hook, or a jump to the real one with the caller's own return address.
///
/// # Safety
/// As `dlsym`.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void {
    core::arch::naked_asm!(
        ".cfi_startproc",
        // A place to jump to, where branches are checked (a no-op elsewhere).
        "hint #34",
        "stp x29, x30, [sp, #-32]!",
        ".cfi_adjust_cfa_offset 32",
        ".cfi_offset x29, -32",
        ".cfi_offset x30, -24",
        "stp x0, x1, [sp, #16]",
        "bl {pick}",
        "mov x9, x0",
        "ldp x0, x1, [sp, #16]",
        "ldp x29, x30, [sp], #32",
        ".cfi_adjust_cfa_offset -32",
        ".cfi_restore x29",
        ".cfi_restore x30",
        "cbz x9, 2f",
        "mov x0, x9",
        "ret",
        "2:",
        "adrp x9, {real}",
        "ldr x9, [x9, :lo12:{real}]",
        // By x16, from which jumps to the beginnings of functions are allowed.
        "mov x16, x9",
        "br x16",
        ".cfi_endproc",
        pick = sym pick,
        real = sym REAL_DLSYM,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_library_of_the_same_functions_is_given_its_own() {
        unsafe extern "C" fn wrapper() {}
        let hook = Hook::new(c"malloc", wrapper as *const c_void);
        let wrapper = hook.wrapper.cast_mut();
        // Two functions of one library, and one of this program's.
        let (first, same) = (
            libc::getpid as *const () as *mut c_void,
            libc::getppid as *const () as *mut c_void,
        );
        let other = object_of as *const () as *mut c_void;
        assert_eq!(hook.stand_before(first), wrapper);
        assert_eq!(hook.stand_before(other), other);
        assert_eq!(hook.real(), first);
        assert_eq!(hook.stand_before(same), wrapper);
        assert_eq!(hook.real(), same);
        assert_eq!(hook.stand_before(wrapper), wrapper);
        assert_eq!(hook.real(), same);
    }
}
