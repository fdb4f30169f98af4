//! Builds and shows the page. The project's other commands build on this in a separate program, so that showing a
//! picture does not have to wait for the code that packages, measures and checks.
//!
//! What is missing or fails is an error that names the program or file, and says what to do if that is known.
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
