//! NVTX as C programs use it. The functions in NVTX's headers are compiled into the program; they load the tool
//! named by `NVTX_INJECTION64_PATH` and pass it tables of function pointers to fill in. Without a tool they do
//! nothing, and return the same values as in NVTX.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicPtr, Ordering};

type Slot = AtomicPtr<c_void>;

const CORE: c_int = 1;
const CORE2: c_int = 5;
const SLOTS: usize = 16;

static CORE_SLOTS: [Slot; SLOTS] = [const { Slot::new(null_mut()) }; SLOTS];
static CORE2_SLOTS: [Slot; SLOTS] = [const { Slot::new(null_mut()) }; SLOTS];

/// `NvtxExportTableCallbacks`.
#[repr(C)]
struct Callbacks {
    bytes: usize,
    table: extern "C" fn(c_int, *mut *mut *const Slot, *mut c_uint) -> c_int,
}

extern "C" fn export_table(id: c_uint) -> *const c_void {
    static CALLBACKS: Callbacks = Callbacks {
        bytes: size_of::<Callbacks>(),
        table: module_table,
    };
    match id {
        1 => (&raw const CALLBACKS).cast(),
        _ => null(),
    }
}

extern "C" fn module_table(
    module: c_int,
    table: *mut *mut *const Slot,
    size: *mut c_uint,
) -> c_int {
    let slots = match module {
        CORE => &CORE_SLOTS,
        CORE2 => &CORE2_SLOTS,
        _ => return 0,
    };
    // Slot 0 does not exist.
    let mut pointers = slots.each_ref().map(std::ptr::from_ref);
    pointers[0] = null();
    // SAFETY: the tool's out-pointers. The table is never freed.
    unsafe {
        *table = Box::leak(Box::new(pointers)).as_mut_ptr();
        *size = SLOTS as c_uint;
    }
    1
}

/// `nvtxEventAttributes_v2`.
#[repr(C)]
struct Attributes {
    version: u16,
    size: u16,
    category: u32,
    colour_kind: i32,
    colour: u32,
    payload_kind: i32,
    reserved: i32,
    payload: u64,
    message_kind: i32,
    message: *const c_void,
}

/// The text of an event with attributes.
pub enum Message<'a> {
    /// ASCII.
    Ascii(&'a CStr),
    /// Wide characters.
    Wide(&'a str),
    /// A registered string.
    Registered(RegisteredText),
}

impl Message<'_> {
    /// Calls a function with a pointer to attributes with this text.
    fn with_attributes<T>(&self, call: impl FnOnce(*const Attributes) -> T) -> T {
        let wide_text;
        let (message_kind, message) = match *self {
            Self::Ascii(text) => (1, text.as_ptr().cast()),
            Self::Wide(text) => {
                wide_text = wide(text);
                (2, wide_text.as_ptr().cast())
            }
            Self::Registered(text) => (3, text.0.cast_const()),
        };
        let attributes = Attributes {
            version: 2,
            size: size_of::<Attributes>() as u16,
            category: 7,
            colour_kind: 1,
            colour: 0xff00_ff00,
            payload_kind: 0,
            reserved: 0,
            payload: 0,
            message_kind,
            message,
        };
        call(&raw const attributes)
    }
}

/// Handle of a domain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Domain(*mut c_void);

/// Handle of a registered string.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RegisteredText(*mut c_void);

/// Calls the function in a slot, if the tool put one there.
macro_rules! call {
    ($slots:ident[$id:literal]($($argument:expr => $type:ty),*) $(-> $answer:ty)?, else $otherwise:expr) => {{
        let function = $slots[$id].load(Ordering::Relaxed);
        if function.is_null() {
            $otherwise
        } else {
            // SAFETY: NVTX's function of this number has this signature.
            let function = unsafe {
                std::mem::transmute::<*mut c_void, extern "C" fn($($type),*) $(-> $answer)?>(function)
            };
            function($($argument),*)
        }
    }};
}

/// Access to NVTX.
pub struct Nvtx {
    /// Whether there is a tool.
    pub has_tool: bool,
}

impl Nvtx {
    /// Loads the tool, if the environment names one, as the headers do at the first call.
    ///
    /// # Panics
    /// If the tool cannot be loaded or refuses.
    #[must_use]
    pub fn attach() -> Self {
        let Ok(path) = std::env::var("NVTX_INJECTION64_PATH") else {
            return Self { has_tool: false };
        };
        let path = CString::new(path).expect("a path");
        // SAFETY: C strings, and a function of that signature.
        unsafe {
            let tool = libc::dlopen(path.as_ptr(), libc::RTLD_LAZY);
            assert!(!tool.is_null(), "{path:?} cannot be loaded");
            let start = libc::dlsym(tool, c"InitializeInjectionNvtx2".as_ptr());
            assert!(!start.is_null(), "{path:?} is not a tool");
            let start: extern "C" fn(extern "C" fn(c_uint) -> *const c_void) -> c_int =
                std::mem::transmute(start);
            assert_eq!(start(export_table), 1);
        }
        Self { has_tool: true }
    }

    /// Begins a nested range. Returns the number of ranges around it.
    pub fn push(&self, name: &str) -> c_int {
        let name = c_string(name);
        call!(CORE_SLOTS[9](name.as_ptr() => *const c_char) -> c_int, else -2)
    }

    /// [`push`](Self::push) with a text of wide characters.
    pub fn push_wide(&self, name: &str) -> c_int {
        let name = wide(name);
        call!(CORE_SLOTS[10](name.as_ptr() => *const u32) -> c_int, else -2)
    }

    /// [`push`](Self::push) with attributes.
    pub fn push_event(&self, message: &Message<'_>) -> c_int {
        message.with_attributes(Self::push_attributes)
    }

    /// [`push`](Self::push) without attributes.
    pub fn push_null(&self) -> c_int {
        Self::push_attributes(null())
    }

    fn push_attributes(attributes: *const Attributes) -> c_int {
        call!(CORE_SLOTS[8](attributes => *const Attributes) -> c_int, else -2)
    }

    /// Ends the innermost range. Returns the number of ranges around it.
    pub fn pop(&self) -> c_int {
        call!(CORE_SLOTS[11]() -> c_int, else -2)
    }

    /// Begins a range that may end on another thread.
    pub fn start(&self, name: &str) -> u64 {
        let name = c_string(name);
        call!(CORE_SLOTS[5](name.as_ptr() => *const c_char) -> u64, else 0)
    }

    /// Ends a started range.
    pub fn end(&self, range: u64) {
        call!(CORE_SLOTS[7](range => u64), else ());
    }

    /// Marks a point in time; `None` passes no text.
    pub fn mark(&self, name: Option<&CStr>) {
        let name = name.map_or(null(), CStr::as_ptr);
        call!(CORE_SLOTS[2](name => *const c_char), else ());
    }

    /// Marks a point in time with attributes.
    pub fn mark_event(&self, message: &Message<'_>) {
        message.with_attributes(|event| call!(CORE_SLOTS[1](event => *const Attributes), else ()));
    }

    /// The domain of this name.
    pub fn domain(&self, name: &str) -> Domain {
        let name = c_string(name);
        Domain(
            call!(CORE2_SLOTS[12](name.as_ptr() => *const c_char) -> *mut c_void, else null_mut()),
        )
    }

    /// [`domain`](Self::domain) by a name of wide characters.
    pub fn domain_wide(&self, name: &str) -> Domain {
        let name = wide(name);
        Domain(call!(CORE2_SLOTS[13](name.as_ptr() => *const u32) -> *mut c_void, else null_mut()))
    }

    /// Registers a string in a domain.
    pub fn register(&self, domain: Domain, text: &str) -> RegisteredText {
        let text = c_string(text);
        RegisteredText(call!(
            CORE2_SLOTS[10](domain.0 => *mut c_void, text.as_ptr() => *const c_char) -> *mut c_void,
            else null_mut()
        ))
    }

    /// Begins a range nested in those of a domain. Returns the number of ranges around it.
    pub fn push_in(&self, domain: Domain, message: &Message<'_>) -> c_int {
        message.with_attributes(|event| {
            call!(CORE2_SLOTS[4](domain.0 => *mut c_void, event => *const Attributes) -> c_int, else -2)
        })
    }

    /// Ends the innermost range of a domain. Returns the number of ranges around it.
    pub fn pop_in(&self, domain: Domain) -> c_int {
        call!(CORE2_SLOTS[5](domain.0 => *mut c_void) -> c_int, else -2)
    }

    /// Names the calling thread.
    pub fn name_this_thread(&self, name: &str) {
        // SAFETY: takes no arguments.
        let thread = unsafe { libc::gettid() } as u32;
        let name = c_string(name);
        call!(CORE_SLOTS[14](thread => u32, name.as_ptr() => *const c_char), else ());
    }
}

fn c_string(text: &str) -> CString {
    CString::new(text).expect("a text without zeros")
}

/// Converts a text to Linux's `wchar_t`.
fn wide(text: &str) -> Vec<u32> {
    text.chars().map(u32::from).chain([0]).collect()
}
