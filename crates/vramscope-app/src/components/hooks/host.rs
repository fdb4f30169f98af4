//! The page around this one, in whose frame it is shown: it is told what happens here, and sets the look.

use std::rc::Rc;

use gloo::events::EventListener;
use wasm_bindgen::JsCast;
use web_sys::MessageEvent;
use yew::prelude::*;

use crate::browser::door::{self, Message};
use crate::browser::frame;
use crate::engine::{Session, SessionId};
use crate::state::told::Told;
use crate::state::{Action, State, ThemeChoice, permalink};

/// Tells the page around this one, once it has asked whether this one listens, what happens to the file and what is
/// shown of it.
#[hook]
pub(crate) fn use_host(
    state: &UseReducerHandle<State>,
    session: &Callback<SessionId, Option<Session>>,
) {
    // Its origin.
    let host = use_state_eq(door::first_host);
    let is_embedded = state.is_embedded;
    {
        let (setter, dispatcher) = (host.setter(), state.dispatcher());
        use_effect_with(is_embedded, move |&is_embedded| {
            let window = gloo::utils::window();
            let listener = EventListener::new(&window, "message", move |event| {
                let Some(event) = event.dyn_ref::<MessageEvent>() else {
                    return;
                };
                let is_of_host = is_embedded && door::is_of_host(event);
                match door::message(event) {
                    Some(Message::Ping) if is_of_host => setter.set(Some(event.origin().into())),
                    Some(Message::Look(look)) if is_of_host || door::is_own(event) => {
                        if let Some(theme) = look.theme.as_deref() {
                            dispatcher.dispatch(Action::Theme(ThemeChoice::named(theme)));
                        }
                        for (name, value) in look.variables {
                            frame::set_variable(name, &value);
                        }
                    }
                    _ => {}
                }
            });
            move || drop(listener)
        });
    }
    let is_handed = state.current.and_then(|id| session.emit(id));
    let is_handed = is_handed.is_some_and(|session| session.is_handed());
    let tell = move |(host, told): &(Option<Rc<str>>, Option<Told>)| {
        let was_told = match told {
            Some(Told::Progress { name, .. }) => door::was_told_of(name, false),
            Some(Told::Load { name, .. }) => door::was_told_of(name, true),
            _ => false,
        };
        if let (Some(host), Some(told), false) = (host, told, was_told) {
            door::tell_host(host, told, is_handed);
        }
    };
    let told = host.as_ref().and_then(|_| Told::of_file(state));
    use_effect_with(((*host).clone(), told), tell);
    let place = host.as_ref().and_then(|_| permalink(state));
    let place = place.and_then(|link| Told::of_place(&link));
    use_effect_with(((*host).clone(), place), tell);
}
