//! What memory is for: the role of each allocation, and the phases of the program that made it.
//!
//! Files rarely record either. So both are inferred from the functions in stacks, from lifetimes, and from recurring
//! sizes. Each role comes with the rule that gave it, a sentence, and a confidence. The answer may be
//! [`Role::Unknown`].
//!
//! Belongs here: rules over stacks and lifetimes. Does not: groups and reports by role, which treat it like any other
//! column.

mod copies;
mod gradients;
mod infer;
mod life;
mod names;
mod order;
mod paths;
mod phases;
mod recurring;
mod repetition;
mod role;
mod rules;
mod signals;
#[cfg(test)]
mod tests;

pub use infer::{RoleEvidence, infer};
pub use phases::{Phase, PhaseRange, Phases};
pub use repetition::repetitions;
pub use role::{Confidence, Role, RoleFinding};
pub use rules::{RoleRule, RuleId};
pub use signals::StackSignals;
