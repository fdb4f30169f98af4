//! Hooks that ask a worker a question.

use vramscope_protocol::{Ask, DevicesWithin};
use wasm_bindgen::JsValue;
use yew::prelude::*;

use crate::browser::clock;
use crate::components::commands::use_commands;
use crate::engine::Session;
use crate::state::{Action, Shared};

/// An answer with its question.
pub(crate) struct Answered<Q: Ask> {
    /// The question, which may be older than the current one.
    pub(crate) question: Q,
    /// The answer; `None` if the worker has none, e.g. for a missing device.
    pub(crate) answer: Option<Shared<Q::Answer>>,
    /// The attachment: an `ImageBitmap`, an `ArrayBuffer`, or `NULL`.
    pub(crate) attachment: JsValue,
}

impl<Q: Ask> PartialEq for Answered<Q> {
    fn eq(&self, other: &Self) -> bool {
        self.question == other.question
            && self.answer == other.answer
            && self.attachment == other.attachment
    }
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

/// Asks `session` whenever the question changes, and returns the latest answer. An answer stays
/// until the next arrives, so that nothing flickers. `None` before the first answer, and while
/// there is no question.
#[hook]
pub(crate) fn use_answer<Q: Ask + 'static>(
    session: &Session,
    question: Option<Q>,
) -> Option<Answered<Q>> {
    let asker = use_memo(session.clone(), Session::asker);
    let answered = use_state_eq(|| None::<(Session, Answered<Q>)>);
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
    // Of an older version of the file, until the answer of this one is there.
    (has_question && from.is_alike(session)).then_some(answered)
}

/// Asks `session`, and dispatches the answer to the state. Does not ask if `is_known`.
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
            commands
                .dispatch
                .emit(Action::Answer(id, Shared::new(answer)));
        }
    });
}

/// Asks `session`, which is narrowed to `pools`, for the facts of its devices, unless they are `known`.
#[hook]
pub(crate) fn use_pools(session: &Session, known: Option<&str>, pools: Option<String>) {
    let is_known = pools.as_deref() == known;
    let question = pools.map(|pools| DevicesWithin { pools });
    use_known(session, question, is_known);
}

/// Sets the User Timing mark `vramscope:painted` with the view's name after the frame in which
/// `what` changed to `Some`. Benchmarks and tests wait for it.
#[hook]
pub(crate) fn use_painted<T: PartialEq + 'static>(view: &'static str, what: Option<T>) {
    use_effect_with(what, move |what| {
        if what.is_some() {
            // The frame that shows the change follows these callbacks.
            clock::next_frame(move |_| {
                clock::mark_with(
                    "vramscope:painted",
                    &[("view", view.into()), ("sharp", true.into())],
                );
            });
        }
    });
}
