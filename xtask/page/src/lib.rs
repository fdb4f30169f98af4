//! The page, built and shown. The project's other commands build on this, in a program of their own: whoever wants to see a
//! picture should not wait for what packages, measures and checks.
//!
//! What is missing or fails is an error that names the program or file, and what to do if that is known.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command line tool"
)]

pub mod fingerprint;
pub mod page;
pub mod process;
pub mod samples;
pub mod toolchain;
pub mod view;
