//! The hooked driver functions, their types and effects on memory. [`table`] lists them.
//!
//! [`entry`] surrounds each call, [`host_functions`] those that enqueue functions of the program. [`events`] writes the
//! records, [`devices`] and [`pools`] query the driver for details, [`capturing`] knows when the driver must not be
//! queried, [`lookup`] handles `cuGetProcAddress`.

#![expect(non_snake_case, reason = "the driver's own names")]

mod arrays;
mod capturing;
mod contexts;
mod devices;
mod entry;
mod events;
mod graphs;
mod host_functions;
mod lookup;
mod pools;
mod table;

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

use vramscope_record::layout::flags::{NOT_OWNED, PER_THREAD_STREAM};
use vramscope_record::layout::{Event, Loss};

use crate::hook::Hook;
use crate::{driver, log};
use entry::{
    field_u64, hooks, record_alloc, record_creation, record_free, record_pin, record_synchronise,
    record_unpin,
};

type CUresult = u32;
/// A stream, context, pool or other opaque handle.
type Handle = *mut c_void;

/// Result of a hooked function without a driver: `CUDA_ERROR_NOT_INITIALIZED`.
const NOT_INITIALIZED: CUresult = 3;
/// Results that mean the driver did nothing: `CUDA_ERROR_INVALID_VALUE` and `_NOT_PERMITTED`.
const REFUSED: [CUresult; 2] = [1, 800];

/// The hook of the driver function with this name.
pub(crate) fn find(name: &CStr) -> Option<&'static Hook> {
    all().find(|hook| hook.name == name)
}

/// Puts a hook in front of a function that the program looked up, as [`Hook::interpose`] does. Counts functions left
/// without a wrapper. Host functions have one wrapper each: a second library's are usually called through the first's.
pub(crate) fn interpose(hook: &Hook, found: *mut c_void) -> *mut c_void {
    let given = hook.interpose(found);
    if hook.has_second_wrapper() && !hook.has_wrapper(given) {
        log::lost(Loss::OtherLibrary);
    }
    given
}

/// Looks up the driver functions that the hooks need, as [`driver::look_up`] explains.
pub(crate) fn look_up() {
    driver::look_up(all().map(|hook| &hook.own));
}

/// Looks up all functions that hooks call in programs linked with the driver; all at once, for the reason given at
/// [`look_up`].
pub(crate) fn stand_before_next() {
    static IS_DONE: AtomicBool = AtomicBool::new(false);
    look_up();
    // A driver that a library is linked with could be unloaded and loaded elsewhere without our noticing.
    if driver::keep() && !IS_DONE.swap(true, Ordering::Relaxed) {
        all().for_each(Hook::stand_before_next);
    }
}

/// The function that a hook's wrapper calls; null if it does not exist.
#[inline]
fn real(hook: &Hook) -> *mut c_void {
    let real = hook.real();
    if real.is_null() {
        find_real(hook)
    } else {
        real
    }
}

#[cold]
fn find_real(hook: &Hook) -> *mut c_void {
    stand_before_next();
    hook.stand_before_next();
    hook.real()
}

// Each row has the function's name and type and, after `=>`, its treatment in `entry` and the event to write. `it`
// is the address or handle that the function returned, or 0 if it failed for lack of memory.
hooks! {
    fn cuMemAlloc_v2(place: *mut u64, bytes: usize)
        => record_alloc(place) cuMemAlloc |it| { address: it, size_bytes: bytes as u64 };
    fn cuMemAllocPitch_v2(place: *mut u64, pitch: *mut usize, width: usize, height: usize, element: c_uint)
        => record_alloc(place) cuMemAllocPitch |it| {
            address: it,
            size_bytes: arrays::pitched_bytes(if it == 0 { std::ptr::null() } else { pitch }, width, height),
        };
    fn cuMemAllocManaged(place: *mut u64, bytes: usize, flags: c_uint)
        => record_alloc(place) cuMemAllocManaged |it| { address: it, size_bytes: bytes as u64 };
    fn cuMemAllocAsync(place: *mut u64, bytes: usize, stream: Handle)
        => record_alloc(place) cuMemAllocAsync |it| { address: it, size_bytes: bytes as u64, stream: stream as u64 };
    fn cuMemAllocAsync_ptsz(place: *mut u64, bytes: usize, stream: Handle)
        => record_alloc(place) cuMemAllocAsync |it| {
            address: it, size_bytes: bytes as u64, stream: stream as u64, flags: PER_THREAD_STREAM,
        };
    fn cuMemAllocFromPoolAsync(place: *mut u64, bytes: usize, pool: Handle, stream: Handle)
        => record_alloc(place) cuMemAllocFromPoolAsync |it| {
            address: it, size_bytes: bytes as u64, pool: pool as u64, stream: stream as u64,
        };
    fn cuMemAllocFromPoolAsync_ptsz(place: *mut u64, bytes: usize, pool: Handle, stream: Handle)
        => record_alloc(place) cuMemAllocFromPoolAsync |it| {
            address: it, size_bytes: bytes as u64, pool: pool as u64, stream: stream as u64, flags: PER_THREAD_STREAM,
        };
    fn cuMemPoolImportPointer(place: *mut u64, pool: Handle, data: *mut c_void)
        => record_alloc(place) cuMemPoolImportPointer |it| {
            address: it, size_bytes: events::bytes_at(it), pool: pool as u64, flags: NOT_OWNED,
        };
    fn cuIpcOpenMemHandle_v2(place: *mut u64, handle: IpcHandle, flags: c_uint)
        => record_alloc(place) cuIpcOpenMemHandle |it| {
            address: it, size_bytes: events::bytes_at(it), flags: NOT_OWNED,
        };
    // The first versions of some functions: programs built for CUDA 10 and older look them up by name.
    fn cuIpcOpenMemHandle(place: *mut u64, handle: IpcHandle, flags: c_uint)
        => record_alloc(place) cuIpcOpenMemHandle |it| {
            address: it, size_bytes: events::bytes_at(it), flags: NOT_OWNED,
        };
    fn cuExternalMemoryGetMappedBuffer(place: *mut u64, memory: Handle, description: *const u64)
        => record_alloc(place) cuExternalMemoryGetMappedBuffer |it| {
            address: it, size_bytes: field_u64(description, 1), flags: NOT_OWNED,
        };
    fn cuGraphAddMemAllocNode(place: *mut Handle, graph: Handle, before: *const Handle, count: usize, wish: *mut u64)
        => record_creation(place) cuGraphAddMemAllocNode |it| {
            address: graphs::address(wish, it), size_bytes: graphs::bytes(wish), pool: graph as u64,
            device: graphs::device(wish),
        };

    fn cuMemFree_v2(address: u64) => record_free() cuMemFree { address };
    fn cuMemFreeAsync(address: u64, stream: Handle)
        => record_free() cuMemFreeAsync { address, stream: stream as u64 };
    fn cuMemFreeAsync_ptsz(address: u64, stream: Handle)
        => record_free() cuMemFreeAsync { address, stream: stream as u64, flags: PER_THREAD_STREAM };
    fn cuIpcCloseMemHandle(address: u64) => record_free() cuIpcCloseMemHandle { address };
    fn cuGraphAddMemFreeNode(place: *mut Handle, graph: Handle, before: *const Handle, count: usize, address: u64)
        => record_free() cuGraphAddMemFreeNode { address, pool: graph as u64 };

    fn cuMemHostAlloc(place: *mut u64, bytes: usize, flags: c_uint)
        => record_pin(place) cuMemHostAlloc |it| { address: it, size_bytes: bytes as u64 };
    fn cuMemAllocHost_v2(place: *mut u64, bytes: usize)
        => record_pin(place) cuMemAllocHost |it| { address: it, size_bytes: bytes as u64 };
    fn cuMemHostRegister_v2(start: u64, bytes: usize, flags: c_uint)
        => record_pin(&raw const start) cuMemHostRegister |it| { address: it, size_bytes: bytes as u64 };
    fn cuMemHostRegister(start: u64, bytes: usize, flags: c_uint)
        => record_pin(&raw const start) cuMemHostRegister |it| { address: it, size_bytes: bytes as u64 };
    fn cuMemFreeHost(address: u64) => record_unpin() cuMemFreeHost { address };
    fn cuMemHostUnregister(address: u64) => record_unpin() cuMemHostUnregister { address };

    fn cuMemAddressReserve(place: *mut u64, bytes: usize, alignment: usize, wish: u64, flags: u64)
        => record_creation(place) cuMemAddressReserve |it| { address: it, size_bytes: bytes as u64 };
    fn cuMemAddressFree(address: u64, bytes: usize)
        => record_free() cuMemAddressFree { address, size_bytes: bytes as u64 };
    fn cuMemCreate(place: *mut u64, bytes: usize, properties: *const c_int, flags: u64)
        => record_creation(place) cuMemCreate |it| {
            pool: it, size_bytes: bytes as u64, device: devices::device_of_properties(properties),
            flags: devices::flags_of_properties(properties),
        };
    fn cuMemRelease(handle: u64) => record_free() cuMemRelease { pool: handle };
    fn cuMemMap(address: u64, bytes: usize, offset: usize, handle: u64, flags: u64)
        => record_creation(&raw const address) cuMemMap |it| {
            address: it, size_bytes: bytes as u64, mapping_base: offset as u64, pool: handle,
        };
    fn cuMemUnmap(address: u64, bytes: usize) => record_free() cuMemUnmap { address, size_bytes: bytes as u64 };
    fn cuMemImportFromShareableHandle(place: *mut u64, handle: *mut c_void, kind: c_uint)
        => record_creation(place) cuMemImportFromShareableHandle |it| { pool: it, flags: NOT_OWNED };
    fn cuMemRetainAllocationHandle(place: *mut u64, address: u64)
        => record_creation(place) cuMemRetainAllocationHandle |it| { pool: it, address };
    fn cuMulticastCreate(place: *mut u64, properties: *const u64)
        => record_creation(place) cuMulticastCreate |it| {
            pool: it, size_bytes: field_u64(properties, 1), flags: NOT_OWNED,
        };

    fn cuMemPoolCreate(place: *mut Handle, properties: *const c_int)
        => record_creation(place) cuMemPoolCreate |it| {
            pool: it, device: devices::device_of_properties(properties),
            mapping_base: devices::allocation_type(properties), mapping_bytes: devices::location_type(properties),
        };
    fn cuMemPoolDestroy(pool: Handle) => record_free() cuMemPoolDestroy { pool: pool as u64 };
    fn cuMemPoolTrimTo(pool: Handle, keep: usize) => record_around(pools::after_trim(pool as u64, keep));

    fn cuArrayCreate_v2(place: *mut Handle, description: *const arrays::Array)
        => record_creation(place) cuArrayCreate |it| { address: it, size_bytes: arrays::bytes(description) };
    fn cuArray3DCreate_v2(place: *mut Handle, description: *const arrays::Array3D)
        => record_creation(place) cuArray3DCreate |it| { address: it, size_bytes: arrays::bytes_3d(description, 1) };
    fn cuMipmappedArrayCreate(place: *mut Handle, description: *const arrays::Array3D, levels: c_uint)
        => record_creation(place) cuMipmappedArrayCreate |it| { address: it, size_bytes: arrays::bytes_3d(description, levels) };
    fn cuArrayDestroy(array: Handle) => record_free() cuArrayDestroy { address: array as u64 };
    fn cuMipmappedArrayDestroy(array: Handle) => record_free() cuMipmappedArrayDestroy { address: array as u64 };

    fn cuStreamSynchronize(stream: Handle) => record_synchronise();
    fn cuStreamSynchronize_ptsz(stream: Handle) => record_synchronise();
    fn cuCtxSynchronize() => record_synchronise();
    fn cuCtxSynchronize_v2(context: Handle) => record_synchronise();
    fn cuEventSynchronize(event: Handle) => record_synchronise();

    fn cuDevicePrimaryCtxRetain(place: *mut Handle, device: c_int) => observe(contexts::after_retain(place, device));
    fn cuDevicePrimaryCtxRelease_v2(device: c_int) => observe(contexts::after_release(device));
    fn cuDevicePrimaryCtxReset_v2(device: c_int) => observe(contexts::after_reset(device));
    fn cuCtxDestroy_v2(context: Handle) => observe(contexts::after_destroy(context));
    fn cuDevicePrimaryCtxRelease(device: c_int) => observe(contexts::after_release(device));
    fn cuDevicePrimaryCtxReset(device: c_int) => observe(contexts::after_reset(device));
    fn cuCtxDestroy(context: Handle) => observe(contexts::after_destroy(context));

    fn cuCtxCreate_v2(place: *mut Handle, flags: c_uint, device: c_int) => observe(contexts::after_switch());
    fn cuCtxCreate_v3(place: *mut Handle, affinity: *mut c_void, count: c_int, flags: c_uint, device: c_int)
        => observe(contexts::after_switch());
    fn cuCtxCreate_v4(place: *mut Handle, parameters: *mut c_void, flags: c_uint, device: c_int)
        => observe(contexts::after_switch());
    fn cuCtxSetCurrent(context: Handle) => observe(contexts::after_switch());
    fn cuCtxPushCurrent_v2(context: Handle) => observe(contexts::after_switch());

    fn cuGraphAddNode(place: *mut Handle, graph: Handle, before: *const Handle, count: usize, node: *mut u64)
        => record_around(graphs::around_add_node(graph, node));
    fn cuGraphAddNode_v2(
        place: *mut Handle, graph: Handle, before: *const Handle, edges: *const c_void, count: usize, node: *mut u64
    ) => record_around(graphs::around_add_node(graph, node));
    fn cuGraphAddNode_v3(
        place: *mut Handle, graph: Handle, before: *const Handle, edges: *const c_void, count: usize, node: *mut u64
    ) => record_around(graphs::around_add_node(graph, node));
    fn cuGraphLaunch(executable: Handle, stream: Handle) => observe(pools::after_launch());
    fn cuGraphLaunch_ptsz(executable: Handle, stream: Handle) => observe(pools::after_launch());
    fn cuDeviceGraphMemTrim(device: c_int) => observe(pools::after_graph_trim());
    fn cuStreamBeginCapture(stream: Handle) => observe(capturing::around_begin());
    fn cuStreamBeginCapture_ptsz(stream: Handle) => observe(capturing::around_begin());
    fn cuStreamBeginCapture_v2(stream: Handle, mode: c_uint) => observe(capturing::around_begin());
    fn cuStreamBeginCapture_v2_ptsz(stream: Handle, mode: c_uint) => observe(capturing::around_begin());
    fn cuStreamBeginCaptureToGraph(
        stream: Handle, graph: Handle, before: *const Handle, edges: *const c_void, count: usize, mode: c_uint
    ) => observe(capturing::around_begin());
    fn cuStreamBeginCaptureToGraph_ptsz(
        stream: Handle, graph: Handle, before: *const Handle, edges: *const c_void, count: usize, mode: c_uint
    ) => observe(capturing::around_begin());
    fn cuStreamBeginRecaptureToGraph(stream: Handle, mode: c_uint, graph: Handle, each: Handle, data: *mut c_void)
        => observe(capturing::around_begin());
    fn cuStreamBeginRecaptureToGraph_ptsz(stream: Handle, mode: c_uint, graph: Handle, each: Handle, data: *mut c_void)
        => observe(capturing::around_begin());
    fn cuStreamBeginCaptureToCig(stream: Handle, graphics: *const c_void) => observe(capturing::around_begin());
    fn cuStreamBeginCaptureToCig_ptsz(stream: Handle, graphics: *const c_void) => observe(capturing::around_begin());
    fn cuStreamEndCaptureToCig(stream: Handle) => observe(capturing::after_end());
    fn cuStreamEndCaptureToCig_ptsz(stream: Handle) => observe(capturing::after_end());
    fn cuStreamEndCapture(stream: Handle, place: *mut Handle) => observe(capturing::after_end());
    fn cuStreamEndCapture_ptsz(stream: Handle, place: *mut Handle) => observe(capturing::after_end());

    fn cuGetProcAddress(name: *const c_char, place: *mut Handle, version: c_int, flags: u64)
        => observe(lookup::after_lookup(name, place, version, flags));
    fn cuGetProcAddress_v2(name: *const c_char, place: *mut Handle, version: c_int, flags: u64, status: *mut c_int)
        => observe(lookup::after_lookup(name, place, version, flags));
    fn cuGetProcAddress_v2_ptsz(name: *const c_char, place: *mut Handle, version: c_int, flags: u64, status: *mut c_int)
        => observe(lookup::after_lookup(name, place, version, flags));
}

/// `CUipcMemHandle`, which is passed by value.
#[derive(Clone, Copy)]
#[repr(C)]
struct IpcHandle([c_char; 64]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_lists_what_is_hooked() {
        let listed = table::HOOKED.iter().map(|hooked| {
            let treatment = match hooked.shape {
                table::Shape::Alloc => "record_alloc",
                table::Shape::Create => "record_creation",
                table::Shape::Pin => "record_pin",
                table::Shape::Free => "record_free",
                table::Shape::Unpin => "record_unpin",
                table::Shape::Synchronise => "record_synchronise",
                table::Shape::Around => "record_around",
                table::Shape::Observe => "observe",
                table::Shape::HostFunction => "host_function",
            };
            (hooked.name, treatment)
        });
        let names = host_functions::HOOKS.map(|hook| hook.name.to_str().unwrap_or_default());
        let host_functions = names.map(|name| (name, "host_function"));
        let hooked = TREATMENTS.iter().copied().chain(host_functions);
        assert!(listed.eq(hooked), "{TREATMENTS:?}");
    }
}
