//! Conversion of logs: the result of each driver call, the rules that hold for every log, and the consequences of
//! damage.

#![expect(
    clippy::unwrap_used,
    reason = "a test's way of saying that it must be so"
)]

mod annotations;
mod calls;
mod damage;
mod many;
mod options;
mod pools;
mod random;
mod recorded;
mod stacks;
mod support;
