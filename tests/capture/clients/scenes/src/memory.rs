//! Scenes with one kind of memory each.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use crate::driver::{Handle, function};
use crate::gpu::{Gpu, call, expect};

const MIB: usize = 1 << 20;

/// `cuMemAlloc`, pitched and managed memory, failing frees, and reused addresses.
pub(crate) fn plain(gpu: &Gpu) {
    let small: Vec<_> = (1..=20).map(|n| gpu.alloc(n * 777)).collect();
    let (large, larger) = (gpu.alloc(3 * MIB), gpu.alloc(100 * MIB + 1));
    call!(gpu, cuMemsetD8_v2(large, 42, 3 * MIB));
    let mut byte = 0_u8;
    call!(gpu, cuMemcpyDtoH_v2((&raw mut byte).cast(), large + 5, 1));
    assert_eq!(byte, 42);

    let (mut pitched, mut pitch) = (0, 0);
    call!(
        gpu,
        cuMemAllocPitch_v2(&raw mut pitched, &raw mut pitch, 1000, 3000, 4)
    );
    expect(pitch == 1024, "rows of 1024 bytes");
    let mut managed = 0;
    call!(gpu, cuMemAllocManaged(&raw mut managed, 5 * MIB, 1));

    for &address in small.iter().step_by(2) {
        gpu.free(address);
    }
    let again = gpu.alloc(100);
    expect(
        small.contains(&again),
        "the driver gives freed places again",
    );
    call!(gpu, cuMemFree_v2(larger + 512) => 1);
    call!(gpu, cuMemFreeAsync(larger + 512, null_mut()) => 1);
    // Plain memory may be freed in the order of a stream.
    gpu.free_async(gpu.alloc(2 * MIB), null_mut());
    call!(gpu, cuMemFree_v2(0) => 0);
    let mut nothing = 0;
    call!(gpu, cuMemAlloc_v2(&raw mut nothing, 0) => 1);
    gpu.free(pitched);
    gpu.free(larger);
    // Remaining: half of the small allocations, `again`, `large` and `managed`.
    println!("plain: done");
}

/// The default pool and created pools: trimmed at synchronisations, kept by a threshold, destroyed while in use.
pub(crate) fn pools(gpu: &Gpu) {
    let (first, second) = (gpu.stream(), gpu.stream());
    let a = gpu.alloc_async(10 * MIB, first);
    let b = gpu.alloc_async(1000, second);
    let c = gpu.alloc_async(40 * MIB, first);
    expect(gpu.alloc_async(0, first) == 0, "0 bytes have no address");
    gpu.free_async(c, second);
    // Freed but not trimmed: the address is reused.
    let again = gpu.alloc_async(40 * MIB, first);
    expect(again == c, "a pool reuses an address at once");
    gpu.free_async(again, first);
    gpu.synchronise();
    gpu.free_async(a, first);
    gpu.free_async(0, first);
    // A block of a pool, freed by the synchronous function.
    gpu.free(b);
    call!(gpu, cuStreamSynchronize(first));

    let own = gpu.new_pool(0);
    let mut keep = 64 * MIB as u64;
    call!(gpu, cuMemPoolSetAttribute(own, 4, &raw mut keep));
    let kept: Vec<_> = (0..4).map(|_| gpu.alloc_from(own, 20 * MIB)).collect();
    for address in kept {
        gpu.free_async(address, null_mut());
    }
    gpu.synchronise();
    call!(gpu, cuMemPoolTrimTo(own, 32 * MIB));
    let last = gpu.alloc_from(own, MIB);
    let other = gpu.new_pool(0);
    let outlives = gpu.alloc_from(other, MIB);
    call!(gpu, cuMemPoolDestroy(other));
    gpu.free_async(outlives, null_mut());
    call!(gpu, cuMemPoolTrimTo(own, 0));
    assert_ne!(last, 0);
    call!(gpu, cuStreamDestroy_v2(first));
    println!("pools: done");
}

/// The default pool cannot be destroyed, and is trimmed as before.
pub(crate) fn default_pool(gpu: &Gpu) {
    let freed = gpu.alloc_async(10 * MIB, null_mut());
    call!(gpu, cuMemPoolDestroy(gpu.pool) => 1);
    gpu.free_async(freed, null_mut());
    gpu.synchronise();
    println!("default-pool: done");
}

/// Pools on the host and of managed memory.
pub(crate) fn other_pools(gpu: &Gpu) {
    let (pinned, managed, device, host) = (1, 2, 1, 2);
    let on_host = gpu.new_pool_of(pinned, host);
    let freed = gpu.alloc_from(on_host, 2 * MIB);
    gpu.alloc_from(on_host, 3 * MIB);
    gpu.alloc_from(gpu.new_pool_of(managed, device), 5 * MIB);
    gpu.free_async(freed, null_mut());
    println!("other-pools: done");
}

/// Address ranges that are mapped piece by piece, as for expandable segments.
pub(crate) fn ranges(gpu: &Gpu) {
    const PAGE: usize = 2 * MIB;
    let mut range = 0;
    call!(gpu, cuMemAddressReserve(&raw mut range, 16 * PAGE, 0, 0, 0));
    let physical: Vec<_> = (0..4).map(|_| gpu.physical(2 * PAGE, 0)).collect();
    for (at, &handle) in physical.iter().enumerate() {
        let address = range + (at * 2 * PAGE) as u64;
        call!(gpu, cuMemMap(address, 2 * PAGE, 0, handle, 0));
        let access = [1, 0, 3];
        call!(gpu, cuMemSetAccess(address, 2 * PAGE, &raw const access, 1));
    }
    // Overlapping a mapping, then a part of one.
    call!(gpu, cuMemMap(range, PAGE, 0, physical[0], 0) => 801);
    call!(gpu, cuMemUnmap(range, PAGE) => 1);
    // Makes a hole in the middle, then unmaps two pieces at once.
    call!(gpu, cuMemUnmap(range + 2 * PAGE as u64, 2 * PAGE));
    call!(gpu, cuMemRelease(physical[1]));
    call!(gpu, cuMemUnmap(range + 4 * PAGE as u64, 4 * PAGE));
    call!(gpu, cuMemRelease(physical[2]));
    // CUDA demands an offset of 0.
    let again = range + 10 * PAGE as u64;
    call!(gpu, cuMemMap(again, PAGE, PAGE, physical[0], 0) => 801);
    // Mapped at a second address, queried, and released while mapped: the memory stays until it is unmapped.
    call!(gpu, cuMemMap(again, 2 * PAGE, 0, physical[0], 0));
    let mut looked_at = 0;
    let place = again as usize as *mut c_void;
    call!(gpu, cuMemRetainAllocationHandle(&raw mut looked_at, place));
    expect(looked_at == physical[0], "the same handle");
    call!(gpu, cuMemRelease(looked_at));
    call!(gpu, cuMemRelease(physical[0]));
    // A window of a multicast object holds no memory of its own.
    let (window, properties) = (range + 12 * PAGE as u64, [1, 2 * PAGE as u64, 1, 0]);
    let mut multicast = 0;
    call!(
        gpu,
        cuMulticastCreate(&raw mut multicast, &raw const properties)
    );
    call!(gpu, cuMemMap(window, 2 * PAGE, 0, multicast, 0));

    let mut second = 0;
    call!(gpu, cuMemAddressReserve(&raw mut second, PAGE, 0, 0, 0));
    let handle = gpu.physical(PAGE, 0);
    call!(gpu, cuMemMap(second, PAGE, 0, handle, 0));
    call!(gpu, cuMemUnmap(second, PAGE));
    call!(gpu, cuMemRelease(handle));
    call!(gpu, cuMemAddressFree(second, PAGE));
    println!("ranges: done");
}

/// Memory of graphs, by capturing a stream and by adding nodes.
pub(crate) fn graphs(gpu: &Gpu) {
    let stream = gpu.stream();
    let before = gpu.alloc_async(MIB, stream);
    call!(gpu, cuStreamBeginCapture_v2(stream, 0));
    let a = gpu.alloc_async(3 * MIB, stream);
    let b = gpu.alloc_async(MIB, stream);
    gpu.free_async(a, stream);
    let mut graph = null_mut();
    call!(gpu, cuStreamEndCapture(stream, &raw mut graph));
    let mut executable = null_mut();
    call!(
        gpu,
        cuGraphInstantiateWithFlags(&raw mut executable, graph, 0)
    );
    call!(gpu, cuGraphLaunch(executable, stream));
    call!(gpu, cuStreamSynchronize(stream));
    gpu.free_async(b, stream);

    let (mut built, mut node) = (null_mut(), null_mut());
    call!(gpu, cuGraphCreate(&raw mut built, 0));
    let mut parameters = [0_u64; 15];
    // Pinned memory of device 0.
    (parameters[0], parameters[1]) = (1, 1);
    parameters[13] = 2 * MIB as u64;
    call!(
        gpu,
        cuGraphAddMemAllocNode(&raw mut node, built, null(), 0, &raw mut parameters)
    );
    let address = parameters[14];
    let after: *const _ = &raw const node;
    let mut free = null_mut();
    call!(
        gpu,
        cuGraphAddMemFreeNode(&raw mut free, built, after, 1, address)
    );
    gpu.free_async(before, stream);
    println!("graphs: done");
}

/// Memory of a graph that outlives it, until trimmed. Waits between samples of free memory.
pub(crate) fn graph_memory(gpu: &Gpu) {
    let sampled = || {
        std::thread::sleep(std::time::Duration::from_millis(150));
        gpu.alloc(3 * MIB)
    };
    let stream = gpu.stream();
    sampled();
    call!(gpu, cuStreamBeginCapture_v2(stream, 0));
    let address = gpu.alloc_async(64 * MIB, stream);
    gpu.free_async(address, stream);
    let (mut graph, mut executable) = (null_mut(), null_mut());
    call!(gpu, cuStreamEndCapture(stream, &raw mut graph));
    call!(
        gpu,
        cuGraphInstantiateWithFlags(&raw mut executable, graph, 0)
    );
    call!(gpu, cuGraphLaunch(executable, stream));
    call!(gpu, cuStreamSynchronize(stream));
    sampled();
    call!(gpu, cuGraphExecDestroy(executable));
    call!(gpu, cuGraphDestroy(graph));
    sampled();
    call!(gpu, cuDeviceGraphMemTrim(0));
    sampled();
    println!("graph-memory: done");
}

/// A capture whose beginning was not seen, while other streams use memory.
pub(crate) fn unseen_capture(gpu: &Gpu) {
    type Begin = unsafe extern "C" fn(Handle, u32) -> u32;
    let (captured, other) = (gpu.stream(), gpu.stream());
    // SAFETY: the type of the stand-in driver's function, which nobody hooks.
    let begin = unsafe { function::<Begin>("fakecudaBeginCaptureUnseen") };
    // SAFETY: a stream.
    assert_eq!(unsafe { begin.expect("the function")(captured, 0) }, 0);
    let address = gpu.alloc_async(3 * MIB, other);
    gpu.free_async(address, other);
    call!(gpu, cuStreamSynchronize(other));
    let mut graph = null_mut();
    call!(gpu, cuStreamEndCapture(captured, &raw mut graph));
    call!(gpu, cuGraphDestroy(graph));
    println!("unseen-capture: done");
}

/// Graphs by the functions of CUDA 13.2 and 13.3: nodes of any kind, and a capture into an existing graph.
pub(crate) fn new_graphs(gpu: &Gpu) {
    type AddNode = unsafe extern "C" fn(
        *mut Handle,
        Handle,
        *const Handle,
        *const c_void,
        usize,
        *mut [u64; 32],
    ) -> u32;
    type Recapture = unsafe extern "C" fn(Handle, u32, Handle, Handle, Handle) -> u32;
    // SAFETY: the types of these functions.
    let (add, recapture) = unsafe {
        (
            function::<AddNode>("cuGraphAddNode_v3").expect("the function"),
            function::<Recapture>("cuStreamBeginRecaptureToGraph").expect("the function"),
        )
    };
    let (mut graph, mut node) = (null_mut(), null_mut());
    call!(gpu, cuGraphCreate(&raw mut graph, 0));
    let add = |node: *mut Handle, mut parameters: [u64; 32]| {
        // SAFETY: the pointers are valid.
        let result = unsafe { add(node, graph, null(), null(), 0, &raw mut parameters) };
        assert_eq!(result, 0);
        parameters
    };
    let mut allocation = [0_u64; 32];
    (allocation[0], allocation[2 + 13]) = (10, 2 * MIB as u64);
    let address = add(&raw mut node, allocation)[2 + 14];
    add(&raw mut node, allocation);
    let mut free = [0_u64; 32];
    (free[0], free[2]) = (11, address);
    add(&raw mut node, free);

    let stream = gpu.stream();
    // SAFETY: a stream and a graph.
    assert_eq!(
        unsafe { recapture(stream, 0, graph, null_mut(), null_mut()) },
        0
    );
    gpu.alloc_async(3 * MIB, stream);
    let mut captured = null_mut();
    call!(gpu, cuStreamEndCapture(stream, &raw mut captured));
    assert_eq!(captured, graph);
    println!("new-graphs: done");
}

/// Pinned memory: allocated, and registered.
pub(crate) fn host(gpu: &Gpu) {
    let (mut a, mut b) = (null_mut(), null_mut());
    call!(gpu, cuMemHostAlloc(&raw mut a, MIB, 1));
    call!(gpu, cuMemAllocHost_v2(&raw mut b, 4096));
    let mut own = vec![0_u8; 3 * MIB];
    let address: *mut c_void = own.as_mut_ptr().cast();
    call!(gpu, cuMemHostRegister_v2(address, own.len(), 0));
    call!(gpu, cuMemFreeHost(address) => 1);
    call!(gpu, cuMemHostUnregister(address));
    call!(gpu, cuMemFreeHost(a));
    let device = gpu.alloc(MIB);
    gpu.free(device);
    println!("host: done");
}

/// Arrays, which have no address.
pub(crate) fn arrays(gpu: &Gpu) {
    // Width, height, and floats (0x20) in two channels.
    let descriptor = [1024, 1024, 0x20 | 2 << 32];
    let (mut kept, mut destroyed) = (null_mut(), null_mut());
    call!(gpu, cuArrayCreate_v2(&raw mut kept, &raw const descriptor));
    call!(
        gpu,
        cuArrayCreate_v2(&raw mut destroyed, &raw const descriptor)
    );
    call!(gpu, cuArrayDestroy(destroyed));
    let address = gpu.alloc(MIB);
    gpu.free(address);
    println!("arrays: done");
}

/// Allocations that fail for lack of memory.
pub(crate) fn out_of_memory(gpu: &Gpu) {
    let held = gpu.alloc(64 * MIB);
    let mut none = 0;
    call!(gpu, cuMemAlloc_v2(&raw mut none, 1 << 45) => 2);
    call!(gpu, cuMemAllocAsync(&raw mut none, 1 << 44, null_mut()) => 2);
    let properties = [1, 1, 0, 0];
    call!(gpu, cuMemCreate(&raw mut none, 1 << 43, &raw const properties, 0) => 2);
    assert_eq!(none, 0);
    let small = gpu.alloc(MIB);
    gpu.free(small);
    gpu.free(held);
    println!("out-of-memory: done");
}
