//! Comparisons of two sides, which may be moments, devices or files, and of all ranks of a job.
//!
//! Belongs here: a description of a side that is meaningful outside its file, and the differences between
//! sides.

pub mod changes;
pub mod flat_settings;
pub mod names;
pub mod phases;
pub mod ranks;
pub mod side;
pub mod site_order;
