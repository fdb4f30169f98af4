//! The chart of an Inductor graph: live memory by step, one step curve per execution order. Below
//! it, on the same x axis, one bar per buffer for its lifetime.

pub mod bars;
pub mod curves;
