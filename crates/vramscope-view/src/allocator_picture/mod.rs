//! The allocator's segments and blocks at one moment, as a picture.
//!
//! Segments stand side by side on lines, each as wide as it is large, grouped by pool and stream; a segment
//! wider than a line goes on in the next one. [`StateLayout`] says what is where and what is under a pixel,
//! [`StateRaster`] draws the part that is visible: blocks in the colour of their call site, pending frees
//! with an amber hatch, rounding with a grey one, what is free in a pale grey. What is thinner than a pixel
//! is blended by area, so that nothing is left out.

mod layout;
mod raster;
#[cfg(test)]
mod tests;

pub use layout::{Heading, Metrics, Run, StateHit, StateLayout, heading_words};
pub use raster::{StatePicture, StateRaster};
