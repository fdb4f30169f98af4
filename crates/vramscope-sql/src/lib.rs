//! SQL over the tables that vramscope makes from snapshots: Parquet files, one or more for each rank.
//!
//! `Dataset` is a folder with such tables, `Engine` answers queries about it, and an `Answer` returns rows of plain values.
//! All of this uses DataFusion, which is hidden from callers. It only reads: statements that change or write something are
//! refused, and a query can name no files outside the dataset. Memory is bounded; data that does not fit is spilled into a
//! folder given by the caller.
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
