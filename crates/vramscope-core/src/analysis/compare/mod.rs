//! Two sides beside each other: moments, devices, files, or all ranks of a job.
//!
//! Belongs here: a side in a form that means the same in both, and what grew and shrank between them.

pub mod changes;
pub mod ranks;
pub mod side;
