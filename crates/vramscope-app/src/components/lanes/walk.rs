//! From allocation to allocation by the keyboard, up and down the stack of bands.

use yew::prelude::*;

use crate::components::hooks::use_answer;
use crate::engine::Session;
use crate::protocol::Look;
use crate::protocol::views::lanes::{Answer, Question};
use crate::state::{Action, Walk};

/// Asks where a walk leads, and goes there.
#[hook]
pub(in crate::components) fn use_walk(
    session: &Session,
    look: &Look,
    walk: Option<Walk>,
    dispatch: Callback<Action>,
) {
    let question = walk.map(|walk| Question::Neighbour {
        device: look.device,
        filter: look.filter.clone(),
        moment: walk.moment,
        from: walk.from,
        up: walk.up,
    });
    let answered = use_answer(session, question.clone());
    let answered = answered.filter(|answered| Some(&answered.question) == question.as_ref());
    let to = answered.map(|answered| match answered.answer.as_deref() {
        Some(Answer::Neighbour(to)) => *to,
        _ => None,
    });
    use_effect_with((question, to), move |(_, to)| {
        if let Some(to) = *to {
            dispatch.emit(Action::Walked(to));
        }
    });
}
