//! The slots that NVTX 3 calls through, as its headers lay them out.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr::null_mut;

/// `NvtxGetExportTableFunc_t`.
pub(crate) type GetExportTable = unsafe extern "C" fn(u32) -> *const c_void;

/// `NVTX_ETID_CALLBACKS`.
const CALLBACKS: u32 = 1;

/// `NvtxExportTableCallbacks`.
#[repr(C)]
struct Callbacks {
    struct_size: usize,
    /// Module, where the table goes, where its length goes; returns 0 if there is no such module.
    table_of_module: Option<unsafe extern "C" fn(c_int, *mut Table, *mut c_uint) -> c_int>,
}

/// By number, where the function's address is to be put.
type Table = *mut *mut *const c_void;

/// `NVTX_CB_MODULE_CORE`, and its functions' numbers.
const CORE: c_int = 1;
/// `NVTX_CB_MODULE_CORE2`.
const CORE2: c_int = 5;

/// Names a function, whatever its arguments.
macro_rules! functions {
    ($( $number:literal $name:ident )*) => { [$( ($number, super::$name as *const c_void) ),*] };
}

/// Puts the functions into their slots. Returns whether there are any slots.
///
/// # Safety
/// `table_of` must be what NVTX passes to tools.
pub(super) unsafe fn fill(table_of: GetExportTable) -> bool {
    // SAFETY: as the caller promises.
    let callbacks: *const Callbacks = unsafe { table_of(CALLBACKS) }.cast();
    if callbacks.is_null() {
        return false;
    }
    // SAFETY: not null, and NVTX's own; it begins with its size.
    let is_whole = unsafe { (*callbacks).struct_size } >= size_of::<Callbacks>();
    // SAFETY: as long as that.
    let Some(table_of_module) =
        (unsafe { is_whole.then(|| (*callbacks).table_of_module).flatten() })
    else {
        return false;
    };
    let core = functions! {
        1 nvtxMarkEx 2 nvtxMarkA 3 nvtxMarkW
        4 nvtxRangeStartEx 5 nvtxRangeStartA 6 nvtxRangeStartW 7 nvtxRangeEnd
        8 nvtxRangePushEx 9 nvtxRangePushA 10 nvtxRangePushW 11 nvtxRangePop
        14 nvtxNameOsThreadA 15 nvtxNameOsThreadW
    };
    let core2 = functions! {
        1 nvtxDomainMarkEx 2 nvtxDomainRangeStartEx 3 nvtxDomainRangeEnd
        4 nvtxDomainRangePushEx 5 nvtxDomainRangePop
        10 nvtxDomainRegisterStringA 11 nvtxDomainRegisterStringW
        12 nvtxDomainCreateA 13 nvtxDomainCreateW
    };
    let mut is_any = false;
    for (module, functions) in [(CORE, &core[..]), (CORE2, &core2[..])] {
        let (mut table, mut length): (Table, c_uint) = (null_mut(), 0);
        // SAFETY: NVTX's own function, and places for its answers.
        let known = unsafe { table_of_module(module, &raw mut table, &raw mut length) };
        if known == 0 || table.is_null() {
            continue;
        }
        // Older headers have shorter tables.
        for &(number, function) in functions
            .iter()
            .filter(|(number, _)| *number < length as usize)
        {
            // SAFETY: within the table, whose entries are null or point to a slot.
            unsafe {
                let slot = *table.add(number);
                if !slot.is_null() {
                    *slot = function;
                    is_any = true;
                }
            }
        }
    }
    is_any
}
