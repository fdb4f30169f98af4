//! Moving from allocation to allocation with keys, up and down the stack of bands.

use vramscope_protocol::Look;
use vramscope_protocol::views::lanes::{Answer, Question};
use yew::prelude::*;

use crate::components::hooks::use_answer;
use crate::engine::Session;
use crate::state::{Action, StackStep};

/// Asks which allocation a step leads to, and pins it.
#[hook]
pub(in crate::components) fn use_stack_step(
    session: &Session,
    look: &Look,
    step: Option<StackStep>,
    dispatch: Callback<Action>,
) {
    let question = step.map(|step| Question::Neighbour {
        device: look.device,
        filter: look.filter.clone(),
        moment: step.moment,
        from: step.from,
        up: step.up,
    });
    let answered = use_answer(session, question.clone());
    let answered = answered.filter(|answered| Some(&answered.question) == question.as_ref());
    let to = answered.map(|answered| match answered.answer.as_deref() {
        Some(Answer::Neighbour(to)) => *to,
        _ => None,
    });
    use_effect_with((question, to), move |(_, to)| {
        if let Some(to) = *to {
            dispatch.emit(Action::SteppedInStack(to));
        }
    });
}
