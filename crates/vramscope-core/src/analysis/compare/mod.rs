//! Comparisons of two sides, which may be moments, devices or files.
//!
//! Belongs here: a description of a side that is meaningful outside its file, and the differences between sides.

pub mod changes;
pub mod flat_settings;
pub mod headline;
pub mod names;
pub mod phases;
pub mod side;
pub mod site_order;
