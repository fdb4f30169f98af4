//! Where memory was: segments, blocks and pools of the allocator, its settings and rules, and the device around it.
//!
//! Belongs here: what was reserved, used and free, and why. Does not: judgements and advice (`report`).

pub mod allocator_rules;
pub mod allocator_state;
pub mod capacity;
pub mod capture;
pub mod final_state;
pub mod gap;
pub mod places;
pub mod pool_use;
pub mod releases;
pub mod segment_contents;
pub mod segment_history;
pub mod settings;
