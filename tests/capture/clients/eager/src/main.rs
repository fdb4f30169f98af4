//! A program with the cudarc of 2025, which looks up all functions of the driver when it starts.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DriverError};

#[inline(never)]
fn layer(stream: &Arc<CudaStream>, floats: usize) -> Result<CudaSlice<f32>, DriverError> {
    stream.alloc_zeros::<f32>(floats)
}

fn main() -> Result<(), DriverError> {
    let context = CudaContext::new(0)?;
    let stream = context.default_stream();
    let first = layer(&stream, 1 << 20)?;
    let second = layer(&stream, 1 << 21)?;
    drop(first);
    let third = layer(&stream, 1 << 19)?;
    drop((second, third));
    context.synchronize()?;
    println!("done");
    Ok(())
}
