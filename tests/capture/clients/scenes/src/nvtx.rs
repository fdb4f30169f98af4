//! NVTX as C programs use it. The functions in NVTX's headers are compiled into the program; they load the tool
//! named by `NVTX_INJECTION64_PATH` and pass it tables of function pointers to fill in.

use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::gpu::Gpu;

type Slot = AtomicPtr<c_void>;

const CORE: c_int = 1;
const CORE2: c_int = 5;
const SLOTS: usize = 16;

static CORE_SLOTS: [Slot; SLOTS] = [const { Slot::new(null_mut()) }; SLOTS];
static CORE2_SLOTS: [Slot; SLOTS] = [const { Slot::new(null_mut()) }; SLOTS];

/// `nvtxEventAttributes_v2` with an ASCII text.
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
        _ => std::ptr::null(),
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
    let pointers: Vec<*const Slot> = slots.iter().map(std::ptr::from_ref).collect();
    // SAFETY: the tool's out-pointers. The table is never freed.
    unsafe {
        *table = pointers.leak().as_mut_ptr();
        *size = SLOTS as c_uint;
    }
    1
}

/// Does the same as the headers at the first call. Returns false without a tool.
fn initialise() -> bool {
    let Ok(path) = std::env::var("NVTX_INJECTION64_PATH") else {
        return false;
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
        assert_ne!(start(export_table), 0);
    }
    true
}

macro_rules! nvtx {
    ($slots:ident[$id:literal] as fn($($type:ty),*) $(-> $answer:ty)?; $($argument:expr),*) => {{
        let function = $slots[$id].load(Ordering::Relaxed);
        assert!(!function.is_null(), "the tool has no {} {}", stringify!($slots), $id);
        // SAFETY: NVTX's function of this number has this signature.
        let function = unsafe { std::mem::transmute::<*mut c_void, extern "C" fn($($type),*) $(-> $answer)?>(function) };
        function($($argument),*)
    }};
}

/// Ranges and marks of every kind, around allocations.
pub(crate) fn ranges(gpu: &Gpu) {
    if !initialise() {
        println!("nvtx: no tool");
        return;
    }
    let wide: Vec<i32> = "wide ü\0"
        .chars()
        .map(|character| character as i32)
        .collect();
    let text = c"by attributes";
    let attributes = Attributes {
        version: 2,
        size: size_of::<Attributes>() as u16,
        category: 7,
        colour_kind: 1,
        colour: 0xff00_ff00,
        payload_kind: 0,
        reserved: 0,
        payload: 0,
        message_kind: 1,
        message: text.as_ptr().cast(),
    };
    let attributes = &raw const attributes;
    assert_eq!(
        nvtx!(CORE_SLOTS[9] as fn(*const c_char) -> c_int; c"outer".as_ptr()),
        0
    );
    assert_eq!(
        nvtx!(CORE_SLOTS[10] as fn(*const i32) -> c_int; wide.as_ptr()),
        1
    );
    let first = gpu.alloc(1 << 20);
    assert_eq!(
        nvtx!(CORE_SLOTS[8] as fn(*const Attributes) -> c_int; attributes),
        2
    );
    gpu.free(first);
    assert_eq!(nvtx!(CORE_SLOTS[11] as fn() -> c_int;), 2);
    nvtx!(CORE_SLOTS[2] as fn(*const c_char); c"a mark".as_ptr());
    let started = nvtx!(CORE_SLOTS[5] as fn(*const c_char) -> u64; c"started".as_ptr());
    assert_ne!(started, 0);

    let domain = nvtx!(CORE2_SLOTS[12] as fn(*const c_char) -> *mut c_void; c"a library".as_ptr());
    assert_eq!(
        nvtx!(CORE2_SLOTS[4] as fn(*mut c_void, *const Attributes) -> c_int; domain, attributes),
        0
    );
    gpu.alloc(1000);
    assert_eq!(nvtx!(CORE2_SLOTS[5] as fn(*mut c_void) -> c_int; domain), 0);

    std::thread::scope(|scope| {
        scope.spawn(|| nvtx!(CORE_SLOTS[7] as fn(u64); started));
    });
    assert_eq!(nvtx!(CORE_SLOTS[11] as fn() -> c_int;), 1);
    assert_eq!(nvtx!(CORE_SLOTS[11] as fn() -> c_int;), 0);
    assert!(nvtx!(CORE_SLOTS[11] as fn() -> c_int;) < 0);
    println!("nvtx: done");
}
