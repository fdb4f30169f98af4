//! The dynamic linker's own `dlsym`, and that of the next library that interposes it.
//!
//! Other libraries interpose `dlsym` too: tools that share a GPU between containers limit each one's memory that way.
//! They must keep working under a capture. So anything that this library does not answer itself goes to the next
//! `dlsym` in the order of symbol resolution, and hooks call the functions that it returns. Queries of this library's
//! own go directly to the dynamic linker, bypassing all interposers.

use std::cell::Cell;
use std::ffi::{CStr, OsStr, c_char, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicPtr, Ordering};

type Dlsym = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;

/// The next `dlsym` after this library's; null until [`find`].
pub(crate) static NEXT: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
/// The dynamic linker's own; null until [`find`].
static REAL: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

/// Calls the dynamic linker's own `dlsym`.
///
/// # Safety
/// As for `dlsym`.
pub(crate) unsafe fn real_dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void {
    find();
    // SAFETY: `find` stored a function of this type, or did not return.
    unsafe {
        let real = std::mem::transmute::<*mut c_void, Dlsym>(REAL.load(Ordering::Acquire));
        real(library, name)
    }
}

/// Calls the next `dlsym` after this library's.
///
/// # Safety
/// As for `dlsym`.
pub(crate) unsafe fn next_dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void {
    // An interposer that calls `dlsym` by name comes back here: it is looking for the real one.
    thread_local!(static IS_ASKED: Cell<bool> = const { Cell::new(false) });
    find();
    let next = NEXT.load(Ordering::Acquire);
    if next == REAL.load(Ordering::Acquire) || IS_ASKED.get() {
        // SAFETY: as the caller promises.
        return unsafe { real_dlsym(library, name) };
    }
    IS_ASKED.set(true);
    // SAFETY: a function named `dlsym` has this type.
    let found = unsafe { std::mem::transmute::<*mut c_void, Dlsym>(next)(library, name) };
    IS_ASKED.set(false);
    found
}

/// Finds both functions, at the first call.
#[inline]
pub(crate) fn find() {
    if NEXT.load(Ordering::Acquire).is_null() {
        find_both();
    }
}

#[cold]
fn find_both() {
    // Symbol versions in glibc 2.34 and later, in older ones on aarch64, and on x86-64.
    for version in [c"GLIBC_2.34", c"GLIBC_2.17", c"GLIBC_2.2.5"] {
        // SAFETY: C strings.
        let real = unsafe { libc::dlvsym(libc::RTLD_NEXT, c"dlsym".as_ptr(), version.as_ptr()) };
        if !real.is_null() {
            REAL.store(real, Ordering::Release);
            // SAFETY: of this type; called from here, it searches after this library.
            let next = unsafe {
                std::mem::transmute::<*mut c_void, Dlsym>(real)(libc::RTLD_NEXT, c"dlsym".as_ptr())
            };
            let is_other = !next.is_null() && object_of(next) != object_of(real);
            NEXT.store(if is_other { next } else { real }, Ordering::Release);
            return;
        }
    }
    // The program cannot continue without `dlsym`. Every glibc has one of these versions.
    std::process::abort();
}

/// A remark about other libraries that interpose `dlsym`.
pub(crate) fn remark() -> Option<String> {
    find();
    // `RTLD_DEFAULT` would find this library's own first, because its calls are bound to itself (`-Bsymbolic`).
    // SAFETY: null stands for the program and all that it was started with; a C string.
    let first = unsafe {
        let all = libc::dlopen(std::ptr::null(), libc::RTLD_LAZY);
        real_dlsym(all, c"dlsym".as_ptr())
    };
    // The program's own address of `dlsym` may be a jump to this library's.
    // SAFETY: reads a number.
    let program = unsafe { libc::getauxval(libc::AT_PHDR) } as usize;
    let own = [
        std::ptr::without_provenance(program),
        remark as *const () as *const c_void,
    ];
    if !first.is_null()
        && own
            .map(object_of)
            .iter()
            .all(|&own| own != object_of(first))
    {
        return Some(format!(
            "{} interposes dlsym before the recorder does: driver functions that it returns by itself are not \
             recorded.",
            Place::of(first).path
        ));
    }
    let next = NEXT.load(Ordering::Acquire);
    (next != REAL.load(Ordering::Acquire)).then(|| {
        format!(
            "{} interposes dlsym too: its functions run as without the recorder.",
            Place::of(next).path
        )
    })
}

/// An address as a place in a loaded file.
pub(crate) struct Place {
    path: String,
    offset: usize,
}

impl Place {
    /// The place of an address.
    pub(crate) fn of(address: *const c_void) -> Self {
        let unknown = Self {
            path: String::new(),
            offset: address.addr(),
        };
        let Some(info) = info_of(address).filter(|info| !info.dli_fname.is_null()) else {
            return unknown;
        };
        // SAFETY: a C string of a loaded library.
        let path = unsafe { CStr::from_ptr(info.dli_fname) };
        Self {
            path: Path::new(OsStr::from_bytes(path.to_bytes()))
                .display()
                .to_string(),
            offset: address.addr() - info.dli_fbase.addr(),
        }
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}+{:#x}", self.path, self.offset)
    }
}

/// Start of the library that contains an address; `None` if there is none.
pub(crate) fn object_of(address: *const c_void) -> Option<usize> {
    info_of(address).map(|info| info.dli_fbase.addr())
}

/// The symbol that begins exactly at an address. If there are several, the dynamic linker chooses.
pub(crate) fn symbol_at(address: *const c_void) -> Option<&'static CStr> {
    let info = info_of(address)?;
    // SAFETY: a C string in the library of the address, which the caller is about to use.
    (!info.dli_sname.is_null() && info.dli_saddr.cast_const() == address)
        .then(|| unsafe { CStr::from_ptr(info.dli_sname) })
}

fn info_of(address: *const c_void) -> Option<libc::Dl_info> {
    // SAFETY: plain data, which `dladdr` fills in.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: `dladdr` only looks the address up; the out-pointer is valid.
    (unsafe { libc::dladdr(address, &raw mut info) } != 0).then_some(info)
}
