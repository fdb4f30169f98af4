//! Tests of the crate as a whole: one binary, one file per question.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

mod inductor;
