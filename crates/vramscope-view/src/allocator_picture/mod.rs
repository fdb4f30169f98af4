//! The allocator's segments and blocks at one moment, as a picture.
//!
//! Segments stand side by side on lines, each as wide as it is large, grouped by pool and stream; a segment wider than a
//! line continues on the next. [`StateLayout`] computes positions and finds the blocks under a pixel. [`StateRaster`] draws
//! the visible part: blocks in the colour of their call site, pending frees with an amber hatch, rounding with a grey hatch,
//! free memory in pale grey. Blocks narrower than a pixel are blended by area, so nothing is left out.

mod layout;
mod raster;
#[cfg(test)]
mod tests;

pub use layout::{Heading, Metrics, Run, StateHit, StateLayout, heading_words};
pub use raster::{StatePicture, StateRaster};
