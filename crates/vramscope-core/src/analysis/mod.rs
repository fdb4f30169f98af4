//! Questions a snapshot answers: one file, one question. Results are data.

pub mod history;
