//! Captures real programs on a stand-in driver, and compares with its ledger.
//!
//! ```text
//! programs (built once) ─> session: a program, captured ─> snapshot ─> story ┐
//!                                                     └─> ledger  ─> story ┴─ equal?
//! ```
//!
//! `clients` holds the programs: a workspace of its own, for cudarc's ways of finding the driver exclude each other.
//! `cargo xtask test` builds everything first (the binary `prepare`) and passes the places in variables; without those
//! the first test of a process does so.

pub mod ledger;
pub mod programs;
pub mod session;
pub mod story;
