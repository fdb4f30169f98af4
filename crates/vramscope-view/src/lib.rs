//! Turns an analysed snapshot into pictures for the page, the command line's plots and the tests.
//!
//! Pure functions: no DOM, I/O, clock or threads. The same code runs natively and in wasm.
//!
//! - [`raster`]: the stacked timeline of every allocation as pixels, exact at every zoom;
//! - [`band_labels`]: texts in its bands;
//! - [`map`]: addresses × time, equally exact;
//! - [`viewport`]: the visible part of the data; panning, zooming, clamping;
//! - [`allocator_picture`]: segments and their blocks at one moment;
//! - [`colour`], [`theme`]: colours of the data, and of the page's text, lines and states;
//! - [`views`], [`address`]: the views of the page, and the page's state as the text of its
//!   address;
//! - [`axes`], [`minimap`]: ticks, and the curves of the overview;
//! - [`scene`]: drawings as data, painted alike on the page's canvas, as SVG and as PNG;
//! - [`chart`]: axes and curves, drawn by plotters into scenes;
//! - [`plot`]: every view as a complete picture: SVG, and with the feature `font` PNG;
//! - [`flame`]: call trees as flame graphs and as tables;
//! - [`fleet`]: ranks × time as a heat map;
//! - [`graph`]: execution orders of an Inductor graph: memory by step, and the lifetimes of
//!   buffers;
//! - [`groups`]: the names that the colours stand for, for a whole snapshot;
//! - [`change_flame`], [`stacked_curves`]: two sides compared, by call path and over time;
//! - [`header`], [`lanes`], [`lines`], [`marks`], [`reserved`], [`ruler`], [`decorations`]: everything drawn above and on
//!   top of the timeline;
//! - [`waterfall`], [`reserved_chart`]: the steps from ideal to real memory, and reserved memory
//!   under other settings;
//! - [`segment_bands`]: the columns of the segment timeline;
//! - [`display`]: numbers as text;
//! - [`one_file`]: the page with files inside;
//! - [`editor`]: links that open a frame's source in an editor.

#![warn(missing_docs)]

// Lowest first: a module uses those of groups above its own.

mod colour_spaces;
mod coverage;
pub mod display;
pub mod editor;
pub mod scroll;
mod shortened;
mod steps;
pub mod viewport;
pub mod views;

pub mod theme;

pub mod colour;

pub mod axes;
pub mod groups;
pub mod raster;
pub mod scene;

pub mod address;
pub mod allocator_picture;
pub mod lanes;
mod line_labels;
pub mod map;
pub mod marks;
pub mod moment_facts;
pub mod oom_marks;
pub mod reserved;
pub mod restacked;
pub mod ruler;
pub mod segment_bands;
pub mod step_marks;
pub mod waterfall;

pub mod allocator_window;
pub mod band_labels;
pub mod chart;
pub mod decorations;
pub mod extent;
pub mod line_facts;

pub mod header;
pub mod lines;
pub mod one_file;

pub mod flame;
pub mod fleet;
pub mod graph;
pub mod minimap;
pub mod reserved_chart;
pub mod stacked_curves;

pub mod change_flame;

pub mod plot;

pub use vramscope_core::bitset;
