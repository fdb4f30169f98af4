//! Driver functions that this library calls itself, without hooks.

use std::cell::Cell;
use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use vramscope_record::layout::SUCCESS;

use crate::dlsym::{object_of, real_dlsym};

thread_local! {
    /// Whether the program calls the driver on this thread.
    static IS_USED: Cell<bool> = const { Cell::new(false) };
}

/// Whether the program calls the driver on any thread.
static WAS_CALLED: AtomicBool = AtomicBool::new(false);
/// Whether this library keeps the driver loaded.
static IS_KEPT: AtomicBool = AtomicBool::new(false);

/// Remembers that the program calls the driver on this thread, so that this library may do so too.
///
/// The driver also runs the program's host functions on threads of its own. It must not be called there: it may wait
/// for a lock whose holder waits for the host function.
#[inline]
pub(crate) fn set_used_here() {
    if !IS_USED.get() {
        IS_USED.set(true);
        WAS_CALLED.store(true, Ordering::Relaxed);
    }
}

/// Keeps the driver loaded from now on, for calls made while the program is in none. Returns whether it is loaded.
#[inline]
pub(crate) fn keep() -> bool {
    IS_KEPT.load(Ordering::Relaxed) || keep_now()
}

#[cold]
fn keep_now() -> bool {
    // This handle is never closed.
    let is_loaded = open().is_some();
    IS_KEPT.store(is_loaded, Ordering::Relaxed);
    is_loaded
}

/// Whether the driver is loaded, but the program called none of the hooked functions.
pub(crate) fn is_unused() -> bool {
    !WAS_CALLED.load(Ordering::Relaxed) && open().is_some()
}

/// A driver function, looked up once by name.
pub(crate) struct Function {
    name: &'static CStr,
    /// Null until it was looked up.
    address: AtomicPtr<c_void>,
}

/// Stands for a function that the loaded driver does not have.
const MISSING: *mut c_void = std::ptr::without_provenance_mut(1);

impl Function {
    pub(crate) const fn new(name: &'static CStr) -> Self {
        Self {
            name,
            address: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    /// The address; `None` if the driver is not loaded or does not have the function.
    #[inline]
    pub(crate) fn find(&self) -> Option<*mut c_void> {
        let mut found = self.address.load(Ordering::Relaxed);
        if found.is_null() {
            found = self.find_now();
        }
        (!found.is_null() && found != MISSING).then_some(found)
    }

    #[cold]
    fn find_now(&self) -> *mut c_void {
        let Some(driver) = open() else {
            return std::ptr::null_mut();
        };
        let found = self.found_in(driver);
        self.address.store(found, Ordering::Relaxed);
        found
    }

    /// The address in a driver, or [`MISSING`].
    fn found_in(&self, driver: *mut c_void) -> *mut c_void {
        // SAFETY: the handle of a loaded library, and a C string.
        let found = unsafe { real_dlsym(driver, self.name.as_ptr()) };
        if found.is_null() { MISSING } else { found }
    }
}

fn open() -> Option<*mut c_void> {
    // SAFETY: a C string; `RTLD_NOLOAD` loads nothing.
    let driver = unsafe {
        libc::dlopen(
            c"libcuda.so.1".as_ptr(),
            libc::RTLD_LAZY | libc::RTLD_NOLOAD,
        )
    };
    (!driver.is_null()).then_some(driver)
}

/// Declares the functions that [`function`] finds.
macro_rules! functions {
    ($($name:ident)*) => {
        pub(crate) mod functions {
            use super::Function;

            $(
                #[expect(non_upper_case_globals, reason = "the driver's own names")]
                pub(crate) static $name: Function = Function::new(
                    match std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                        Ok(name) => name,
                        Err(_) => c"",
                    },
                );
            )*

            pub(super) static ALL: &[&Function] = &[$( &$name ),*];
        }
    };
}

functions! {
    cuCtxGetDevice
    cuCtxGetCurrent
    cuDeviceGetDefaultMemPool
    cuDeviceGetGraphMemAttribute
    cuDeviceGetName
    cuDeviceGetUuid
    cuDeviceGetUuid_v2
    cuDevicePrimaryCtxGetState
    cuDeviceTotalMem_v2
    cuDriverGetVersion
    cuLaunchHostFunc
    cuMemGetInfo_v2
    cuMemPoolGetAttribute
    cuPointerGetAttributes
    cuStreamGetCaptureInfo_v2
    cuStreamIsCapturing
    cuThreadExchangeStreamCaptureMode
}

/// Start address of the driver whose functions were looked up; 0 if unknown.
static START: AtomicUsize = AtomicUsize::new(0);

/// Start address of the library that contains a function; it may be the driver's `own` function of that name. 0 if
/// unknown.
pub(crate) fn library_of(found: *mut c_void, own: &Function) -> usize {
    match START.load(Ordering::Relaxed) {
        start if start != 0 && own.address.load(Ordering::Relaxed) == found => start,
        _ => object_of(found).unwrap_or(0),
    }
}

/// Looks up all functions and `more`, if the driver is loaded. Called on the thread that loads it, before other threads
/// need them: each lookup takes a lock of the dynamic linker, which is held while constructors of libraries run, and a
/// constructor may wait for a thread that calls the driver.
pub(crate) fn look_up(more: impl Iterator<Item = &'static Function>) {
    if IS_KEPT.load(Ordering::Relaxed) && START.load(Ordering::Relaxed) != 0 {
        return;
    }
    let Some(driver) = open() else { return };
    let first = &functions::cuCtxGetDevice;
    let found = first.found_in(driver);
    // Until it is kept loaded, the driver may be closed and another one loaded.
    if first.address.load(Ordering::Relaxed) != found || START.load(Ordering::Relaxed) == 0 {
        for function in functions::ALL.iter().copied().chain(more) {
            function
                .address
                .store(function.found_in(driver), Ordering::Relaxed);
        }
        START.store(object_of(found).unwrap_or(0), Ordering::Relaxed);
    }
    // SAFETY: opened above. The program may close it for good.
    unsafe { libc::dlclose(driver) };
}

/// A driver function with its type, one of [`functions`]; `None` if the driver does not have it.
macro_rules! function {
    ($name:ident: fn($($argument:ty),*) -> $result:ty) => {
        $crate::driver::functions::$name.find().map(|found| {
            // SAFETY: the driver's function of this name, which has this type.
            unsafe {
                std::mem::transmute::<*mut std::ffi::c_void, unsafe extern "C" fn($($argument),*) -> $result>(found)
            }
        })
    };
}

pub(crate) use function;

/// Like [`current_device`], for when the program may not be calling the driver.
pub(crate) fn current_device_between_calls() -> Option<i16> {
    (IS_USED.get() && keep()).then(current_device).flatten()
}

/// The device of the calling thread's current context. `None` on threads where the program does not call the driver.
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
