//! Allocations summed up under names: by call site, category, pool, stream or annotation.
//!
//! Belongs here: which group an allocation is in, and what groups hold, gain, lose or leave behind. Does not:
//! two sides beside each other (`compare`).

pub mod group_changes;
pub mod group_lives;
pub mod grouping;
pub mod leaks;
pub mod live_at;
pub mod stack_samples;
pub mod turnover;
