//! The binary, as a user calls it.
