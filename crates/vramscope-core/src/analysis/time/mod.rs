//! A device's recording over time: what happened to its allocations, and at which moments.
//!
//! Belongs here: allocations' lives and totals ([`history`]), the state at any moment ([`replay`]), ranges and moments
//! that the program named, and sums over them. Does not: whose code it was (`code`), and the layout of memory in
//! segments and blocks (`memory`).

pub mod annotation_totals;
pub mod annotations;
pub mod byte_steps;
pub mod curves;
pub mod history;
pub mod lanes;
pub mod lifetime;
pub mod markers;
pub mod moment_times;
pub mod phase;
pub mod range_totals;
pub mod replay;
pub mod selection;
pub mod trace_names;
