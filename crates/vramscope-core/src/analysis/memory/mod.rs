//! The memory of a device: the allocator's segments, blocks and pools, its settings and rules, and the capacity of the
//! device.
//!
//! Belongs here: which memory is reserved, used and free, and why. Does not: findings and advice (`report`).

pub mod allocator_rules;
pub mod allocator_state;
pub mod capacity;
pub mod capture;
pub(crate) mod contradictions;
pub mod final_state;
pub mod gap;
pub mod pool_usage;
pub mod pools;
pub mod private_pools;
pub mod releases;
pub mod segment_contents;
pub mod segment_history;
pub mod settings;
pub mod streams_and_pools;
