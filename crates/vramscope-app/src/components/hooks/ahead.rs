//! A hook that asks ahead, for steps that are too quick to wait for an answer each.

use vramscope_protocol::Ask;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::ImageBitmap;
use yew::prelude::*;

use super::Answered;
use crate::engine::Session;
use crate::state::Shared;

/// An answer whose bitmap is freed with it, without waiting for the browser's garbage collector.
struct Held<Q: Ask>(Answered<Q>);

impl<Q: Ask> Drop for Held<Q> {
    fn drop(&mut self) {
        if let Some(bitmap) = self.0.attachment.dyn_ref::<ImageBitmap>() {
            bitmap.close();
        }
    }
}

/// The answers that are here.
struct Here<Q: Ask> {
    of: Session,
    shown: Option<Held<Q>>,
    /// Whether that is of an older version of the file.
    is_old: bool,
    /// The current question, while its answer is not here. Answers that come are shown only then.
    asked: Option<Q>,
    ahead: Option<Held<Q>>,
}

impl<Q: Ask> Here<Q> {
    fn of(session: &Session) -> Self {
        Self {
            of: session.clone(),
            shown: None,
            is_old: false,
            asked: None,
            ahead: None,
        }
    }

    /// Shows the answer to a question if it is here.
    fn show(&mut self, question: Option<&Q>) {
        let is_of = |held: &Option<Held<Q>>| held.as_ref().map(|held| &held.0.question) == question;
        if (self.is_old || !is_of(&self.shown)) && is_of(&self.ahead) {
            (self.shown, self.is_old) = (self.ahead.take(), false);
        }
        let is_known = is_of(&self.shown) && !self.is_old;
        self.asked = question.filter(|_| !is_known).cloned();
    }

    /// Goes over to another version of the file. What is shown stays until its answer is there.
    fn at(self, session: &Session) -> Self {
        let is_old = self.is_old || self.of != *session;
        Self {
            ahead: self.ahead.filter(|_| !is_old),
            is_old,
            of: session.clone(),
            ..self
        }
    }
}

/// As `use_answer`, and when the answer is here it asks `next`, which is likely to be the next question: its answer is
/// then shown at once. Bitmaps of answers belong to this hook.
#[hook]
pub(crate) fn use_answer_ahead<Q: Ask + 'static>(
    session: &Session,
    question: Option<Q>,
    next: Option<Q>,
) -> Option<Answered<Q>> {
    let askers = use_memo(session.clone(), |session| {
        [session.asker(), session.asker()]
    });
    let update = use_force_update();
    let here = use_mut_ref(|| None::<Here<Q>>);
    let mut now = here.borrow_mut();
    let known = now.take().filter(|known| known.of.is_alike(session));
    let known = known.map_or_else(|| Here::of(session), |known| known.at(session));
    let known = now.insert(known);
    known.show(question.as_ref());
    let shown = known.shown.as_ref().map(|held| held.0.clone());
    let shown = shown.filter(|_| question.is_some());
    let is_ahead = known.ahead.as_ref().map(|held| &held.0.question) == next.as_ref();
    let question = known.asked.clone();
    let next = next.filter(|_| question.is_none() && !is_ahead);
    {
        let (askers, here, update) = (askers.clone(), here.clone(), update.clone());
        use_effect_with((session.clone(), question), move |(_, question)| {
            let Some(question) = question.clone() else {
                return;
            };
            askers[0].ask(question.clone(), move |answer, attachment| {
                let answered = held(question, answer, attachment);
                let mut here = here.borrow_mut();
                if let Some(here) = here.as_mut().filter(|here| here.asked.is_some()) {
                    (here.shown, here.is_old) = (Some(answered), false);
                    update.force_update();
                }
            });
        });
    }
    let here = here.clone();
    use_effect_with((session.clone(), next), move |(_, next)| {
        let Some(next) = next.clone() else { return };
        askers[1].ask(next.clone(), move |answer, attachment| {
            let Some(here) = &mut *here.borrow_mut() else {
                return;
            };
            let is_asked = here.asked.as_ref() == Some(&next);
            let answered = Some(held(next, answer, attachment));
            if is_asked {
                // The step came before its answer.
                here.asked = None;
                (here.shown, here.is_old) = (answered, false);
                update.force_update();
            } else {
                here.ahead = answered;
            }
        });
    });
    shown
}

fn held<Q: Ask>(question: Q, answer: Option<Q::Answer>, attachment: JsValue) -> Held<Q> {
    Held(Answered {
        question,
        answer: answer.map(Shared::new),
        attachment,
    })
}
