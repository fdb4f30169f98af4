//! The binary, as a user calls it, with programs that need no CUDA; and its names for addresses.

mod convert;
mod follow;
mod help;
mod program;
mod run;
mod signals;
mod symbols;
