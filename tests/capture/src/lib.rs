//! Captures real programs on a stand-in driver and compares the snapshots with the driver's ledger.
//!
//! ```text
//! programs (built once) ─> session: a program, captured ─> snapshot ─> story ┐
//!                                                     └─> ledger  ─> story ┴─ equal?
//! ```
//!
//! `clients` contains the programs. It is a separate workspace, as cudarc's ways of finding the driver exclude each
//! other. `cargo xtask test` builds everything first (the binary `prepare`) and passes the paths in variables. Without
//! these variables, the first test of each process builds.

pub mod ledger;
pub mod programs;
pub mod session;
pub mod story;
