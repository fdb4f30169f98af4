//! The functions of the injected library. They exist only in captured programs.
#![expect(unsafe_code, reason = "calls what it finds by name")]

use std::ffi::{c_char, c_void};
use std::fmt::Display;
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Declares the functions, and how to find them.
macro_rules! functions {
    ($( $name:ident: fn($($argument:ty),*) $(-> $result:ty)?; )*) => {
        /// Functions exported by the injected library, whose `api.rs` describes them.
        pub(crate) struct Functions {
            $( $name: unsafe extern "C" fn($($argument),*) $(-> $result)?, )*
        }

        impl Functions {
            /// Looks up all functions. `None` unless all of them exist.
            fn find() -> Option<Self> {
                Some(Self {
                    $( $name: {
                        let address = find(concat!("vramscope_", stringify!($name), "\0"))?;
                        // SAFETY: the function of this name has this type in all versions of the injected library.
                        unsafe {
                            std::mem::transmute::<
                                NonNull<c_void>,
                                unsafe extern "C" fn($($argument),*) $(-> $result)?,
                            >(address)
                        }
                    }, )*
                })
            }
        }
    };
}

functions! {
    is_recording: fn() -> i32;
    start: fn();
    stop: fn();
    dump: fn(*const c_char, usize) -> i32;
    domain: fn(*const c_char, usize) -> u32;
    range_push: fn(u32, *const c_char, usize) -> i32;
    range_pop: fn(u32) -> i32;
    range_start: fn(u32, *const c_char, usize) -> u64;
    range_end: fn(u64);
    mark: fn(u32, *const c_char, usize);
    stream_range_start: fn(u32, *const c_char, usize, *mut c_void) -> u64;
    stream_range_end: fn(u64, *mut c_void);
    suballoc: fn(u64, usize, *mut c_void);
    subfree: fn(u64, *mut c_void);
    annotate: fn(u64, *const c_char, usize);
}

/// The functions; `None` in programs that are not captured, at the cost of one load.
#[inline]
pub(crate) fn capture() -> Option<&'static Functions> {
    static IS_ABSENT: AtomicBool = AtomicBool::new(false);
    static FUNCTIONS: OnceLock<Option<Functions>> = OnceLock::new();
    if IS_ABSENT.load(Ordering::Relaxed) {
        return None;
    }
    let found = FUNCTIONS.get_or_init(Functions::find).as_ref();
    if found.is_none() {
        IS_ABSENT.store(true, Ordering::Relaxed);
    }
    found
}

/// Finds a function exported by some library of this process. `name` ends with a zero.
#[cfg(target_os = "linux")]
fn find(name: &'static str) -> Option<NonNull<c_void>> {
    // SAFETY: a C string.
    NonNull::new(unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr().cast()) })
}

/// Programs are captured only on Linux.
#[cfg(not(target_os = "linux"))]
fn find(_name: &'static str) -> Option<NonNull<c_void>> {
    None
}

/// Formats a name and passes it to a function.
fn with_text<T>(name: impl Display, pass: impl FnOnce(*const c_char, usize) -> T) -> T {
    let name = name.to_string();
    pass(name.as_ptr().cast(), name.len())
}

impl Functions {
    pub(crate) fn is_recording(&self) -> bool {
        // SAFETY: takes nothing.
        unsafe { (self.is_recording)() != 0 }
    }

    pub(crate) fn start(&self) {
        // SAFETY: takes nothing.
        unsafe { (self.start)() }
    }

    pub(crate) fn stop(&self) {
        // SAFETY: takes nothing.
        unsafe { (self.stop)() }
    }

    pub(crate) fn dump(&self, path: &[u8]) -> bool {
        // SAFETY: valid bytes and their length.
        unsafe { (self.dump)(path.as_ptr().cast(), path.len()) != 0 }
    }

    pub(crate) fn domain(&self, name: &str) -> u32 {
        // SAFETY: a text and its length.
        unsafe { (self.domain)(name.as_ptr().cast(), name.len()) }
    }

    pub(crate) fn range_push(&self, domain: u32, name: impl Display) -> i32 {
        // SAFETY: a text and its length.
        with_text(name, |text, length| unsafe {
            (self.range_push)(domain, text, length)
        })
    }

    pub(crate) fn range_pop(&self, domain: u32) -> i32 {
        // SAFETY: any number will do.
        unsafe { (self.range_pop)(domain) }
    }

    pub(crate) fn range_start(&self, domain: u32, name: impl Display) -> u64 {
        // SAFETY: a text and its length.
        with_text(name, |text, length| unsafe {
            (self.range_start)(domain, text, length)
        })
    }

    pub(crate) fn range_end(&self, range: u64) {
        // SAFETY: any number will do.
        unsafe { (self.range_end)(range) }
    }

    pub(crate) fn mark(&self, domain: u32, name: impl Display) {
        // SAFETY: a text and its length.
        with_text(name, |text, length| unsafe {
            (self.mark)(domain, text, length)
        });
    }

    /// # Safety
    /// `stream` must be a living stream of CUDA.
    pub(crate) unsafe fn stream_range_start(
        &self,
        domain: u32,
        name: impl Display,
        stream: *mut c_void,
    ) -> u64 {
        // SAFETY: a text and its length, and what the caller promises.
        with_text(name, |text, length| unsafe {
            (self.stream_range_start)(domain, text, length, stream)
        })
    }

    /// # Safety
    /// `stream` must be a living stream of CUDA.
    pub(crate) unsafe fn stream_range_end(&self, range: u64, stream: *mut c_void) {
        // SAFETY: as the caller promises.
        unsafe { (self.stream_range_end)(range, stream) }
    }

    pub(crate) fn suballoc(&self, address: u64, bytes: usize, stream: *mut c_void) {
        // SAFETY: the numbers are only recorded.
        unsafe { (self.suballoc)(address, bytes, stream) }
    }

    pub(crate) fn subfree(&self, address: u64, stream: *mut c_void) {
        // SAFETY: the numbers are only recorded.
        unsafe { (self.subfree)(address, stream) }
    }

    pub(crate) fn annotate(&self, address: u64, name: impl Display) {
        // SAFETY: a number, a text and its length.
        with_text(name, |text, length| unsafe {
            (self.annotate)(address, text, length)
        });
    }
}
