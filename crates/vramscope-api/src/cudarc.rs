//! Streams and slices of [cudarc](https://docs.rs/cudarc).
//!
//! cudarc's allocations are captured as they are; these add ranges that begin and end when a stream gets there, and names
//! of slices.
#![expect(unsafe_code, reason = "hands a stream's pointer on")]

use std::fmt::Display;

use cudarc::driver::{CudaSlice, CudaStream, DevicePtr};

use crate::symbols::capture;
use crate::{DeviceRange, annotate, device_range_end, device_range_start};

/// Ranges on a stream.
pub trait CudaStreamExt {
    /// Begins a range when the stream gets there, and ends it when the stream gets to where the value was dropped. See
    /// [`device_range_start`].
    ///
    /// ```no_run
    /// use vramscope_api::cudarc::CudaStreamExt as _;
    ///
    /// # fn main() -> Result<(), cudarc::driver::DriverError> {
    /// let stream = cudarc::driver::CudaContext::new(0)?.default_stream();
    /// let _forward = stream.device_range("forward");
    /// let _activations = stream.alloc_zeros::<f32>(1 << 20)?;
    /// # Ok(())
    /// # }
    /// ```
    fn device_range(&self, name: impl Display) -> StreamRange<'_>;
}

/// A range on a stream, by [`CudaStreamExt::device_range`]; dropping it ends it.
#[derive(Debug)]
#[must_use = "the range ends when this is dropped"]
pub struct StreamRange<'s> {
    stream: &'s CudaStream,
    range: DeviceRange,
}

impl CudaStreamExt for CudaStream {
    fn device_range(&self, name: impl Display) -> StreamRange<'_> {
        // SAFETY: the stream lives as long as the borrow.
        let range = unsafe { device_range_start(name, self.cu_stream().cast()) };
        StreamRange {
            stream: self,
            range,
        }
    }
}

impl Drop for StreamRange<'_> {
    fn drop(&mut self) {
        // SAFETY: as above.
        unsafe { device_range_end(self.range, self.stream.cu_stream().cast()) };
    }
}

/// Names of slices.
pub trait CudaSliceExt {
    /// Gives the slice's memory a name, which the snapshot has beside it. See [`annotate`].
    ///
    /// ```no_run
    /// use vramscope_api::cudarc::CudaSliceExt as _;
    ///
    /// # fn main() -> Result<(), cudarc::driver::DriverError> {
    /// let stream = cudarc::driver::CudaContext::new(0)?.default_stream();
    /// let weights = stream.alloc_zeros::<f32>(1 << 20)?;
    /// weights.annotate("embedding weights");
    /// # Ok(())
    /// # }
    /// ```
    fn annotate(&self, name: impl Display);
}

impl<T> CudaSliceExt for CudaSlice<T> {
    fn annotate(&self, name: impl Display) {
        // Asking for the pointer costs an event in the stream.
        if capture().is_some() {
            let (address, _) = self.device_ptr(self.stream());
            annotate(address, name);
        }
    }
}
