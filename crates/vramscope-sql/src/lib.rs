//! SQL over the tables that vramscope makes of snapshots: Parquet files, one or more for each rank.
//!
//! `Dataset` is a folder with such tables, `Engine` puts questions to it, and an `Answer` hands out rows of plain
//! values. Behind it is DataFusion, which nobody else knows. It only reads: statements that change or write something are
//! refused, and a query can name no file but those of the dataset. Memory is bounded; what does not fit is spilled into a
//! folder of the caller's.
//!
//! Without the feature `engine` the crate is empty, because DataFusion takes minutes to build.
#![cfg(feature = "engine")]

mod answer;
mod dataset;
mod engine;
mod error;
mod exact;
mod values;

pub use self::answer::{Answer, Column, Flow, Kind};
pub use self::dataset::Dataset;
pub use self::engine::{Engine, Settings, THREADS};
pub use self::error::{Cause, Error, Place};
pub use self::values::Value;
