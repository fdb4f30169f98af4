//! Recorded programs end as others do, and leave their files. They are real Pythons with a fake torch (`tests/torch`).
//! Without Python there is nothing to test.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "tests")]

mod ends;
mod host;
mod kinds;
mod processes;
mod recorded;
mod steps;
