//! What users type to find something: filters of allocations, and names of moments and ranges.
//!
//! Belongs here: reading such texts and finding what they mean. Does not: what is then said of it.

pub mod filter;
pub mod moment_name;
