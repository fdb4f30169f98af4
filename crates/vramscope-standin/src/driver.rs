//! libcuda: the driver functions that torch, Triton and CUDA's own libraries call.

use std::ffi::{CStr, CString, c_char, c_void};

use crate::c::{OK, handle, put};
use crate::memory::{
    PAGE_BYTES, allocate, copy, create, device_now, device_of, free, free_and_total, release,
    reserve, set_device,
};
use crate::runtime::{attribute, occupancy};
use crate::settings::SETTINGS;

/// Memory cannot be shared with other processes, nor reached by several devices.
const NOT_SUPPORTED: i32 = 801;

unsafe extern "C" {
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// The function of this name, preferring its second version; for unknown names, one that does nothing.
pub(crate) unsafe fn find(symbol: *const c_char) -> *mut c_void {
    let name = CStr::from_ptr(symbol).to_string_lossy();
    for name in [format!("{name}_v2"), name.into_owned()] {
        let Ok(name) = CString::new(name) else {
            continue;
        };
        // looked up in everything the process has loaded, this library first.
        let found = dlsym(std::ptr::null_mut(), name.as_ptr());
        if !found.is_null() {
            return found;
        }
    }
    crate::empty::cuCtxSynchronize as *mut c_void
}

unsafe fn pointer_attribute(to: *mut u64, attribute: i32, address: u64) -> i32 {
    let Some(device) = device_of(address) else {
        return 1;
    };
    match attribute {
        1 => put(to, 1),           // its context
        2 => put(to.cast(), 2u32), // memory of a device
        3 => put(to, address),
        9 => put(to.cast(), device as u32),
        _ => put(to.cast(), 0u32),
    }
}

unsafe fn name(to: *mut u8, length: i32) -> i32 {
    let name = SETTINGS.name.as_bytes();
    let length = name
        .len()
        .min(usize::try_from(length).unwrap_or(0).saturating_sub(1));
    // the caller has room for `length` bytes.
    std::ptr::copy(name.as_ptr(), to, length);
    put(to.add(length), 0)
}

c! {
    fn cuDriverGetVersion(version: *mut i32) = put(version, SETTINGS.cuda);
    fn cuGetProcAddress(symbol: *const c_char, function: *mut *mut c_void) = put(function, find(symbol));
    fn cuGetProcAddress_v2(symbol: *const c_char, function: *mut *mut c_void, _version: i32, _flags: u64, status: *mut i32) = { put(status, 0); put(function, find(symbol)) };
    fn cuGetErrorString(_error: i32, text: *mut *const c_char) = put(text, c"error of the stand-in".as_ptr());
    fn cuGetErrorName(_error: i32, text: *mut *const c_char) = put(text, c"STAND_IN".as_ptr());
    fn cuDeviceGetCount(count: *mut i32) = put(count, SETTINGS.visible_devices() as i32);
    fn cuDeviceGet(device: *mut i32, index: i32) = put(device, index);
    fn cuDeviceGetName(to: *mut u8, length: i32) = name(to, length);
    fn cuDeviceTotalMem_v2(bytes: *mut u64) = put(bytes, SETTINGS.total_bytes);
    fn cuDeviceGetAttribute(value: *mut i32, wanted: i32) = put(value, attribute(wanted));
    fn cuDevicePrimaryCtxGetState(_device: i32, flags: *mut i32, active: *mut i32) = { put(flags, 0); put(active, 1) };
    fn cuDevicePrimaryCtxRetain(context: *mut u64, device: i32) = put(context, 1 + device as u64);
    fn cuCtxGetCurrent(context: *mut u64) = put(context, 1 + device_now() as u64);
    fn cuCtxSetCurrent(context: u64) = { set_device((context as i32).saturating_sub(1)); OK };
    fn cuCtxGetDevice(device: *mut i32) = put(device, device_now() as i32);
    fn cuPointerGetAttribute(to: *mut u64, attribute: i32, address: u64) = pointer_attribute(to, attribute, address);

    fn cuMemAlloc_v2(to: *mut u64, bytes: u64) = allocate(to, bytes);
    fn cuMemFree_v2(address: u64) = free(address);
    fn cuMemGetInfo_v2(left: *mut u64, total: *mut u64) = { put(left, free_and_total().0); put(total, free_and_total().1) };
    fn cuMemcpyDtoH_v2(to: u64, from: u64, bytes: usize) = copy(to, from, bytes);
    fn cuMemcpyDtoHAsync_v2(to: u64, from: u64, bytes: usize) = copy(to, from, bytes);
    fn cuMemcpyHtoD_v2(to: u64, from: u64, bytes: usize) = copy(to, from, bytes);
    fn cuMemcpyHtoDAsync_v2(to: u64, from: u64, bytes: usize) = copy(to, from, bytes);
    fn cuMemAddressReserve(to: *mut u64, bytes: u64) = put(to, reserve(bytes));
    // The device comes after the kinds of memory, handle and location.
    fn cuMemCreate(to: *mut u64, bytes: u64, properties: *const [i32; 4]) = create(to, bytes, (*properties)[3]);
    fn cuMemRelease(handle: u64) = release(handle);
    fn cuMemGetAllocationGranularity(bytes: *mut u64) = put(bytes, PAGE_BYTES);
    fn cuMemExportToShareableHandle() = NOT_SUPPORTED;
    fn cuMemImportFromShareableHandle() = NOT_SUPPORTED;
    fn cuMulticastCreate() = NOT_SUPPORTED;
    fn cuMulticastGetGranularity() = NOT_SUPPORTED;
    fn cuGreenCtxCreate() = NOT_SUPPORTED;
    fn cuCtxFromGreenCtx() = NOT_SUPPORTED;
    fn cuMemRetainAllocationHandle() = NOT_SUPPORTED;

    fn cuModuleLoad(module: *mut u64) = handle(module);
    fn cuModuleLoadData(module: *mut u64) = handle(module);
    fn cuModuleLoadDataEx(module: *mut u64) = handle(module);
    fn cuModuleGetFunction(function: *mut u64) = handle(function);
    fn cuModuleGetGlobal_v2(address: *mut u64, bytes: *mut u64) = { put(bytes, 0); put(address, reserve(1)) };
    fn cuFuncGetAttribute(value: *mut i32) = put(value, 0);
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks: *mut i32, _function: u64, threads: i32) = put(blocks, occupancy(threads));
    fn cuLinkCreate_v2(_count: u32, _options: u64, _values: u64, state: *mut u64) = handle(state);
    fn cuStreamCreate(stream: *mut u64) = handle(stream);
    fn cuEventCreate(event: *mut u64) = handle(event);
}
