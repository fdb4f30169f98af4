//! From a raw log to a snapshot with names: what the binary `vramscope-capture` does after the captured program, and
//! what tests and `cargo xtask bench` do without it.

mod convert;
mod log_file;
pub mod symbols;

pub use convert::{ConvertError, convert};
pub use log_file::LogFile;
pub use symbols::FileSymbols;
