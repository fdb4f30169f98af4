//! Questions a snapshot answers: one file, one question. Results are data.

pub mod allocator_state;
pub mod annotations;
pub mod call_sites;
pub mod call_tree;
pub mod compare;
pub mod curves;
pub mod details;
pub mod event_rows;
pub mod facts;
pub mod filter;
pub mod frame_groups;
pub mod frames;
pub mod history;
pub mod host;
pub mod lanes;
pub mod live_at;
pub mod places;
pub mod profile;
pub mod range_totals;
pub mod releases;
pub mod replay;
pub mod segment_history;
pub mod selection;
pub mod settings;
pub mod summary;
pub mod turnover;
