//! A cudarc program with streams, slices, pinned and unified memory and copies. With the first argument `nvtx`,
//! also with NVTX ranges. They are optional because `cudarc::nvtx` panics without an NVTX library.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DriverError, result};

#[inline(never)]
fn layer(stream: &Arc<CudaStream>, floats: usize) -> Result<CudaSlice<f32>, DriverError> {
    stream.alloc_zeros::<f32>(floats)
}

fn main() -> Result<(), DriverError> {
    let with_nvtx = std::env::args().nth(1).as_deref() == Some("nvtx");
    let context = CudaContext::new(0)?;
    let stream = context.default_stream();
    let weights = stream.clone_htod(&[1.0_f32, 2.0, 3.0])?;
    assert_eq!(stream.clone_dtoh(&weights)?, [1.0, 2.0, 3.0]);

    let forward = with_nvtx.then(|| cudarc::nvtx::scoped_range("forward"));
    let second = context.new_stream()?;
    let a = layer(&stream, 1 << 20)?;
    let b = layer(&second, 3 << 20)?;
    drop(a);
    if with_nvtx {
        cudarc::nvtx::mark("between");
    }
    let c = layer(&stream, 1 << 18)?;
    drop(forward);

    // SAFETY: never read.
    let unified = unsafe { context.alloc_unified::<u8>(4096, true) }?;
    // SAFETY: never read.
    let pinned = unsafe { context.alloc_pinned::<u8>(4096) }?;
    // SAFETY: freed below.
    let raw = unsafe { result::malloc_sync(5 << 20) }?;
    let too_much = layer(&stream, 1 << 40);
    println!("too much: {:?}", too_much.err().map(|error| error.0 as u32));
    // SAFETY: allocated above.
    unsafe { result::free_sync(raw) }?;
    drop((b, c, unified, pinned));
    context.synchronize()?;
    println!("done");
    Ok(())
}
