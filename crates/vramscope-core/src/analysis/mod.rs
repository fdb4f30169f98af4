//! Questions that a snapshot answers: one file, one question. Results are data.
//!
//! The rooms from the bottom to the top; each uses only those before it:
//! [`time`], [`code`], [`memory`], [`roles`], [`recording`], [`search`], [`groups`], [`compare`], [`report`].

pub mod code;
pub mod compare;
pub mod groups;
pub mod memory;
pub mod recording;
pub mod report;
pub mod roles;
pub mod search;
pub mod time;
