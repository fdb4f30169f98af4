//! Sums over groups of allocations: by call site, category, role, pool, stream or annotation.
//!
//! Belongs here: how allocations are grouped, and what each group holds, allocates, frees or leaks. Does not:
//! comparisons of two snapshots or devices (`compare`).

pub mod group_changes;
pub mod group_lives;
pub mod grouping;
pub mod leaks;
pub mod live_at;
pub mod memory_places;
pub mod operator_sums;
pub mod stack_samples;
pub mod turnover;
