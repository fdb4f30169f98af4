//! Turns an analysed snapshot into pictures: what the page, the CLI's plots and the tests share.
//!
//! Values in, values out: no DOM, no I/O, no clock, no threads; the same code runs natively and in wasm.
//!
//! - [`raster`]: the stacked timeline of every allocation as pixels, exact at every zoom;
//! - [`map`]: addresses × time, as exact;
//! - [`viewport`]: which part of the data is shown; pan, zoom, clamp;
//! - [`allocator_picture`]: segments and their blocks at one moment;
//! - [`colour`], [`theme`]: data colours and the colours of meanings;
//! - [`views`], [`address`]: the views of the page, and what is seen as the text of an address;
//! - [`axes`], [`minimap`]: ticks, and the curves of the overview;
//! - [`scene`]: pictures as data, which painters draw: on the page's canvas, as SVG, as PNG;
//! - [`chart`]: axes and curves, drawn by plotters into scenes;
//! - `plot` (feature `plot`): every view as a complete picture, PNG or SVG;
//! - [`flame`]: call trees as flame graphs and as tables;
//! - [`graph`]: orders of an inductor graph: memory by step, and buffers' lives;
//! - [`groups`]: what the colours mean, for a whole snapshot;
//! - [`change_flame`], [`stacked_curves`]: two sides compared, by call path and over time;
//! - [`header`], [`lanes`], [`lines`], [`marks`], [`reserved`], [`ruler`], [`shown`]: what lies above and over the timeline;
//! - [`waterfall`], [`reserved_chart`]: from ideal to real, and what other settings would do;
//! - [`segment_bands`]: the columns of the segment timeline;
//! - [`display`]: numbers as text;
//! - [`editor`]: where a frame's source opens.

#![warn(missing_docs)]

pub mod address;
pub mod allocator_picture;
pub mod axes;
pub use vramscope_core::bitset;
pub mod change_flame;
pub mod chart;
pub mod colour;
mod coverage;
pub mod display;
pub mod editor;
pub mod flame;
pub mod graph;
pub mod groups;
pub mod header;
pub mod lanes;
pub mod lines;
pub mod map;
pub mod marks;
pub mod minimap;
#[cfg(feature = "plot")]
pub mod plot;
pub mod raster;
pub mod reserved;
pub mod reserved_chart;
pub mod ruler;
pub mod scene;
pub mod scroll;
pub mod segment_bands;
pub mod shown;
pub mod stacked_curves;
mod steps;
pub mod theme;
pub mod viewport;
pub mod views;
pub mod waterfall;
