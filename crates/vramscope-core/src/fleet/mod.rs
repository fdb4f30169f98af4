//! Compares the ranks of a job, from one snapshot per rank to thousands.
//!
//! A *rank* is a device of a snapshot on which something happened, with its place in the job. Only a summary of each is
//! stored ([`Rank`]): figures, a curve of 256 bins, and amounts by call site. So two snapshots never need to be in memory at
//! once, summaries of parts can be [merged](Fleet::of_all), and a `.vset` file holds a thousand of them (`format`).
//!
//! Questions across ranks are answered from these summaries alone, for the command line and the page.

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
