//! Logs into snapshots: what each call of the driver becomes, what holds of every log, and what damage costs.

#![expect(
    clippy::unwrap_used,
    reason = "a test's way of saying that it must be so"
)]

mod annotations;
mod calls;
mod damage;
mod options;
mod random;
mod stacks;
mod support;
