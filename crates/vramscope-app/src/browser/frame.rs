//! The page inside another one: `?mode=embed` in a frame.

use std::cell::RefCell;

use gloo::events::EventListener;
use gloo::timers::callback::Timeout;
use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement, WheelEvent};

use super::{clock, url};

/// How long the hint is shown after the wheel stands still, in ms.
const HINT_MS: u32 = 1_200;

/// Whether the wheel scrolls the page around this one, which it does until the user clicks into this one or holds Ctrl:
/// whoever scrolls through a text must not be caught by a picture in it. Says so over what is shown.
#[must_use]
pub fn scrolls_around(event: &WheelEvent) -> bool {
    if !url::is_embedded() || event.ctrl_key() || event.meta_key() {
        return false;
    }
    let document = gloo::utils::document();
    if document.has_focus().unwrap_or(true) {
        return false;
    }
    let root = gloo::utils::document_element();
    if root.get_attribute("data-hint").is_none() {
        let _ = root.set_attribute("data-hint", "wheel");
        Timeout::new(HINT_MS, move || {
            let _ = root.remove_attribute("data-hint");
        })
        .forget();
    }
    true
}

/// Says on an embedded page whether somebody has clicked into it: until then nothing in it scrolls by itself, either, and
/// the wheel and fingers scroll the page around it.
pub fn show_sleep() {
    if !url::is_embedded() {
        return;
    }
    let window = gloo::utils::window();
    let sleep = |on: bool| {
        let root = gloo::utils::document_element();
        let _ = root.toggle_attribute_with_force("data-asleep", on);
    };
    sleep(!gloo::utils::document().has_focus().unwrap_or(true));
    EventListener::new(&window, "focus", move |_| sleep(false)).forget();
    EventListener::new(&window, "blur", move |_| sleep(true)).forget();
    EventListener::new(&window, "wheel", |event| {
        if let Some(event) = event.dyn_ref() {
            let _ = scrolls_around(event);
        }
    })
    .forget();
}

/// The name of all controls.
const ALL: &str = "full";

/// Takes the keyboard focus with `take`: now, or in a frame once the frame has it. Whoever types in the page around this one
/// must not lose it to a picture that appears.
pub fn when_keys_are_here(take: impl FnOnce() + 'static) -> Option<EventListener> {
    let window = gloo::utils::window();
    let is_framed = window
        .parent()
        .ok()
        .flatten()
        .is_some_and(|it| it != window);
    if is_framed && !gloo::utils::document().has_focus().unwrap_or(true) {
        return Some(EventListener::once(&window, "focus", move |_| take()));
    }
    take();
    None
}

/// Puts how much of an embedded page is shown where the style sheet reads it: the page's address says so with `?controls=`.
pub fn show_controls() {
    if url::is_embedded() {
        let controls = url::controls().unwrap_or_else(|| ALL.to_owned());
        let _ = gloo::utils::document_element().set_attribute("data-controls", &controls);
    }
}

/// Whether the picture with its figures is all that is shown.
#[must_use]
pub fn is_mini() -> bool {
    shows("mini")
}

/// Whether the view is all that is shown.
#[must_use]
pub fn is_picture_alone() -> bool {
    shows("none")
}

fn shows(controls: &str) -> bool {
    let shown = gloo::utils::document_element().get_attribute("data-controls");
    shown.as_deref() == Some(controls)
}

/// Shows all of the page, whatever its address says.
pub fn show_all_controls() {
    let _ = gloo::utils::document_element().set_attribute("data-controls", ALL);
}

/// The theme in which the page is shown; `None` if that is the system's.
#[must_use]
pub fn theme() -> Option<String> {
    gloo::utils::document_element().get_attribute("data-theme")
}

/// Shows the page in a theme; in the system's if it is neither light nor dark.
pub fn set_theme(name: &str) {
    let root = gloo::utils::document_element();
    let _ = match name {
        "light" | "dark" => root.set_attribute("data-theme", name),
        _ => root.remove_attribute("data-theme"),
    };
}

/// Shows the page in the theme that its address says.
pub fn show_theme() {
    set_theme(&url::theme().unwrap_or_default());
}

thread_local! {
    /// What covers the page, and where the focus belongs once it is gone.
    static COVER: RefCell<Option<(Element, Option<&'static str>)>> = RefCell::default();
}

/// The longest that the page is covered, in ms.
const COVERED_MS: i32 = 3_000;

/// Which of some elements, told by selectors, has the focus.
#[must_use]
pub fn focused(selectors: &[&'static str]) -> Option<&'static str> {
    let active = gloo::utils::document().active_element()?;
    let is_active = |selector: &&&str| active.matches(selector).unwrap_or(false);
    selectors.iter().find(is_active).copied()
}

/// Covers the page with what was there before, until its first picture is there. Then `focus` has the focus.
pub fn cover(before: &Element, focus: Option<&'static str>) {
    let document = gloo::utils::document();
    let (Ok(cover), Some(body)) = (document.create_element("div"), document.body()) else {
        return;
    };
    cover.set_class_name("cover");
    let _ = cover.set_attribute("inert", "");
    let _ = cover.append_child(before);
    let _ = body.append_child(&cover);
    COVER.set(Some((cover, focus)));
    clock::later(COVERED_MS, uncover);
}

/// The time from the page's first picture until what stands over it is there, too, in ms.
const LABELS_MS: i32 = 120;

/// Uncovers the page, which has drawn its first picture.
pub fn uncover_soon() {
    if COVER.with_borrow(Option::is_some) {
        clock::later(LABELS_MS, uncover);
    }
}

fn uncover() {
    let Some((cover, focus)) = COVER.take() else {
        return;
    };
    cover.remove();
    let document = gloo::utils::document();
    let is_elsewhere = document.active_element() != document.body().map(Element::from);
    let element = focus.and_then(|selector| document.query_selector(selector).ok()?);
    if let Some(element) = element.filter(|_| !is_elsewhere) {
        let _ = element.unchecked_into::<HtmlElement>().focus();
    }
}

/// Sets one of the page's style variables; an empty value is the page's own.
pub fn set_variable(name: &str, value: &str) {
    let root = gloo::utils::document_element();
    if let Some(root) = root.dyn_ref::<HtmlElement>() {
        let _ = root.style().set_property(&format!("--{name}"), value);
    }
}

/// Gives the keyboard back to the page around this one.
pub fn leave() {
    let window = gloo::utils::window();
    if let Ok(Some(parent)) = window.parent() {
        let _ = parent.focus();
    }
}
