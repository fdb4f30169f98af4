//! The picture of an inductor graph: memory by step of several orders as step curves, and below them, on the
//! same x axis, every buffer's life as a bar.

pub mod bars;
pub mod curves;
