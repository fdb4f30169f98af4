//! Analyses of a snapshot. Each file answers one question and returns data.
//!
//! The modules from the bottom up; each uses only those before it: [`time`], [`code`], [`memory`], [`roles`],
//! [`recording`], [`properties`], [`search`], [`groups`], [`compare`], [`report`].

// Lowest first.

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
