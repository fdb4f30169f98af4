//! The hooked driver functions. Depends on nothing, so that tests of drivers can include it.

#[derive(Clone, Copy, Debug)]
pub(crate) struct Hooked {
    /// The exported name.
    pub(crate) name: &'static str,
    /// The first CUDA version for which `cuGetProcAddress` returns it for the name without suffixes, such as 11,020 for
    /// 11.2.
    pub(crate) since: i32,
    /// How calls are recorded.
    #[cfg_attr(not(test), expect(dead_code, reason = "for tests"))]
    pub(crate) shape: Shape,
}

/// How a function's calls are recorded, named by the function in `entry` that does it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shape {
    /// Allocates device memory.
    Alloc,
    /// Creates another object, such as a pool or a mapping.
    Create,
    /// Pins host memory.
    Pin,
    /// Frees memory or destroys an object.
    Free,
    /// Unpins host memory.
    Unpin,
    /// Waits for the device, which may then trim its pools.
    Synchronise,
    /// The arguments determine the effect.
    Around,
    /// Observed even while recording is off.
    Observe,
    /// Makes a stream call a function of the program; the stream is remembered for its annotations.
    HostFunction,
}

pub(crate) const HOOKED: [Hooked; 84] = [
    row("cuMemAlloc_v2", 3020, Shape::Alloc),
    row("cuMemAllocPitch_v2", 3020, Shape::Alloc),
    row("cuMemAllocManaged", 6000, Shape::Alloc),
    row("cuMemAllocAsync", 11020, Shape::Alloc),
    row("cuMemAllocAsync_ptsz", 11020, Shape::Alloc),
    row("cuMemAllocFromPoolAsync", 11020, Shape::Alloc),
    row("cuMemAllocFromPoolAsync_ptsz", 11020, Shape::Alloc),
    row("cuMemPoolImportPointer", 11020, Shape::Alloc),
    row("cuIpcOpenMemHandle_v2", 11000, Shape::Alloc),
    row("cuIpcOpenMemHandle", 4010, Shape::Alloc),
    row("cuExternalMemoryGetMappedBuffer", 10000, Shape::Alloc),
    row("cuGraphAddMemAllocNode", 11040, Shape::Create),
    row("cuMemFree_v2", 3020, Shape::Free),
    row("cuMemFreeAsync", 11020, Shape::Free),
    row("cuMemFreeAsync_ptsz", 11020, Shape::Free),
    row("cuIpcCloseMemHandle", 4010, Shape::Free),
    row("cuGraphAddMemFreeNode", 11040, Shape::Free),
    row("cuMemHostAlloc", 2020, Shape::Pin),
    row("cuMemAllocHost_v2", 3020, Shape::Pin),
    row("cuMemHostRegister_v2", 6050, Shape::Pin),
    row("cuMemHostRegister", 4000, Shape::Pin),
    row("cuMemFreeHost", 2000, Shape::Unpin),
    row("cuMemHostUnregister", 4000, Shape::Unpin),
    row("cuMemAddressReserve", 10020, Shape::Create),
    row("cuMemAddressFree", 10020, Shape::Free),
    row("cuMemCreate", 10020, Shape::Create),
    row("cuMemRelease", 10020, Shape::Free),
    row("cuMemMap", 10020, Shape::Create),
    row("cuMemUnmap", 10020, Shape::Free),
    row("cuMemImportFromShareableHandle", 10020, Shape::Create),
    row("cuMemRetainAllocationHandle", 11000, Shape::Create),
    row("cuMulticastCreate", 12010, Shape::Create),
    row("cuMemPoolCreate", 11020, Shape::Create),
    row("cuMemPoolDestroy", 11020, Shape::Free),
    row("cuMemPoolTrimTo", 11020, Shape::Around),
    row("cuArrayCreate_v2", 3020, Shape::Create),
    row("cuArray3DCreate_v2", 3020, Shape::Create),
    row("cuMipmappedArrayCreate", 5000, Shape::Create),
    row("cuArrayDestroy", 2000, Shape::Free),
    row("cuMipmappedArrayDestroy", 5000, Shape::Free),
    row("cuStreamSynchronize", 2000, Shape::Synchronise),
    row("cuStreamSynchronize_ptsz", 7000, Shape::Synchronise),
    row("cuCtxSynchronize", 2000, Shape::Synchronise),
    row("cuCtxSynchronize_v2", 13000, Shape::Synchronise),
    row("cuEventSynchronize", 2000, Shape::Synchronise),
    row("cuDevicePrimaryCtxRetain", 7000, Shape::Observe),
    row("cuDevicePrimaryCtxRelease_v2", 11000, Shape::Observe),
    row("cuDevicePrimaryCtxReset_v2", 11000, Shape::Observe),
    row("cuCtxDestroy_v2", 4000, Shape::Observe),
    row("cuDevicePrimaryCtxRelease", 7000, Shape::Observe),
    row("cuDevicePrimaryCtxReset", 7000, Shape::Observe),
    row("cuCtxDestroy", 2000, Shape::Observe),
    row("cuCtxCreate_v2", 3020, Shape::Observe),
    row("cuCtxCreate_v3", 11040, Shape::Observe),
    row("cuCtxCreate_v4", 12050, Shape::Observe),
    row("cuCtxSetCurrent", 4000, Shape::Observe),
    row("cuCtxPushCurrent_v2", 4000, Shape::Observe),
    row("cuGraphAddNode", 12020, Shape::Around),
    row("cuGraphAddNode_v2", 12030, Shape::Around),
    row("cuGraphAddNode_v3", 13020, Shape::Around),
    row("cuGraphLaunch", 10000, Shape::Observe),
    row("cuGraphLaunch_ptsz", 10000, Shape::Observe),
    row("cuDeviceGraphMemTrim", 11040, Shape::Observe),
    row("cuStreamBeginCapture", 10000, Shape::Observe),
    row("cuStreamBeginCapture_ptsz", 10000, Shape::Observe),
    row("cuStreamBeginCapture_v2", 10010, Shape::Observe),
    row("cuStreamBeginCapture_v2_ptsz", 10010, Shape::Observe),
    row("cuStreamBeginCaptureToGraph", 12030, Shape::Observe),
    row("cuStreamBeginCaptureToGraph_ptsz", 12030, Shape::Observe),
    row("cuStreamBeginRecaptureToGraph", 13030, Shape::Observe),
    row("cuStreamBeginRecaptureToGraph_ptsz", 13030, Shape::Observe),
    row("cuStreamBeginCaptureToCig", 13030, Shape::Observe),
    row("cuStreamBeginCaptureToCig_ptsz", 13030, Shape::Observe),
    row("cuStreamEndCaptureToCig", 13030, Shape::Observe),
    row("cuStreamEndCaptureToCig_ptsz", 13030, Shape::Observe),
    row("cuStreamEndCapture", 10000, Shape::Observe),
    row("cuStreamEndCapture_ptsz", 10000, Shape::Observe),
    row("cuGetProcAddress", 11030, Shape::Observe),
    row("cuGetProcAddress_v2", 12000, Shape::Observe),
    row("cuGetProcAddress_v2_ptsz", 12000, Shape::Observe),
    row("cuLaunchHostFunc", 10000, Shape::HostFunction),
    row("cuLaunchHostFunc_ptsz", 10000, Shape::HostFunction),
    row("cuLaunchHostFunc_v2", 13000, Shape::HostFunction),
    row("cuLaunchHostFunc_v2_ptsz", 13000, Shape::HostFunction),
];

const fn row(name: &'static str, since: i32, shape: Shape) -> Hooked {
    Hooked { name, since, shape }
}
