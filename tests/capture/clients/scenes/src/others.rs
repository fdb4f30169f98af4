//! Memory of other processes, contexts and devices.

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

use crate::driver::IpcHandle;
use crate::gpu::{Gpu, call};

const MIB: usize = 1 << 20;

/// IPC handles, shareable handles, external memory, and pointers of pools.
pub(crate) fn imports(gpu: &Gpu) {
    let own = gpu.alloc(6 * MIB);
    let mut ticket = IpcHandle([0; 8]);
    call!(gpu, cuIpcGetMemHandle(&raw mut ticket, own));
    let (mut opened, mut second_opening) = (0, 0);
    call!(gpu, cuIpcOpenMemHandle_v2(&raw mut opened, ticket, 1));
    call!(
        gpu,
        cuIpcOpenMemHandle_v2(&raw mut second_opening, ticket, 1)
    );
    call!(gpu, cuIpcCloseMemHandle(opened));
    call!(gpu, cuIpcCloseMemHandle(opened) => 1);

    let physical = gpu.physical(4 * MIB, 0);
    let mut descriptor: c_int = -1;
    let place: *mut c_void = (&raw mut descriptor).cast();
    call!(gpu, cuMemExportToShareableHandle(place, physical, 1, 0));
    let mut imported = 0;
    call!(
        gpu,
        cuMemImportFromShareableHandle(&raw mut imported, descriptor as usize as *mut c_void, 1)
    );
    let mut range = 0;
    call!(gpu, cuMemAddressReserve(&raw mut range, 4 * MIB, 0, 0, 0));
    call!(gpu, cuMemMap(range, 4 * MIB, 0, imported, 0));

    let mut external = [0_u64; 13];
    external[0] = 1;
    external[3] = 8 * MIB as u64;
    let mut memory = null_mut();
    call!(
        gpu,
        cuImportExternalMemory(&raw mut memory, &raw const external)
    );
    let mut buffer = [0_u64; 11];
    buffer[1] = 3 * MIB as u64;
    let mut mapped = 0;
    call!(
        gpu,
        cuExternalMemoryGetMappedBuffer(&raw mut mapped, memory, &raw const buffer)
    );
    gpu.free(mapped);

    let pooled = gpu.alloc_async(MIB, null_mut());
    let mut data = [0; 8];
    call!(gpu, cuMemPoolExportPointer(&raw mut data, pooled));
    let mut pointer = 0;
    call!(
        gpu,
        cuMemPoolImportPointer(&raw mut pointer, gpu.pool, &raw const data)
    );
    println!("imports: done");
}

/// Memory that is freed with its context.
pub(crate) fn contexts(gpu: &Gpu) {
    let first = gpu.alloc(MIB);
    let mut second = null_mut();
    call!(gpu, cuCtxCreate_v2(&raw mut second, 0, 0));
    for n in 1..10 {
        gpu.alloc(n * 300_000);
    }
    let pooled = gpu.alloc_async(MIB, null_mut());
    call!(gpu, cuCtxDestroy_v2(second));
    gpu.enter();
    gpu.free_async(pooled, null_mut());
    gpu.free(first);
    gpu.alloc(5 * MIB);
    let left = gpu.alloc_async(5 * MIB, null_mut());
    assert_ne!(left, 0);
    call!(gpu, cuDevicePrimaryCtxReset_v2(0));
    gpu.enter();
    // Releasing one of two holds does not end the context.
    let mut same = null_mut();
    call!(gpu, cuDevicePrimaryCtxRetain(&raw mut same, 0));
    gpu.alloc(7 * MIB);
    call!(gpu, cuDevicePrimaryCtxRelease_v2(0));
    gpu.alloc(9 * MIB);
    call!(gpu, cuDevicePrimaryCtxRelease_v2(0));
    println!("contexts: done");
}

/// The first versions of functions, which old programs look up by name.
pub(crate) fn first_versions(gpu: &Gpu) {
    let own = gpu.alloc(6 * MIB);
    let mut ticket = IpcHandle([0; 8]);
    call!(gpu, cuIpcGetMemHandle(&raw mut ticket, own));
    let mut opened = 0;
    call!(gpu, cuIpcOpenMemHandle(&raw mut opened, ticket, 1));
    let mut second = null_mut();
    call!(gpu, cuCtxCreate_v2(&raw mut second, 0, 0));
    gpu.alloc(MIB);
    call!(gpu, cuCtxDestroy(second));
    gpu.enter();
    gpu.alloc(3 * MIB);
    call!(gpu, cuDevicePrimaryCtxReset(0));
    gpu.enter();
    gpu.alloc(7 * MIB);
    call!(gpu, cuDevicePrimaryCtxRelease(0));
    println!("first-versions: done");
}

/// Two devices; frees memory of the device that is not current.
pub(crate) fn devices(gpu: &Gpu) {
    let mut there = null_mut();
    call!(gpu, cuDevicePrimaryCtxRetain(&raw mut there, 1));
    let here = gpu.alloc(3 * MIB);
    call!(gpu, cuCtxSetCurrent(there));
    let (a, b) = (gpu.alloc(10 * MIB), gpu.alloc(700));
    let c = gpu.alloc_async(2 * MIB, null_mut());
    gpu.free(here);
    gpu.enter();
    gpu.free(a);
    gpu.free_async(c, null_mut());
    let d = gpu.physical(4 * MIB, 1);
    let mut range = 0;
    call!(gpu, cuMemAddressReserve(&raw mut range, 4 * MIB, 0, 0, 0));
    call!(gpu, cuMemMap(range, 4 * MIB, 0, d, 0));
    gpu.alloc(MIB);
    assert_ne!(b, 0);
    println!("devices: done");
}
