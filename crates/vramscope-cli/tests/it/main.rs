//! The program as its users run it: what it prints, where, and with which exit code.
#![expect(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod help;
mod info;
mod peak;
mod plot;
mod program;
mod ranks;
mod refused;
mod set_up;
mod view;
