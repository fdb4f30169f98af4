//! A hook that asks a worker again and again, until its work is done.

use vramscope_protocol::Ask;
use yew::prelude::*;

use super::{Answered, use_answer};
use crate::engine::Session;

/// Repeats a question with increasing numbers until the answer is complete; returns the latest
/// answer.
#[hook]
pub(crate) fn use_rounds<Q, A, D>(session: &Session, question: A, is_done: D) -> Option<Answered<Q>>
where
    Q: Ask + 'static,
    A: FnOnce(u32) -> Option<Q>,
    D: FnOnce(&Q::Answer) -> bool,
{
    let round = use_state_eq(|| 0_u32);
    let question = question(*round);
    let answered = use_answer(session, question.clone());
    let newest = answered
        .as_ref()
        .filter(|answered| Some(&answered.question) == question.as_ref());
    let answer = newest.and_then(|answered| answered.answer.as_deref());
    let goes_on = answer.is_some_and(|answer| !is_done(answer));
    use_effect_with((question, goes_on), move |(_, goes_on)| {
        if *goes_on {
            round.set(round.wrapping_add(1));
        }
    });
    answered
}
