//! NVTX ranges that begin and end in functions called by streams, as in `torch.cuda.nvtx._device_range_start`.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::driver::{Handle, HostFunction, library, symbol};
use crate::gpu::{Gpu, call};
use crate::nvtx::Nvtx;

/// A range that a stream begins.
struct DeviceRange {
    nvtx: Nvtx,
    name: &'static str,
    number: AtomicU64,
    ends: AtomicU64,
}

impl DeviceRange {
    fn new(name: &'static str) -> Self {
        Self {
            nvtx: Nvtx { has_tool: true },
            name,
            number: AtomicU64::new(0),
            ends: AtomicU64::new(0),
        }
    }

    fn data(&self) -> *mut c_void {
        std::ptr::from_ref(self).cast_mut().cast()
    }
}

unsafe extern "C" fn start(data: *mut c_void) {
    // SAFETY: from `data`, and alive while the stream works.
    let range = unsafe { &*data.cast::<DeviceRange>() };
    let number = range.nvtx.start(range.name);
    range.number.store(number, Ordering::Relaxed);
}

unsafe extern "C" fn end(data: *mut c_void) {
    // SAFETY: as above.
    let range = unsafe { &*data.cast::<DeviceRange>() };
    range.nvtx.end(range.number.load(Ordering::Relaxed));
    range.ends.fetch_add(1, Ordering::Relaxed);
}

/// A range on a stream, two on the default stream, and one of a thread.
pub(crate) fn device_ranges(gpu: &Gpu) {
    assert!(Nvtx::attach().has_tool);
    gpu.alloc(1 << 20);
    let mut stream = null_mut();
    call!(gpu, cuStreamCreate(&raw mut stream, 1));
    let (on_stream, on_default) = (
        DeviceRange::new("on stream"),
        DeviceRange::new("on default"),
    );
    for (range, stream) in [(&on_stream, stream), (&on_default, null_mut())] {
        call!(gpu, cuLaunchHostFunc(stream, start, range.data()));
        gpu.alloc(1000);
        call!(gpu, cuLaunchHostFunc(stream, end, range.data()));
    }
    per_thread(&on_default);
    let on_thread = DeviceRange::new("on thread");
    // SAFETY: the range is alive.
    unsafe {
        start(on_thread.data());
        gpu.alloc(1000);
        end(on_thread.data());
    }

    println!("device-ranges: {stream:?}");
}

/// A range in a graph that is launched many times.
pub(crate) fn in_a_graph(gpu: &Gpu) {
    assert!(Nvtx::attach().has_tool);
    gpu.alloc(1 << 20);
    let mut stream = null_mut();
    call!(gpu, cuStreamCreate(&raw mut stream, 1));
    let replayed = DeviceRange::new("replayed");
    let (mut graph, mut executable) = (null_mut(), null_mut());
    call!(gpu, cuStreamBeginCapture_v2(stream, 2));
    call!(gpu, cuLaunchHostFunc(stream, start, replayed.data()));
    call!(gpu, cuLaunchHostFunc(stream, end, replayed.data()));
    call!(gpu, cuStreamEndCapture(stream, &raw mut graph));
    assert_eq!(
        replayed.ends.load(Ordering::Relaxed),
        0,
        "it is only captured"
    );
    call!(
        gpu,
        cuGraphInstantiateWithFlags(&raw mut executable, graph, 0)
    );
    call!(gpu, cuGraphDestroy(graph));
    for _ in 0..100 {
        call!(gpu, cuGraphLaunch(executable, stream));
    }
    call!(gpu, cuStreamSynchronize(stream));
    assert_eq!(replayed.ends.load(Ordering::Relaxed), 100);
    call!(gpu, cuGraphExecDestroy(executable));
    gpu.alloc(1000);
    println!("graph-ranges: done");
}

/// Launches through the function's variant for per-thread default streams, with a mode.
fn per_thread(range: &DeviceRange) {
    type Launch = unsafe extern "C" fn(Handle, HostFunction, *mut c_void, u32) -> u32;
    let launch = symbol(library(), "cuLaunchHostFunc_v2_ptsz");
    assert!(!launch.is_null());
    // SAFETY: the driver's function of this name has this type; the range is alive.
    unsafe {
        let launch: Launch = std::mem::transmute(launch);
        assert_eq!(launch(null_mut(), start, range.data(), 1), 0);
        assert_eq!(launch(null_mut(), end, range.data(), 1), 0);
        assert_eq!(launch(null_mut(), end, range.data(), 9), 1, "no such mode");
    }
}
