//! Text that users type: filters of allocations, and names of moments and ranges.
//!
//! Belongs here: parsing such text and finding what it refers to. Does not: reports about the result.

pub mod filter;
pub mod moment_name;
