//! Questions that a snapshot answers: one file, one question. Results are data.
//!
//! The rooms from the bottom to the top; each uses only those before it:
//! [`time`], [`code`], [`memory`], [`roles`], [`recording`], [`properties`], [`search`], [`groups`], [`compare`], [`report`].

// Lowest first: a module uses those of groups above its own.

pub mod time;

pub mod code;

pub mod memory;

pub mod roles;

pub mod recording;

pub mod properties;

pub mod search;

pub mod groups;

pub mod compare;

pub mod report;
