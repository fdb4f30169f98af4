//! Answers for people: findings, facts, summaries, tables, and all that is known of one allocation.
//!
//! Belongs here: what draws on all other rooms, and the words for it. Does not: layout and number formats, which the
//! page and the command line choose.

pub mod allocations;
pub mod block_stacks;
pub mod details;
pub mod event_rows;
pub mod facts;
pub mod findings;
pub mod fragmentation;
pub mod host;
pub mod official_summary;
pub mod overview;
pub mod summary;
