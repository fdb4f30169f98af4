//! libcudart: devices, memory, streams, events, graphs and kernel launches.

use std::ffi::{c_char, c_void};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::c::{OK, handle, put};
use crate::memory::{
    self, allocate, copy, device_now, device_of, free, free_and_total, is_pinned, launch, pin,
    set_device,
};
use crate::settings::SETTINGS;

const INVALID_DEVICE: i32 = 101;
const NOT_READY: i32 = 600;

/// Whether events stay incomplete, so that frees of blocks used by other streams stay pending.
static IS_HOLDING: AtomicBool = AtomicBool::new(false);
/// The stream that is being captured, 0 if none: at most one at a time.
static CAPTURING: AtomicU64 = AtomicU64::new(0);
static CAPTURE: AtomicU64 = AtomicU64::new(0);

unsafe extern "C" {
    fn aligned_alloc(align: usize, bytes: usize) -> u64;
    #[link_name = "free"]
    fn free_host(address: u64);
    fn snprintf(to: *mut c_char, length: usize, format: *const c_char, ...) -> i32;
}

fn select(device: i32) -> i32 {
    if set_device(device) {
        OK
    } else {
        INVALID_DEVICE
    }
}

fn capability() -> (i32, i32) {
    (SETTINGS.capability / 10, SETTINGS.capability % 10)
}

/// A device attribute, by the number that runtime and driver share; 0 for what no device here can do.
pub(crate) fn attribute(attribute: i32) -> i32 {
    let (shared, threads) = SETTINGS.block_limits();
    match attribute {
        1..=3 => 1024, // threads of a block
        4 => 64,
        5 => i32::MAX, // blocks of a grid
        6 | 7 => 65_535,
        8 => 48 << 10,     // shared memory of a block
        9 => 64 << 10,     // constant memory
        10 => 32,          // threads of a warp
        12 | 82 => 65_536, // registers
        16 => SETTINGS.processors,
        31 | 40 | 41 => 1, // concurrent kernels, a copy engine, one address space
        39 => threads,
        75 => capability().0,
        76 => capability().1,
        81 => shared as i32 + 1024, // with what each block has in reserve
        95 => 1,                    // cooperative launches
        97 => shared as i32,
        102 | 115 => 1, // mapped memory, memory pools
        106 => 32,      // blocks of a multiprocessor
        _ => 0,
    }
}

/// Fills a `cudaDeviceProp`, whose fields moved with CUDA 13. Offsets by the compiler from the headers of 11.8, 12.6
/// and 13.0.
unsafe fn properties(to: *mut u8) -> i32 {
    let is_new = SETTINGS.cuda >= 13_000;
    let is_old = SETTINGS.cuda < 12_000;
    let bytes = if is_new {
        1008
    } else if is_old {
        728
    } else {
        1032
    };
    // the caller has room for a whole `cudaDeviceProp` of its CUDA.
    let whole = std::slice::from_raw_parts_mut(to, bytes);
    whole.fill(0);
    let mut set = |at: usize, value: &[u8]| whole[at..at + value.len()].copy_from_slice(value);
    let shared = SETTINGS.block_limits().0;
    set(0, &SETTINGS.name.as_bytes()[..SETTINGS.name.len().min(255)]);
    set(288, &SETTINGS.total_bytes.to_ne_bytes());
    set(296, &(48u64 << 10).to_ne_bytes());
    set(672 + if is_new { 0 } else { 24 }, &shared.to_ne_bytes());
    set(
        if is_new { 624 } else { 640 },
        &(shared + 1024).to_ne_bytes(),
    );
    // Each field's offset before CUDA 13, its offset since, and its attribute.
    #[rustfmt::skip]
    let numbers = [
        [304, 304, 12], [308, 308, 10], [320, 320, 1], [324, 324, 2], [328, 328, 3], [332, 332, 4], [336, 336, 5],
        [340, 340, 6], [344, 344, 7], [360, 360, 75], [364, 364, 76], [388, 384, 16], [576, 560, 31], [600, 584, 40],
        [604, 588, 41], [624, 604, 39], [648, 632, 82], [688, 668, 95], [712, 688, 106],
    ];
    for [before, since, wanted] in numbers {
        let at = if is_new { since } else { before };
        set(at, &attribute(wanted as i32).to_ne_bytes());
    }
    OK
}

unsafe fn pointer_attributes(to: *mut u64, address: u64) -> i32 {
    let device = device_of(address);
    let kind = match device {
        Some(_) => 2,
        None if is_pinned(address) => 1,
        None => 0,
    };
    let index = device.map_or(if kind == 1 { 0 } else { -1 }, |device| device as i32);
    // Kind and device, the device address, and the host address.
    let on_host = if device.is_some() { 0 } else { address };
    let answer = [
        kind | u64::from(index as u32) << 32,
        if kind == 0 { 0 } else { address },
        on_host,
    ];
    put(to.cast(), answer)
}

unsafe fn allocate_pinned(to: *mut u64, bytes: u64) -> i32 {
    let address = aligned_alloc(4096, bytes.max(1).next_multiple_of(4096) as usize);
    pin(address, Some(bytes));
    put(to, address)
}

unsafe fn is_capturing(stream: u64, to: *mut i32) -> i32 {
    let captured = CAPTURING.load(Ordering::Relaxed);
    put(to, i32::from(captured != 0 && captured == stream))
}

unsafe fn capture_info(stream: u64, status: *mut i32, id: *mut u64, nothing: [*mut u64; 4]) -> i32 {
    for to in nothing {
        put(to, 0);
    }
    put(id, CAPTURE.load(Ordering::Relaxed));
    is_capturing(stream, status)
}

/// Blocks of a multiprocessor as limited by threads; register use depends on the kernel.
pub(crate) fn occupancy(threads: i32) -> i32 {
    (SETTINGS.block_limits().1 / threads.max(1)).clamp(1, 32)
}

unsafe fn fill_attributes(to: *mut [i32; 14]) -> i32 {
    let mut attributes = [0; 14];
    // Maximum threads of a block, registers, and the versions of PTX and binary by which CUB chooses its kernels.
    attributes[6] = 1024;
    attributes[7] = 32;
    attributes[8..10].fill(SETTINGS.capability);
    put(to, attributes)
}

unsafe fn copy_rows(to: [u64; 2], from: [u64; 2], width: usize, height: u64) -> i32 {
    for row in 0..height {
        copy(to[0] + row * to[1], from[0] + row * from[1], width);
    }
    OK
}

unsafe fn end_capture(graph: *mut u64) -> i32 {
    CAPTURING.store(0, Ordering::Relaxed);
    handle(graph)
}

fn begin_capture(stream: u64) -> i32 {
    CAPTURING.store(stream, Ordering::Relaxed);
    CAPTURE.fetch_add(1, Ordering::Relaxed);
    OK
}

type Host = unsafe extern "C" fn(u64);
type Callback = unsafe extern "C" fn(u64, i32, u64);

unsafe fn call(function: Host, data: u64) -> i32 {
    function(data);
    OK
}

unsafe fn call_back(function: Callback, stream: u64, data: u64) -> i32 {
    function(stream, OK, data);
    OK
}

unsafe fn unpin_and_free(address: u64) -> i32 {
    pin(address, None);
    // programs free what `allocate_pinned` returned to them.
    free_host(address);
    OK
}

fn hold(on: i32) -> i32 {
    IS_HOLDING.store(on != 0, Ordering::Relaxed);
    OK
}

fn event_status() -> i32 {
    if IS_HOLDING.load(Ordering::Relaxed) {
        NOT_READY
    } else {
        OK
    }
}

unsafe fn new_is_capturing(
    stream: u64,
    status: *mut i32,
    id: *mut u64,
    nothing: [*mut u64; 4],
) -> i32 {
    let nothing = if SETTINGS.cuda >= 13_000 {
        nothing
    } else {
        [std::ptr::null_mut(); 4]
    };
    // before CUDA 13 the function had three arguments; the others are then left alone.
    capture_info(stream, status, id, nothing)
}

unsafe fn count_devices(to: *mut i32) -> i32 {
    let devices = SETTINGS.visible_devices();
    put(to, devices as i32);
    if devices == 0 { 100 } else { OK }
}

c! {
    // From now on no event completes (1), or all complete at once again (0).
    fn standin_hold(on: i32) = hold(on);

    fn cudaGetDeviceCount(count: *mut i32) = count_devices(count);
    fn cudaGetDevice(device: *mut i32) = put(device, device_now() as i32);
    fn cudaSetDevice(device: i32) = select(device);
    fn cudaInitDevice(device: i32) = select(device);
    fn cudaGetDeviceFlags(flags: *mut i32) = put(flags, 0);
    fn cudaDriverGetVersion(version: *mut i32) = put(version, SETTINGS.cuda);
    fn cudaRuntimeGetVersion(version: *mut i32) = put(version, SETTINGS.cuda);
    fn cudaDeviceCanAccessPeer(can: *mut i32) = put(can, 0);
    fn cudaDeviceGetPCIBusId(text: *mut c_char, length: i32, device: i32) = { snprintf(text, length as usize, c"0000:%02x:00.0".as_ptr(), device); OK };
    fn cudaDeviceGetStreamPriorityRange(least: *mut i32, greatest: *mut i32) = { put(least, 0); put(greatest, -5) };
    fn cudaDeviceGetAttribute(value: *mut i32, wanted: i32) = put(value, attribute(wanted));
    fn cudaDeviceGetLimit(bytes: *mut u64) = put(bytes, 0);
    fn cudaGetDeviceProperties(to: *mut u8) = properties(to);
    fn cudaGetDeviceProperties_v2(to: *mut u8) = properties(to);

    fn cudaMalloc(to: *mut u64, bytes: u64) = allocate(to, bytes);
    fn cudaMallocAsync(to: *mut u64, bytes: u64) = allocate(to, bytes);
    fn cudaFree(address: u64) = free(address);
    fn cudaFreeAsync(address: u64) = free(address);
    fn cudaMemGetInfo(left: *mut u64, total: *mut u64) = { put(left, free_and_total().0); put(total, free_and_total().1) };
    fn cudaHostAlloc(to: *mut u64, bytes: u64) = allocate_pinned(to, bytes);
    fn cudaMallocHost(to: *mut u64, bytes: u64) = allocate_pinned(to, bytes);
    fn cudaMallocManaged(to: *mut u64, bytes: u64) = allocate_pinned(to, bytes);
    fn cudaFreeHost(address: u64) = unpin_and_free(address);
    fn cudaHostRegister(address: u64, bytes: u64) = pin(address, Some(bytes));
    fn cudaHostUnregister(address: u64) = pin(address, None);
    fn cudaHostGetDevicePointer(to: *mut u64, address: u64) = put(to, address);
    fn cudaMemcpy(to: u64, from: u64, bytes: usize) = copy(to, from, bytes);
    fn cudaMemcpyAsync(to: u64, from: u64, bytes: usize) = copy(to, from, bytes);
    fn cudaMemcpy2DAsync(to: u64, to_pitch: u64, from: u64, from_pitch: u64, width: usize, height: u64) = copy_rows([to, to_pitch], [from, from_pitch], width, height);
    fn cudaPointerGetAttributes(to: *mut u64, address: u64) = pointer_attributes(to, address);
    fn cudaDeviceGetDefaultMemPool(pool: *mut u64) = handle(pool);
    fn cudaMemPoolGetAttribute(_pool: u64, _attribute: i32, value: *mut u64) = put(value, 0);
    fn cudaDeviceGetGraphMemAttribute(_device: i32, _attribute: i32, value: *mut u64) = put(value, 0);
    fn cudaGetSymbolAddress(to: *mut u64) = put(to, memory::reserve(1));

    fn cudaStreamCreate(stream: *mut u64) = handle(stream);
    fn cudaStreamCreateWithPriority(stream: *mut u64) = handle(stream);
    fn cudaStreamCreateWithFlags(stream: *mut u64) = handle(stream);
    fn cudaStreamGetPriority(_stream: u64, priority: *mut i32) = put(priority, 0);
    fn cudaStreamAddCallback(stream: u64, function: Callback, data: u64) = call_back(function, stream, data);
    fn cudaLaunchHostFunc(_stream: u64, function: Host, data: u64) = call(function, data);
    fn cudaEventCreate(event: *mut u64) = handle(event);
    fn cudaEventCreateWithFlags(event: *mut u64) = handle(event);
    fn cudaEventQuery() = event_status();
    // Programs divide by it.
    fn cudaEventElapsedTime(ms: *mut f32) = put(ms, 1.0);
    fn cudaEventElapsedTime_v2(ms: *mut f32) = put(ms, 1.0);

    fn cudaStreamBeginCapture(stream: u64) = begin_capture(stream);
    fn cudaStreamBeginCaptureToGraph(stream: u64) = begin_capture(stream);
    fn cudaStreamEndCapture(_stream: u64, graph: *mut u64) = end_capture(graph);
    fn cudaStreamIsCapturing(stream: u64, status: *mut i32) = is_capturing(stream, status);
    fn cudaStreamGetCaptureInfo(stream: u64, status: *mut i32, id: *mut u64, graph: *mut u64, before: *mut u64, edges: *mut u64, count: *mut u64) = new_is_capturing(stream, status, id, [graph, before, edges, count]);
    fn cudaStreamGetCaptureInfo_v2(stream: u64, status: *mut i32, id: *mut u64, graph: *mut u64, before: *mut u64, count: *mut u64) = capture_info(stream, status, id, [graph, before, count, count]);
    fn cudaGraphGetNodes(_graph: u64, _nodes: *mut u64, count: *mut u64) = put(count, 1);
    fn cudaGraphInstantiate(exec: *mut u64) = handle(exec);
    fn cudaGraphInstantiateWithFlags(exec: *mut u64) = handle(exec);

    fn cudaLaunchKernel() = launch();
    fn cudaLaunchKernelExC() = launch();
    fn __cudaLaunchKernel() = launch();
    fn cudaFuncGetAttributes(to: *mut [i32; 14]) = fill_attributes(to);
    fn cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks: *mut i32, _function: u64, threads: i32) = put(blocks, occupancy(threads));
    fn cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks: *mut i32, _function: u64, threads: i32) = put(blocks, occupancy(threads));
    fn cudaLibraryLoadData(library: *mut u64) = handle(library);
    fn cudaLibraryLoadFromFile(library: *mut u64) = handle(library);
    fn cudaLibraryGetKernel(kernel: *mut u64) = handle(kernel);
    fn __cudaGetKernel(kernel: *mut u64) = handle(kernel);
    fn cudaLibraryGetKernelCount(count: *mut u32) = put(count, 1);
    fn cudaLibraryGetUnifiedFunction(function: *mut u64) = handle(function);
    fn cudaLibraryGetGlobal(address: *mut u64, bytes: *mut u64) = { put(bytes, 0); put(address, memory::reserve(1)) };
    fn cudaLibraryGetManaged(address: *mut u64, bytes: *mut u64) = { put(bytes, 0); put(address, memory::reserve(1)) };
    fn cudaGetDriverEntryPoint(symbol: *const c_char, function: *mut *mut c_void, _flags: u64, status: *mut i32) = {
        // CUDA 11 passes no status.
        put(if SETTINGS.cuda < 12_000 { std::ptr::null_mut() } else { status }, 0);
        put(function, crate::driver::find(symbol))
    };
    fn cudaGetDriverEntryPointByVersion(symbol: *const c_char, function: *mut *mut c_void, _version: u32, _flags: u64, status: *mut i32) = { put(status, 0); put(function, crate::driver::find(symbol)) };
    fn __cudaPopCallConfiguration(grid: *mut [u32; 3], block: *mut [u32; 3], shared: *mut u64, stream: *mut u64) = { put(grid, [1; 3]); put(block, [1; 3]); put(shared, 0); put(stream, 0) };
}

/// A pointer to something, as the fat binary's handle must not be null.
#[unsafe(no_mangle)]
extern "C" fn __cudaRegisterFatBinary() -> *const u64 {
    static BINARY: u64 = 0;
    &raw const BINARY
}
