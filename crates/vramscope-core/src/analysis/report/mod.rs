//! Results for people: findings, facts, summaries, tables, and the details of an allocation.
//!
//! Belongs here: whatever combines results of several other modules, and its wording. Does not: layout and number
//! formats, which the page and the command line choose.

pub mod allocations;
pub mod block_stacks;
pub mod causes;
pub mod details;
pub mod device_words;
pub mod dry_run;
mod earlier_passes;
pub mod event_details;
pub mod event_rows;
pub mod facts;
pub mod file_details;
pub mod findings;
pub mod first_pass;
pub mod fragmentation;
mod growing_request;
pub mod host;
pub mod idle;
pub mod named_moments;
pub mod names;
mod next_step;
pub mod official_summary;
pub mod overview;
pub mod peak_roles;
mod piled_up;
pub mod pool_lines;
pub mod program_changes;
pub mod summary;
pub mod verdicts;
