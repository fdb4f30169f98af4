//! Scenes with annotations through `vramscope-api` and NVTX.

use std::ffi::c_void;
use std::ptr::null_mut;

use vramscope_api::{Domain, range};

use crate::gpu::{Gpu, call};
use crate::nvtx::{Message, Nvtx};

const MIB: u64 = 1 << 20;

/// An arena that divides one allocation.
pub(crate) fn suballoc(gpu: &Gpu) {
    let arena = gpu.alloc(16 * MIB as usize);
    for part in 0..8 {
        vramscope_api::suballoc(arena + part * MIB, 700_000, null_mut());
    }
    for part in [1, 2, 5] {
        vramscope_api::subfree(arena + part * MIB, null_mut());
    }
    vramscope_api::suballoc(arena + MIB, 100, null_mut());
    vramscope_api::annotate(arena, "the arena");
    println!("suballoc: done");
}

/// Nested ranges on several threads and in domains, marks, and ranges that end on another thread.
pub(crate) fn ranges(gpu: &Gpu) {
    let _run = range!("run {}", 1);
    let loading = vramscope_api::range_start("loading");
    std::thread::scope(|scope| {
        for worker in 0..3 {
            let build = std::thread::Builder::new().name(format!("reader {worker}"));
            let work = move || {
                gpu.enter();
                let _read = range!("read {worker}");
                let _inner = Domain::named("files").range("open");
                gpu.alloc(MIB as usize)
            };
            build.spawn_scoped(scope, work).expect("a thread");
        }
    });
    for step in 0..3 {
        let _step = range!("step {step}");
        let _forward = vramscope_api::range("forward");
        let address = gpu.alloc(100_000);
        vramscope_api::mark("between");
        gpu.free(address);
    }
    let ends = std::thread::spawn(move || vramscope_api::range_end(loading));
    ends.join().expect("it ends");
    println!("annotations: done");
}

/// Records only what happens between `start` and `stop`.
pub(crate) fn start_stop(gpu: &Gpu) {
    let before = gpu.alloc(3 * MIB as usize);
    vramscope_api::start();
    let during = gpu.alloc(5 * MIB as usize);
    gpu.free(before);
    vramscope_api::stop();
    gpu.free(during);
    gpu.alloc(7 * MIB as usize);
    println!("start-stop: done");
}

/// Marks a stream's progress by host functions, which run on a thread of the driver.
pub(crate) fn host_function(gpu: &Gpu) {
    extern "C" fn mark(_: *mut c_void) {
        vramscope_api::mark("in the stream");
    }
    let stream = gpu.stream();
    let address = gpu.alloc_async(MIB as usize, stream);
    call!(gpu, cuLaunchHostFunc(stream, mark, null_mut()));
    gpu.free_async(address, stream);
    println!("host-function: done");
}

/// Asks for a snapshot, to the path in the variable `DUMP`.
pub(crate) fn dump(gpu: &Gpu) {
    gpu.alloc(3 * MIB as usize);
    let path = std::env::var("DUMP").expect("a path");
    let is_asked = vramscope_api::dump(path);
    assert_eq!(is_asked, vramscope_api::is_captured());
    gpu.alloc(5 * MIB as usize);
    println!("dump: done");
}

/// Ranges and marks of every kind in NVTX, around allocations.
pub(crate) fn nvtx(gpu: &Gpu) {
    let nvtx = Nvtx::attach();
    if !nvtx.has_tool {
        println!("nvtx: no tool");
        return;
    }
    let by_attributes = Message::Ascii(c"by attributes");
    assert_eq!(nvtx.push("outer"), 0);
    assert_eq!(nvtx.push_wide("wide ü"), 1);
    let first = gpu.alloc(1 << 20);
    assert_eq!(nvtx.push_event(&by_attributes), 2);
    gpu.free(first);
    assert_eq!(nvtx.pop(), 2);
    nvtx.mark(Some(c"a mark"));
    let started = nvtx.start("started");
    assert_ne!(started, 0);

    let library = nvtx.domain("a library");
    assert_eq!(nvtx.push_in(library, &by_attributes), 0);
    gpu.alloc(1000);
    assert_eq!(nvtx.pop_in(library), 0);

    std::thread::scope(|scope| {
        scope.spawn(|| nvtx.end(started));
    });
    assert_eq!(nvtx.pop(), 1);
    assert_eq!(nvtx.pop(), 0);
    assert!(nvtx.pop() < 0);
    println!("nvtx: done");
}
