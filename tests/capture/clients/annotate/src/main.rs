//! Annotates ranges while it allocates, and prints the results of the annotation functions. The first argument names
//! the interface.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DriverError};
use scenes::nvtx::{Message, Nvtx};
use tracing_subscriber::prelude::*;
use vramscope_api::cudarc::{CudaSliceExt as _, CudaStreamExt as _};
use vramscope_api::{Domain, mark, range};

const MIB: usize = 1 << 20;

fn stream() -> Result<Arc<CudaStream>, DriverError> {
    Ok(CudaContext::new(0)?.default_stream())
}

fn alloc(stream: &Arc<CudaStream>) -> Result<CudaSlice<u8>, DriverError> {
    stream.alloc_zeros::<u8>(MIB)
}

fn main() -> Result<(), DriverError> {
    match std::env::args().nth(1).as_deref() {
        Some("nvtx") => annotate_by_nvtx(),
        Some("api") => annotate_by_api(),
        Some("tracing") => annotate_by_tracing(),
        Some("nobody-listens") => {
            let _range = range!("{}", never_formatted());
            mark("nothing");
            println!(
                "{} {}",
                vramscope_api::range_push("a"),
                vramscope_api::is_captured()
            );
            Ok(())
        }
        Some("without-cuda") => {
            let nvtx = attach();
            println!("{}", nvtx.push("alone"));
            let _range = range!("alone too");
            Ok(())
        }
        other => panic!("{other:?} is not an interface"),
    }
}

/// Attaches to the tool, and prints that.
fn attach() -> Nvtx {
    let nvtx = Nvtx::attach();
    if nvtx.has_tool {
        println!("attached");
    }
    nvtx
}

/// Panics when it is formatted.
fn never_formatted() -> impl std::fmt::Display {
    struct NeverFormatted;
    impl std::fmt::Display for NeverFormatted {
        fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            panic!("formatted although nothing is captured")
        }
    }
    NeverFormatted
}

fn annotate_by_nvtx() -> Result<(), DriverError> {
    let nvtx = attach();
    nvtx.name_this_thread("conductor");
    println!("{}", nvtx.push("program"));
    println!("{} {}", nvtx.push("before cuda"), nvtx.pop());
    let stream = stream()?;
    let _a = alloc(&stream)?;
    println!("{}", nvtx.push_wide("wide é"));
    let cache = nvtx.domain("cache");
    assert_eq!(cache, nvtx.domain_wide("cache"), "one domain per name");
    let evict = Message::Registered(nvtx.register(cache, "evict"));
    println!(
        "{} {}",
        nvtx.push_in(cache, &evict),
        nvtx.push_in(cache, &evict)
    );
    let _b = alloc(&stream)?;
    println!(
        "{} {} {}",
        nvtx.pop_in(cache),
        nvtx.pop_in(cache),
        nvtx.pop_in(cache)
    );
    nvtx.mark_event(&Message::Wide("mark"));
    nvtx.mark(None);
    nvtx.push_null();
    println!("{}", nvtx.pop());
    let copy = nvtx.start("copy");
    let _c = alloc(&stream)?;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            nvtx.name_this_thread("helper");
            println!("{}", nvtx.push("in thread"));
            nvtx.end(copy);
            println!("{} {}", nvtx.pop(), nvtx.pop());
        });
    });
    println!("{} {} {}", nvtx.pop(), nvtx.pop(), nvtx.pop());
    nvtx.push(&"long".repeat(10_000));
    nvtx.push("never ends");
    let _d = alloc(&stream)?;
    Ok(())
}

fn annotate_by_api() -> Result<(), DriverError> {
    let stream = stream()?;
    let weights = alloc(&stream)?;
    weights.annotate("weights");
    let load = vramscope_api::range_start("load");
    for step in 0..2 {
        let _step = range!("train step {step}");
        let _forward = stream.device_range("forward");
        let _activations = alloc(&stream)?;
        let _evict = Domain::named("cache").range("evict");
    }
    let arena = alloc(&stream)?;
    let (address, _) = cudarc::driver::DevicePtr::device_ptr(&arena, &stream);
    vramscope_api::suballoc(address, 4096, std::ptr::null_mut());
    vramscope_api::suballoc(address + 8192, 4096, std::ptr::null_mut());
    vramscope_api::subfree(address, std::ptr::null_mut());
    std::thread::spawn(move || vramscope_api::range_end(load))
        .join()
        .expect("no panic");
    vramscope_api::stop();
    let _around = range!("around");
    drop(range!("unseen"));
    let open = range!("open");
    let _unseen_too = alloc(&stream)?;
    vramscope_api::start();
    let _seen = alloc(&stream)?;
    drop(open);
    mark("end");
    stream.synchronize()
}

fn annotate_by_tracing() -> Result<(), DriverError> {
    tracing_subscriber::registry()
        .with(vramscope_api::tracing::tracing_layer())
        .init();
    let stream = stream()?;
    for step in 0..2 {
        let _step = tracing::info_span!("train", step).entered();
        let forward = tracing::info_span!("forward", layers = tracing::field::Empty, of = "model");
        forward.record("layers", 3);
        let _activations = forward.in_scope(|| alloc(&stream))?;
    }
    Ok(())
}
