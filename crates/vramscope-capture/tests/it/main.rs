//! The binary, as a user calls it.

mod symbols;
