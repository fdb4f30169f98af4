//! A component's question and its answer.

use wasm_bindgen::JsValue;
use yew::prelude::*;

use crate::browser::clock;
use crate::components::commands::use_commands;
use crate::engine::Session;
use crate::protocol::Ask;
use crate::state::{Action, Shared};

/// An answer, and what it answers.
#[derive(PartialEq)]
pub(crate) struct Answered<Q: Ask> {
    /// The question: it may be an older one than what is asked now.
    pub(crate) question: Q,
    /// The answer; `None` if there is nothing to say.
    pub(crate) answer: Option<Shared<Q::Answer>>,
    /// What came beside it: an `ImageBitmap`, an `ArrayBuffer`, or `NULL`.
    pub(crate) attachment: JsValue,
}

impl<Q: Ask> Clone for Answered<Q> {
    fn clone(&self) -> Self {
        Self {
            question: self.question.clone(),
            answer: self.answer.clone(),
            attachment: self.attachment.clone(),
        }
    }
}

/// Asks `session` whenever the question changes, and gives the newest answer at hand. The last one stays
/// until the next is there, so that nothing flickers; `None` before the first, and while nothing is asked.
#[hook]
pub(crate) fn use_answer<Q: Ask + 'static>(
    session: &Session,
    question: Option<Q>,
) -> Option<Answered<Q>> {
    let asker = use_memo(session.clone(), Session::asker);
    let answered = use_state(|| None::<(Session, Answered<Q>)>);
    let has_question = question.is_some();
    {
        let answered = answered.setter();
        use_effect_with(
            (session.clone(), question),
            move |(session, question): &(Session, Option<Q>)| {
                if let Some(question) = question.clone() {
                    let from = session.clone();
                    asker.ask(question.clone(), move |answer, attachment| {
                        let answered_now = Answered {
                            question,
                            answer: answer.map(Shared::new),
                            attachment,
                        };
                        answered.set(Some((from, answered_now)));
                    });
                }
            },
        );
    }
    let (from, answered) = (*answered).clone()?;
    (has_question && from == *session).then_some(answered)
}

/// Asks `session`, and gives the answer to the state, which acts on it. `is_known`: the state has it.
#[hook]
pub(crate) fn use_known<Q>(session: &Session, question: Option<Q>, is_known: bool)
where
    Q: Ask + 'static,
    Q::Answer: Clone,
{
    let commands = use_commands();
    let answered = use_answer(session, question.clone());
    let answered = answered.filter(|answered| Some(&answered.question) == question.as_ref());
    let answer = answered.and_then(|answered| answered.answer);
    let id = session.id();
    use_effect_with((answer, is_known), move |(answer, is_known)| {
        if let (Some(answer), false) = (answer, *is_known) {
            let answer = Q::wrap((**answer).clone());
            commands.dispatch.emit(Action::Answer(id, answer));
        }
    });
}

/// Leaves the mark `vramscope:painted` with the view's name after the frame in which `what` changed to
/// something: by it benchmarks and tests know that a view shows what it was asked for.
#[hook]
pub(crate) fn use_painted<T: PartialEq + 'static>(view: &'static str, what: Option<T>) {
    use_effect_with(what, move |what| {
        if what.is_some() {
            // The frame that shows it comes after this one's callbacks.
            clock::next_frame(move |_| {
                clock::mark_with(
                    "vramscope:painted",
                    &[("view", view.into()), ("sharp", true.into())],
                );
            });
        }
    });
}
