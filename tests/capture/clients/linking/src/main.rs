//! A cudarc program linked with the driver: like `loading`, without NVTX.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DriverError};

#[inline(never)]
fn layer(stream: &Arc<CudaStream>, floats: usize) -> Result<CudaSlice<f32>, DriverError> {
    stream.alloc_zeros::<f32>(floats)
}

fn main() -> Result<(), DriverError> {
    let context = CudaContext::new(0)?;
    let stream = context.default_stream();
    let weights = stream.clone_htod(&[1.0_f32, 2.0, 3.0])?;
    assert_eq!(stream.clone_dtoh(&weights)?, [1.0, 2.0, 3.0]);
    let mut layers = Vec::new();
    for n in 1..30 {
        layers.push(layer(&stream, n * 100_000)?);
        if n % 7 == 0 {
            layers.remove(n / 3);
        }
    }
    let too_much = layer(&stream, 1 << 40);
    println!("too much: {:?}", too_much.err().map(|error| error.0 as u32));
    drop(layers);
    context.synchronize()?;
    println!("done");
    Ok(())
}
