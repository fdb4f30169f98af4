//! The questions and answers of each view.

pub mod allocator;
pub mod compare;
pub mod export;
pub mod filter;
pub mod flame;
pub mod fleet;
pub mod graph;
pub mod lanes;
pub mod overview;
pub mod segments;
pub mod table;
pub mod text;
pub mod what_if;
