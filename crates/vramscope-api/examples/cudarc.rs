//! Ranges on a stream, and named slices. Run with `vramscope-capture run -o snap.pickle -- cudarc`.

use cudarc::driver::{CudaContext, DriverError};
use vramscope_api::cudarc::{CudaSliceExt as _, CudaStreamExt as _};
use vramscope_api::range;

fn main() -> Result<(), DriverError> {
    let stream = CudaContext::new(0)?.default_stream();
    let weights = stream.alloc_zeros::<f32>(1 << 20)?;
    weights.annotate("weights");
    for step in 0..3 {
        let _step = range!("train step {step}");
        let _forward = stream.device_range("forward");
        let activations = stream.alloc_zeros::<f32>(1 << 18)?;
        activations.annotate(format_args!("activations of step {step}"));
    }
    stream.synchronize()
}
