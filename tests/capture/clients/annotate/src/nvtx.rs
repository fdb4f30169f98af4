//! Does the same as NVTX's headers: loads the library named by `NVTX_INJECTION64_PATH`, offers its slots, and calls
//! the functions put into them. Without a library, returns the same results as NVTX.

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_uint, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::ptr::null_mut;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicPtr, Ordering};

const CORE: c_int = 1;
const CORE2: c_int = 5;
const SLOTS: usize = 16;

type Slots = [AtomicPtr<c_void>; SLOTS];

static CORE_SLOTS: Slots = [const { AtomicPtr::new(null_mut()) }; SLOTS];
static CORE2_SLOTS: Slots = [const { AtomicPtr::new(null_mut()) }; SLOTS];

/// Addresses of the slots, as the tool gets them. Slot 0 does not exist.
struct Tables([[*mut *mut c_void; SLOTS]; 2]);

// SAFETY: addresses of static atomics.
unsafe impl Send for Tables {}
// SAFETY: as above.
unsafe impl Sync for Tables {}

static TABLES: LazyLock<Tables> = LazyLock::new(|| {
    let of = |slots: &'static Slots| {
        let mut table = slots.each_ref().map(AtomicPtr::as_ptr);
        table[0] = null_mut();
        table
    };
    Tables([of(&CORE_SLOTS), of(&CORE2_SLOTS)])
});

#[repr(C)]
struct Callbacks {
    size: usize,
    table: extern "C" fn(c_int, *mut *const *mut *mut c_void, *mut c_uint) -> c_int,
}

static CALLBACKS: Callbacks = Callbacks {
    size: size_of::<Callbacks>(),
    table: table_of_module,
};

extern "C" fn table_of_module(
    module: c_int,
    table: *mut *const *mut *mut c_void,
    length: *mut c_uint,
) -> c_int {
    let found = match module {
        CORE => &TABLES.0[0],
        CORE2 => &TABLES.0[1],
        _ => return 0,
    };
    // SAFETY: the tool's out-pointers.
    unsafe {
        *table = found.as_ptr();
        *length = SLOTS as c_uint;
    }
    1
}

extern "C" fn export_table(id: u32) -> *const c_void {
    if id == 1 {
        (&raw const CALLBACKS).cast()
    } else {
        std::ptr::null()
    }
}

#[repr(C)]
struct Attributes {
    version: u16,
    size: u16,
    unused: [u32; 5],
    payload: u64,
    message_type: i32,
    message: *const c_void,
}

impl Attributes {
    fn new(message_type: i32, message: *const c_void) -> Self {
        Self {
            version: 3,
            size: 48,
            unused: [0; 5],
            payload: 0,
            message_type,
            message,
        }
    }
}

/// Access to NVTX.
pub(crate) struct Nvtx(());

/// Calls the function in a slot, if there is one.
macro_rules! call {
    ($slots:ident[$number:literal]($($argument:expr => $type:ty),*) $(-> $result:ty)?, else $otherwise:expr) => {{
        let function = $slots[$number].load(Ordering::Relaxed);
        if function.is_null() {
            $otherwise
        } else {
            // SAFETY: the tool put a function of this type there.
            unsafe {
                std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($type),*) $(-> $result)?>(function)($($argument),*)
            }
        }
    }};
}

impl Nvtx {
    pub(crate) fn attach() -> Self {
        let Some(path) = std::env::var_os("NVTX_INJECTION64_PATH") else {
            return Self(());
        };
        let path = CString::new(OsStr::as_bytes(&path)).expect("a path");
        // SAFETY: the same calls as in NVTX's headers.
        unsafe {
            let library = libc::dlopen(path.as_ptr(), libc::RTLD_LAZY);
            assert!(!library.is_null(), "the tool cannot be loaded");
            let initialize = libc::dlsym(library, c"InitializeInjectionNvtx2".as_ptr());
            assert!(!initialize.is_null(), "no tool");
            type Initialize = extern "C" fn(extern "C" fn(u32) -> *const c_void) -> c_int;
            let initialize: Initialize = std::mem::transmute(initialize);
            println!("attached {}", initialize(export_table));
        }
        Self(())
    }

    pub(crate) fn push(&self, name: &str) -> c_int {
        let name = CString::new(name).expect("no zero");
        call!(CORE_SLOTS[9](name.as_ptr() => *const c_char) -> c_int, else -2)
    }

    pub(crate) fn push_null(&self) {
        call!(CORE_SLOTS[8](std::ptr::null() => *const Attributes) -> c_int, else -2);
    }

    pub(crate) fn push_wide(&self, name: &str) -> c_int {
        let name = wide(name);
        call!(CORE_SLOTS[10](name.as_ptr() => *const u32) -> c_int, else -2)
    }

    pub(crate) fn pop(&self) -> c_int {
        call!(CORE_SLOTS[11]() -> c_int, else -2)
    }

    pub(crate) fn start(&self, name: &str) -> u64 {
        let name = CString::new(name).expect("no zero");
        call!(CORE_SLOTS[5](name.as_ptr() => *const c_char) -> u64, else 0)
    }

    pub(crate) fn end(&self, range: u64) {
        call!(CORE_SLOTS[7](range => u64), else ());
    }

    pub(crate) fn mark(&self, name: &str) {
        let name = wide(name);
        let event = Attributes::new(2, name.as_ptr().cast());
        call!(CORE_SLOTS[1](&raw const event => *const Attributes), else ());
    }

    pub(crate) fn mark_null(&self) {
        call!(CORE_SLOTS[2](std::ptr::null() => *const c_char), else ());
    }

    pub(crate) fn domain(&self, name: &str) -> *mut c_void {
        let name = CString::new(name).expect("no zero");
        call!(CORE2_SLOTS[12](name.as_ptr() => *const c_char) -> *mut c_void, else null_mut())
    }

    pub(crate) fn domain_wide(&self, name: &str) -> *mut c_void {
        let name = wide(name);
        call!(CORE2_SLOTS[13](name.as_ptr() => *const u32) -> *mut c_void, else null_mut())
    }

    pub(crate) fn register(&self, domain: *mut c_void, text: &str) -> *mut c_void {
        let text = CString::new(text).expect("no zero");
        call!(CORE2_SLOTS[10](domain => *mut c_void, text.as_ptr() => *const c_char) -> *mut c_void, else null_mut())
    }

    pub(crate) fn push_registered(&self, domain: *mut c_void, text: *mut c_void) -> c_int {
        let event = Attributes::new(3, text);
        call!(CORE2_SLOTS[4](domain => *mut c_void, &raw const event => *const Attributes) -> c_int, else -2)
    }

    pub(crate) fn pop_in(&self, domain: *mut c_void) -> c_int {
        call!(CORE2_SLOTS[5](domain => *mut c_void) -> c_int, else -2)
    }

    pub(crate) fn name_thread(&self, thread: u32, name: &str) {
        let name = CString::new(name).expect("no zero");
        let name: &CStr = &name;
        call!(CORE_SLOTS[14](thread => u32, name.as_ptr() => *const c_char), else ());
    }
}

/// Converts a text to `wchar_t` of Linux.
fn wide(text: &str) -> Vec<u32> {
    text.chars().map(u32::from).chain([0]).collect()
}

pub(crate) fn this_thread() -> u32 {
    // SAFETY: takes no arguments.
    unsafe { libc::gettid() as u32 }
}
