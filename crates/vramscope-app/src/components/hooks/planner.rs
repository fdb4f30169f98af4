//! A hook that keeps a file's planner running.

use yew::prelude::*;

use crate::engine::Session;

/// Keeps the planner running, once it is asked something, as long as `is_needed`.
#[hook]
pub(crate) fn use_planner(session: &Session, is_needed: bool) {
    use_effect_with((session.clone(), is_needed), |(session, is_needed)| {
        let planning = is_needed.then(|| session.plan());
        move || drop(planning)
    });
}
