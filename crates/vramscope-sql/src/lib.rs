//! SQL.
#![cfg(feature = "engine")]
