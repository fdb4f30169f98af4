//! The function slots of NVTX 3, as laid out by its headers.

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
    /// Takes the module and two places for its table and the table's length. Returns 0 if the module does not exist.
    table_of_module: Option<unsafe extern "C" fn(c_int, *mut Table, *mut c_uint) -> c_int>,
}

/// Pointers to slots, by function number.
type Table = *mut *mut *const c_void;

/// `NVTX_CB_MODULE_CORE`, the functions without domains.
const CORE: c_int = 1;
/// `NVTX_CB_MODULE_CUDA`, names of the driver's objects.
const CUDA: c_int = 2;
/// `NVTX_CB_MODULE_CUDART`, names of the runtime library's objects.
const CUDART: c_int = 4;
/// `NVTX_CB_MODULE_CORE2`, the functions with domains.
const CORE2: c_int = 5;

/// Pairs function numbers with addresses, whatever the functions' types. These functions record; the exports may
/// forward a call instead.
macro_rules! functions {
    ($( $number:literal $name:ident )*) => { [$( ($number, super::$name as *const c_void) ),*] };
}

/// Fills the slots with this library's functions. Returns whether there were any slots.
///
/// # Safety
/// `table_of` must be the function that NVTX passes to tools.
pub(super) unsafe fn fill(table_of: GetExportTable) -> bool {
    // SAFETY: as the caller promises.
    let callbacks: *const Callbacks = unsafe { table_of(CALLBACKS) }.cast();
    if callbacks.is_null() {
        return false;
    }
    // SAFETY: not null and owned by NVTX; the struct begins with its size.
    let is_whole = unsafe { (*callbacks).struct_size } >= size_of::<Callbacks>();
    // SAFETY: the struct is long enough.
    let Some(table_of_module) =
        (unsafe { is_whole.then(|| (*callbacks).table_of_module).flatten() })
    else {
        return false;
    };
    let core = functions! {
        1 nvtxMarkEx 2 nvtxMarkA 3 nvtxMarkW
        4 nvtxRangeStartEx 5 nvtxRangeStartA 6 nvtxRangeStartW 7 nvtxRangeEnd
        8 nvtxRangePushEx 9 nvtxRangePushA 10 nvtxRangePushW 11 nvtxRangePop
        12 nvtxNameCategoryA 13 nvtxNameCategoryW
        14 nvtxNameOsThreadA 15 nvtxNameOsThreadW
    };
    let cuda = functions! {
        1 nvtxNameCuDeviceA 2 nvtxNameCuDeviceW 3 nvtxNameCuContextA 4 nvtxNameCuContextW
        5 nvtxNameCuStreamA 6 nvtxNameCuStreamW
    };
    let cudart = functions! {
        1 nvtxNameCudaDeviceA 2 nvtxNameCudaDeviceW 3 nvtxNameCudaStreamA 4 nvtxNameCudaStreamW
    };
    let core2 = functions! {
        1 nvtxDomainMarkEx 2 nvtxDomainRangeStartEx 3 nvtxDomainRangeEnd
        4 nvtxDomainRangePushEx 5 nvtxDomainRangePop
        8 nvtxDomainNameCategoryA 9 nvtxDomainNameCategoryW
        10 nvtxDomainRegisterStringA 11 nvtxDomainRegisterStringW
        12 nvtxDomainCreateA 13 nvtxDomainCreateW
    };
    let mut has_slots = false;
    let modules = [
        (CORE, &core[..]),
        (CUDA, &cuda[..]),
        (CUDART, &cudart[..]),
        (CORE2, &core2[..]),
    ];
    for (module, functions) in modules {
        let (mut table, mut length): (Table, c_uint) = (null_mut(), 0);
        // SAFETY: a function of NVTX; the out-pointers are valid.
        let is_known = unsafe { table_of_module(module, &raw mut table, &raw mut length) };
        if is_known == 0 || table.is_null() {
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
                    has_slots = true;
                }
            }
        }
    }
    has_slots
}
