//! Conversion of a raw log into a snapshot with function names. Used by the binary `vramscope-capture`, by tests
//! and by `cargo xtask bench`.

// Lowest first: a module uses those of groups above its own.

mod log_file;
pub mod symbols;

mod convert;

pub use convert::{ConvertError, convert};
pub use log_file::LogFile;
pub use symbols::FileSymbols;
