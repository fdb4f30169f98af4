//! Extensions for streams and slices of [cudarc](https://docs.rs/cudarc).
//!
//! cudarc's allocations are captured without this module. It adds ranges that begin and end when a stream reaches
//! them, and names for slices.
#![expect(unsafe_code, reason = "hands a stream's pointer on")]

use std::fmt::Display;

use cudarc::driver::{CudaSlice, CudaStream, DevicePtr};

use crate::symbols::capture;
use crate::{DeviceRange, annotate, device_range_end, device_range_start};

/// Ranges on a stream.
pub trait CudaStreamExt {
    /// Begins a range when the stream reaches this point, and ends it when the stream reaches the point where the
    /// value is dropped. See [`device_range_start`].
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

/// A range on a stream, from [`CudaStreamExt::device_range`]. Dropping it ends the range.
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

/// Names for slices.
pub trait CudaSliceExt {
    /// Names the slice's memory. The name appears in the snapshot. See [`annotate`].
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
        // Reading the pointer records an event in the stream, so do it only in captured programs.
        if capture().is_some() {
            let (address, _) = self.device_ptr(self.stream());
            annotate(address, name);
        }
    }
}
