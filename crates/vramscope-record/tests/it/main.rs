//! Logs into snapshots: what each call of the driver becomes, what holds of every log, and what damage costs.

mod calls;
mod support;
