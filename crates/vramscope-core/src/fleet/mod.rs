//! The ranks of a job beside each other, from one snapshot per rank to thousands.
//!
//! A *rank* is a device of a snapshot on which something happened, with its place in the job. Of each only a summary is
//! kept ([`Rank`]): figures, a curve of 256 bins, and amounts by call site. So no two snapshots have to be in memory at
//! once, summaries of parts can be [merged](Fleet::of_all), and a file of ours holds a thousand of them (`format`).
//!
//! What is asked across ranks is answered from here alone, for the command line and the page.

#[cfg(test)]
mod arbitrary;
mod format;
mod model;
pub mod names;
pub mod questions;
pub mod stack_keys;
pub mod statistic;
mod summary;

pub use format::{decode, encode};
pub use model::{
    Curve, Failure, Fleet, Fragmentation, Growth, Place, Rank, RankFrom, SettingsId, Site, SiteId,
    Source, StepLevels, Told, Unreadable,
};
pub use summary::Detail;
