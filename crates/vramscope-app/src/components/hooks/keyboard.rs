//! Shortcuts that work wherever the focus is.

use gloo::events::{EventListener, EventListenerOptions};
use wasm_bindgen::JsCast;
use web_sys::{Element, Event, HtmlInputElement, KeyboardEvent};
use yew::prelude::*;

use crate::browser::frame;
use crate::components::commands::Commands;
use crate::state::State;
use crate::state::keys::{self, Command, Press};

/// Listens for shortcuts and dispatches their actions.
#[hook]
pub(crate) fn use_keys(state: UseReducerHandle<State>, commands: Commands) {
    // The listener is added only once, and reads the latest state from here.
    let latest = use_mut_ref(|| None);
    *latest.borrow_mut() = Some((state, commands));
    use_effect_with((), move |()| {
        let options = EventListenerOptions::enable_prevent_default();
        let listener = EventListener::new_with_options(
            &gloo::utils::window(),
            "keydown",
            options,
            move |event| {
                let Some(event) = event.dyn_ref::<KeyboardEvent>() else {
                    return;
                };
                let latest = latest.borrow();
                let Some((state, commands)) = latest.as_ref() else {
                    return;
                };
                if event.default_prevented() || belongs_to_field(event) {
                    return;
                }
                match keys::command(&press(event), state) {
                    Some(Command::Act(action)) => commands.dispatch.emit(action),
                    Some(Command::PickFiles) => commands.pick.emit(()),
                    Some(Command::FocusSearch) => focus_search(),
                    Some(Command::Leave) => frame::leave(),
                    None => return,
                }
                event.prevent_default();
            },
        );
        move || drop(listener)
    });
}

/// Focuses the search box and selects its text.
fn focus_search() {
    let element = gloo::utils::document().get_element_by_id(super::super::search::BOX_ID);
    if let Some(input) = element.and_then(|found| found.dyn_into::<HtmlInputElement>().ok()) {
        let _ = input.focus();
        input.select();
    }
}

fn press(event: &KeyboardEvent) -> Press {
    Press {
        key: event.key(),
        shift: event.shift_key(),
        ctrl: event.ctrl_key() || event.meta_key(),
        alt: event.alt_key(),
    }
}

/// Whether the focused element uses the key itself, such as a select's letters or a scrolled text's
/// arrows.
fn belongs_to_field(event: &Event) -> bool {
    let focused = event
        .target()
        .and_then(|target| target.dyn_into::<Element>().ok());
    let key = event
        .dyn_ref::<KeyboardEvent>()
        .map(KeyboardEvent::key)
        .unwrap_or_default();
    focused.is_some_and(|focused| match key.as_str() {
        "Escape" => false,
        "ArrowUp" | "ArrowDown" => focused
            .matches("input, select, textarea, [data-scrolls]")
            .unwrap_or(false),
        "ArrowLeft" | "ArrowRight" => focused
            .matches("input, select, textarea, [data-scrolls='']")
            .unwrap_or(false),
        _ => focused
            .matches("select, textarea, input:not([type=radio])")
            .unwrap_or(false),
    })
}
