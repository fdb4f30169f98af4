//! The functions of the driver that are looked at: one table of names, types and what they do to memory.
//!
//! [`entry`] is what happens around each of them, [`events`] what is written down, [`devices`] and [`pools`] what the
//! driver is asked besides, [`capturing`] when it must not be asked, [`lookup`] `cuGetProcAddress`.

#![expect(non_snake_case, reason = "the driver's own names")]

mod arrays;
mod capturing;
mod contexts;
mod devices;
mod entry;
mod events;
mod graphs;
mod lookup;
mod pools;

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use vramscope_record::layout::Event;
use vramscope_record::layout::flags::{NOT_OWNED, PER_THREAD_STREAM};

use crate::linker::Hook;
use entry::{allocated, freed, hooks, made, of_structure, pinned, synchronised, unpinned};

/// What the driver's functions return.
type CUresult = u32;
/// Streams, contexts, pools and the like.
type Handle = *mut c_void;

/// What a function returns when there is no driver to ask: `CUDA_ERROR_NOT_INITIALIZED`.
const NOT_INITIALIZED: CUresult = 3;

/// The hook of the driver's function with this name.
pub(crate) fn of_name(name: &CStr) -> Option<&'static Hook> {
    all().find(|hook| hook.name == name)
}

// Of each: its name and type; after `=>` how it is looked at, with what is written down. `it` is the address or handle that
// the function gave, 0 when it gave none for want of memory.
hooks! {
    fn cuMemAlloc_v2(place: *mut u64, bytes: usize)
        => allocated(place) cuMemAlloc |it| { address: it, size_bytes: bytes as u64 };
    fn cuMemAllocPitch_v2(place: *mut u64, pitch: *mut usize, width: usize, height: usize, element: c_uint)
        => allocated(place) cuMemAllocPitch |it| {
            address: it,
            size_bytes: arrays::pitched_bytes(if it == 0 { std::ptr::null() } else { pitch }, width, height),
        };
    fn cuMemAllocManaged(place: *mut u64, bytes: usize, flags: c_uint)
        => allocated(place) cuMemAllocManaged |it| { address: it, size_bytes: bytes as u64 };
    fn cuMemAllocAsync(place: *mut u64, bytes: usize, stream: Handle)
        => allocated(place) cuMemAllocAsync |it| { address: it, size_bytes: bytes as u64, stream: stream as u64 };
    fn cuMemAllocAsync_ptsz(place: *mut u64, bytes: usize, stream: Handle)
        => allocated(place) cuMemAllocAsync |it| {
            address: it, size_bytes: bytes as u64, stream: stream as u64, flags: PER_THREAD_STREAM,
        };
    fn cuMemAllocFromPoolAsync(place: *mut u64, bytes: usize, pool: Handle, stream: Handle)
        => allocated(place) cuMemAllocFromPoolAsync |it| {
            address: it, size_bytes: bytes as u64, pool: pool as u64, stream: stream as u64,
        };
    fn cuMemAllocFromPoolAsync_ptsz(place: *mut u64, bytes: usize, pool: Handle, stream: Handle)
        => allocated(place) cuMemAllocFromPoolAsync |it| {
            address: it, size_bytes: bytes as u64, pool: pool as u64, stream: stream as u64, flags: PER_THREAD_STREAM,
        };
    fn cuMemPoolImportPointer(place: *mut u64, pool: Handle, data: *mut c_void)
        => allocated(place) cuMemPoolImportPointer |it| {
            address: it, size_bytes: events::bytes_at(it), pool: pool as u64, flags: NOT_OWNED,
        };
    fn cuIpcOpenMemHandle_v2(place: *mut u64, handle: IpcHandle, flags: c_uint)
        => allocated(place) cuIpcOpenMemHandle |it| {
            address: it, size_bytes: events::bytes_at(it), flags: NOT_OWNED,
        };
    fn cuExternalMemoryGetMappedBuffer(place: *mut u64, memory: Handle, description: *const u64)
        => allocated(place) cuExternalMemoryGetMappedBuffer |it| {
            address: it, size_bytes: of_structure(description, 1), flags: NOT_OWNED,
        };
    fn cuGraphAddMemAllocNode(place: *mut Handle, graph: Handle, before: *const Handle, count: usize, wish: *mut u64)
        => made(place) cuGraphAddMemAllocNode |it| {
            address: graphs::address(wish, it), size_bytes: graphs::bytes(wish), pool: graph as u64,
            device: graphs::device(wish),
        };

    fn cuMemFree_v2(address: u64) => freed() cuMemFree { address };
    fn cuMemFreeAsync(address: u64, stream: Handle)
        => freed() cuMemFreeAsync { address, stream: stream as u64 };
    fn cuMemFreeAsync_ptsz(address: u64, stream: Handle)
        => freed() cuMemFreeAsync { address, stream: stream as u64, flags: PER_THREAD_STREAM };
    fn cuIpcCloseMemHandle(address: u64) => freed() cuIpcCloseMemHandle { address };
    fn cuGraphAddMemFreeNode(place: *mut Handle, graph: Handle, before: *const Handle, count: usize, address: u64)
        => freed() cuGraphAddMemFreeNode { address, pool: graph as u64 };

    fn cuMemHostAlloc(place: *mut u64, bytes: usize, flags: c_uint)
        => pinned(place) cuMemHostAlloc |it| { address: it, size_bytes: bytes as u64 };
    fn cuMemAllocHost_v2(place: *mut u64, bytes: usize)
        => pinned(place) cuMemAllocHost |it| { address: it, size_bytes: bytes as u64 };
    fn cuMemHostRegister_v2(start: u64, bytes: usize, flags: c_uint)
        => pinned(&raw const start) cuMemHostRegister |it| { address: it, size_bytes: bytes as u64 };
    fn cuMemFreeHost(address: u64) => unpinned() cuMemFreeHost { address };
    fn cuMemHostUnregister(address: u64) => unpinned() cuMemHostUnregister { address };

    fn cuMemAddressReserve(place: *mut u64, bytes: usize, alignment: usize, wish: u64, flags: u64)
        => made(place) cuMemAddressReserve |it| { address: it, size_bytes: bytes as u64 };
    fn cuMemAddressFree(address: u64, bytes: usize)
        => freed() cuMemAddressFree { address, size_bytes: bytes as u64 };
    fn cuMemCreate(place: *mut u64, bytes: usize, properties: *const c_int, flags: u64)
        => made(place) cuMemCreate |it| {
            pool: it, size_bytes: bytes as u64, device: devices::of_properties(properties),
            flags: devices::flags_of_properties(properties),
        };
    fn cuMemRelease(handle: u64) => freed() cuMemRelease { pool: handle };
    fn cuMemMap(address: u64, bytes: usize, offset: usize, handle: u64, flags: u64)
        => made(&raw const address) cuMemMap |it| {
            address: it, size_bytes: bytes as u64, mapping_base: offset as u64, pool: handle,
        };
    fn cuMemUnmap(address: u64, bytes: usize) => freed() cuMemUnmap { address, size_bytes: bytes as u64 };
    fn cuMemImportFromShareableHandle(place: *mut u64, handle: *mut c_void, kind: c_uint)
        => made(place) cuMemImportFromShareableHandle |it| { pool: it, flags: NOT_OWNED };

    fn cuMemPoolCreate(place: *mut Handle, properties: *const c_int)
        => made(place) cuMemPoolCreate |it| { pool: it, device: devices::of_properties(properties) };
    fn cuMemPoolDestroy(pool: Handle) => freed() cuMemPoolDestroy { pool: pool as u64 };
    fn cuMemPoolTrimTo(pool: Handle, keep: usize) => observed(pools::trimmed(pool as u64, keep));

    fn cuArrayCreate_v2(place: *mut Handle, description: *const arrays::Array)
        => made(place) cuArrayCreate |it| { address: it, size_bytes: arrays::bytes(description) };
    fn cuArray3DCreate_v2(place: *mut Handle, description: *const arrays::Array3D)
        => made(place) cuArray3DCreate |it| { address: it, size_bytes: arrays::bytes_3d(description, 1) };
    fn cuMipmappedArrayCreate(place: *mut Handle, description: *const arrays::Array3D, levels: c_uint)
        => made(place) cuMipmappedArrayCreate |it| { address: it, size_bytes: arrays::bytes_3d(description, levels) };
    fn cuArrayDestroy(array: Handle) => freed() cuArrayDestroy { address: array as u64 };
    fn cuMipmappedArrayDestroy(array: Handle) => freed() cuMipmappedArrayDestroy { address: array as u64 };

    fn cuStreamSynchronize(stream: Handle) => synchronised();
    fn cuStreamSynchronize_ptsz(stream: Handle) => synchronised();
    fn cuCtxSynchronize() => synchronised();
    fn cuCtxSynchronize_v2(context: Handle) => synchronised();
    fn cuEventSynchronize(event: Handle) => synchronised();

    fn cuDevicePrimaryCtxRetain(place: *mut Handle, device: c_int) => observed(contexts::retained(place, device));
    fn cuDevicePrimaryCtxRelease_v2(device: c_int) => observed(contexts::released(device));
    fn cuDevicePrimaryCtxReset_v2(device: c_int) => observed(contexts::reset(device));
    fn cuCtxDestroy_v2(context: Handle) => observed(contexts::destroyed(context));

    fn cuGraphAddNode(place: *mut Handle, graph: Handle, before: *const Handle, count: usize, node: *mut u64)
        => observed(graphs::added(graph, node));
    fn cuGraphAddNode_v2(
        place: *mut Handle, graph: Handle, before: *const Handle, edges: *const c_void, count: usize, node: *mut u64
    ) => observed(graphs::added(graph, node));
    fn cuStreamBeginCapture(stream: Handle) => observed(capturing::begun());
    fn cuStreamBeginCapture_ptsz(stream: Handle) => observed(capturing::begun());
    fn cuStreamBeginCapture_v2(stream: Handle, mode: c_uint) => observed(capturing::begun());
    fn cuStreamBeginCapture_v2_ptsz(stream: Handle, mode: c_uint) => observed(capturing::begun());
    fn cuStreamBeginCaptureToGraph(
        stream: Handle, graph: Handle, before: *const Handle, edges: *const c_void, count: usize, mode: c_uint
    ) => observed(capturing::begun());
    fn cuStreamBeginCaptureToGraph_ptsz(
        stream: Handle, graph: Handle, before: *const Handle, edges: *const c_void, count: usize, mode: c_uint
    ) => observed(capturing::begun());
    fn cuStreamEndCapture(stream: Handle, place: *mut Handle) => observed(capturing::ended());
    fn cuStreamEndCapture_ptsz(stream: Handle, place: *mut Handle) => observed(capturing::ended());

    fn cuGetProcAddress(name: *const c_char, place: *mut Handle, version: c_int, flags: u64)
        => observed(lookup::found(name, place, version, flags));
    fn cuGetProcAddress_v2(name: *const c_char, place: *mut Handle, version: c_int, flags: u64, status: *mut c_int)
        => observed(lookup::found(name, place, version, flags));
    fn cuGetProcAddress_v2_ptsz(name: *const c_char, place: *mut Handle, version: c_int, flags: u64, status: *mut c_int)
        => observed(lookup::found(name, place, version, flags));
}

/// `CUipcMemHandle`, which is passed by value.
#[derive(Clone, Copy)]
#[repr(C)]
struct IpcHandle([c_char; 64]);
