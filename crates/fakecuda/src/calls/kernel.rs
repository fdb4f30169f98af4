//! Modules and kernels: all of them load, none of them runs.

use std::ffi::{c_char, c_int, c_uint, c_void};

use crate::driver::Driver;
use crate::entry::{Answer, Handle, handle, write_out};

driver! {
    fn cuModuleLoad(module: *mut Handle, _path: *const c_char) |driver| { new(driver, module) }
    fn cuModuleLoadData(module: *mut Handle, _image: *const c_void) |driver| { new(driver, module) }
    fn cuModuleLoadDataEx(module: *mut Handle, _image: *const c_void, _count: c_uint, _options: *mut c_int, _values: *mut Handle) |driver| {
        new(driver, module)
    }
    fn cuModuleLoadFatBinary(module: *mut Handle, _image: *const c_void) |driver| { new(driver, module) }
    fn cuModuleUnload(_module: Handle) { Ok(()) }
    fn cuModuleGetFunction(function: *mut Handle, _module: Handle, _name: *const c_char) |driver| { new(driver, function) }
    fn cuLibraryLoadData(
        library: *mut Handle, _image: *const c_void, _a: *mut c_int, _b: *mut Handle, _c: c_uint,
        _d: *mut c_int, _e: *mut Handle, _f: c_uint,
    ) |driver| {
        new(driver, library)
    }
    fn cuLibraryUnload(_library: Handle) { Ok(()) }
    fn cuLibraryGetKernel(kernel: *mut Handle, _library: Handle, _name: *const c_char) |driver| { new(driver, kernel) }
    fn cuKernelGetFunction(function: *mut Handle, _kernel: Handle) |driver| { new(driver, function) }
    fn cuFuncGetAttribute(value: *mut c_int, _attribute: c_uint, _function: Handle) { write_out(value, 1024) }
    fn cuFuncSetAttribute(_function: Handle, _attribute: c_uint, _value: c_int) { Ok(()) }
    fn cuFuncSetCacheConfig(_function: Handle, _config: c_uint) { Ok(()) }
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks: *mut c_int, _function: Handle, _threads: c_int, _shared: usize) {
        write_out(blocks, 2)
    }
    fn cuLaunchKernel, cuLaunchKernel_ptsz(
        _function: Handle, _x: c_uint, _y: c_uint, _z: c_uint, _bx: c_uint, _by: c_uint, _bz: c_uint, _shared: c_uint,
        _stream: Handle, _arguments: *mut Handle, _extra: *mut Handle,
    ) {
        Ok(())
    }
    fn cuLaunchKernelEx, cuLaunchKernelEx_ptsz(_config: *const c_void, _function: Handle, _arguments: *mut Handle, _extra: *mut Handle) {
        Ok(())
    }
    fn cuLaunchCooperativeKernel, cuLaunchCooperativeKernel_ptsz(
        _function: Handle, _x: c_uint, _y: c_uint, _z: c_uint, _bx: c_uint, _by: c_uint, _bz: c_uint, _shared: c_uint,
        _stream: Handle, _arguments: *mut Handle,
    ) {
        Ok(())
    }
    fn cuProfilerStart() { Ok(()) }
    fn cuProfilerStop() { Ok(()) }
}

fn new(driver: &mut Driver, place: *mut Handle) -> Answer {
    driver.current()?;
    let created = driver.new_handle();
    write_out(place, handle(created))
}
