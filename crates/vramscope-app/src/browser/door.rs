//! Messages of other pages: the page that opened this one, or in whose frame it is shown, hands in snapshots.
//!
//! They are those of Perfetto, so that a page that opens that can open this by changing an address: `PING` is answered
//! with `PONG` once this page listens, then `{perfetto: {buffer, title, fileName}}`, or the same named `vramscope`, hands in
//! a file. The page around this one, and those of its own origin, can also set its look with `{vramscope: {theme, variables}}`.
//! Once it has asked, the page around is told what happens here: `{vramscope: {event, …}}` (see [`Told`](crate::state::told::Told)).
//! One of another origin is told of files that it has handed in, and of others only whether they are shown.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use gloo::events::EventListener;
use js_sys::{Array, ArrayBuffer, JSON, Object, Reflect};
use serde::Serialize;
use vramscope_core::invisible;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{Blob, File, MessageEvent, Window};

use super::{clock, kept};

/// The key of the allowed origins in local storage.
const KEPT_AS: &str = "vramscope.allowed";

/// A message of another page.
#[derive(Debug)]
pub enum Message {
    /// Asks whether this page listens.
    Ping,
    /// A snapshot.
    File(File),
    /// How the page around this one wants it to look.
    Look(Look),
}

/// How the page around this one wants it to look.
#[derive(Debug)]
pub struct Look {
    /// Light or dark; `None` if it does not say.
    pub theme: Option<String>,
    /// Names and values of this page's style variables.
    pub variables: Vec<(&'static str, String)>,
}

/// The style variables that the page around this one can set.
const VARIABLES: [&str; 9] = [
    "accent", "ground", "panel", "raised", "line", "text", "muted", "sans", "mono",
];

/// Reads a message; `None` if it is none for this page.
#[must_use]
pub fn message(event: &MessageEvent) -> Option<Message> {
    let data = event.data();
    if data.as_string().as_deref() == Some("PING") {
        return Some(Message::Ping);
    }
    let data = data.dyn_ref::<Object>()?;
    let envelope = ["vramscope", "perfetto"]
        .iter()
        .find_map(|name| get(data, name).dyn_into::<Object>().ok())?;
    file(&envelope)
        .map(Message::File)
        .or_else(|| look(&envelope).map(Message::Look))
}

fn look(envelope: &Object) -> Option<Look> {
    let theme = get(envelope, "theme").as_string();
    let variables = get(envelope, "variables").dyn_into::<Object>().ok();
    if theme.is_none() && variables.is_none() {
        return None;
    }
    let value = |name: &'static str| {
        let value = get(variables.as_ref()?, name).as_string()?;
        Some((name, value))
    };
    Some(Look {
        theme,
        variables: VARIABLES.into_iter().filter_map(value).collect(),
    })
}

fn file(envelope: &Object) -> Option<File> {
    let buffer = get(envelope, "buffer");
    let is_content = buffer.is_instance_of::<ArrayBuffer>()
        || ArrayBuffer::is_view(&buffer)
        || buffer.is_instance_of::<Blob>();
    if !is_content {
        return None;
    }
    let own_name = buffer.dyn_ref::<File>().map(File::name);
    let text = |name| {
        get(envelope, name)
            .as_string()
            .filter(|text| !text.is_empty())
    };
    let name = text("fileName").or(own_name).or_else(|| text("title"));
    let name = name.unwrap_or_else(|| "snapshot".to_owned());
    let name = invisible::escaped_line(&name).into_owned();
    File::new_with_blob_sequence(&Array::of1(&buffer), &name).ok()
}

fn get(object: &Object, name: &str) -> JsValue {
    Reflect::get(object, &name.into()).unwrap_or(JsValue::UNDEFINED)
}

/// Tells the page that asked that this one listens.
pub fn answer_ping(event: &MessageEvent) {
    // A window of another origin is no instance of this page's `Window`, but it has `postMessage`.
    let Some(source) = event.source() else { return };
    let origin = match event.origin() {
        origin if origin == "null" || origin.is_empty() => "*".to_owned(),
        origin => origin,
    };
    let _ = source
        .unchecked_ref::<Window>()
        .post_message(&"PONG".into(), &origin);
}

/// Whether a message comes from the page in whose frame this one is shown.
#[must_use]
pub fn is_of_host(event: &MessageEvent) -> bool {
    let window = gloo::utils::window();
    let parent = window.parent().ok().flatten();
    let is_framed = parent.as_ref().is_some_and(|parent| *parent != window);
    let source = event.source();
    is_framed
        && source
            .is_some_and(|source| parent.is_some_and(|parent| JsValue::from(source) == ***parent))
}

/// Whether a message comes from this page's own origin, which could change this page without asking.
#[must_use]
pub fn is_own(event: &MessageEvent) -> bool {
    let origin = event.origin();
    origin != "null" && origin == own_origin()
}

/// Tells the page around this one something of a file, if it is still of this origin. `is_handed`: it has the file itself.
pub fn tell_host(origin: &str, message: &impl Serialize, is_handed: bool) {
    let text = serde_json::to_string(message).unwrap_or_default();
    if let Ok(message) = JSON::parse(&text) {
        post_to_host(origin, &message, is_handed);
    }
}

/// The same of a message that is an object already.
pub fn post_to_host(origin: &str, message: &JsValue, is_handed: bool) {
    let Ok(Some(parent)) = gloo::utils::window().parent() else {
        return;
    };
    let may_know = is_handed || (origin != "null" && origin == own_origin());
    let message = match may_know {
        true => message.clone(),
        false => match for_strangers(message) {
            Some(message) => message,
            None => return,
        },
    };
    let envelope = Object::new();
    let _ = Reflect::set(&envelope, &"vramscope".into(), &message);
    let origin = if origin == "null" { "*" } else { origin };
    let _ = parent.post_message(&envelope, origin);
}

/// What a page of another origin is told of a file that this page has read itself: whether it is shown. Anybody can show
/// this page in a frame with `?src=`, and must not learn what lies on its origin. `None`: nothing.
fn for_strangers(message: &JsValue) -> Option<JsValue> {
    let event = get(message.unchecked_ref(), "event").as_string()?;
    let entries: &[(&str, &str)] = match event.as_str() {
        "load" => &[("event", "load")],
        "error" => &[
            ("event", "error"),
            ("message", "the file cannot be opened"),
            (
                "advice",
                "Open the viewer in a window of its own: it says why.",
            ),
        ],
        _ => return None,
    };
    let told = Object::new();
    for (name, value) in entries {
        let _ = Reflect::set(&told, &(*name).into(), &(*value).into());
    }
    Some(told.into())
}

thread_local! {
    /// What was heard and told before the page was there: see [`mini`](crate::mini).
    static BEFORE: RefCell<(Option<Rc<str>>, Option<String>)> = RefCell::default();
}

/// Remembers for the page that one of this origin is around it and listens.
pub fn set_host(origin: &str) {
    BEFORE.with_borrow_mut(|(host, _)| *host = Some(origin.into()));
}

/// The page that listened before this one was there.
#[must_use]
pub fn first_host() -> Option<Rc<str>> {
    BEFORE.with_borrow(|(host, _)| host.clone())
}

/// Remembers for the page that the one around it knows that this file is shown.
pub fn has_told_of(file: &str) {
    BEFORE.with_borrow_mut(|(_, told)| *told = Some(file.to_owned()));
}

/// Whether the page around this one was told so of the file, and `is_last`: is to be told again from now on.
pub fn was_told_of(file: &str, is_last: bool) -> bool {
    BEFORE.with_borrow_mut(|(_, told)| {
        let was_told = told.as_deref() == Some(file);
        if is_last {
            *told = None;
        }
        was_told
    })
}

/// The origin of this page.
#[must_use]
pub fn own_origin() -> String {
    let origin = gloo::utils::window().location().origin();
    origin.unwrap_or_default()
}

/// The origins that the user has allowed.
#[must_use]
pub fn allowed() -> Vec<String> {
    kept::get(KEPT_AS).unwrap_or_default()
}

/// Remembers that the user allows an origin.
pub fn allow(origin: &str) {
    let mut allowed = allowed();
    if origin != "null" && !allowed.iter().any(|known| known == origin) {
        allowed.push(origin.to_owned());
        kept::set(KEPT_AS, &allowed);
    }
}

/// The pause between two questions whether a window listens, and the most of them: twenty seconds, as others wait.
const PING_MS: i32 = 250;
const MOST_PINGS: u32 = 80;

/// Opens this page in a window of its own at `link`, and hands it `file` once it listens.
pub fn open_window(link: &str, file: Option<&File>) {
    let opened = gloo::utils::window().open_with_url_and_target(link, "_blank");
    let (Ok(Some(window)), Some(file)) = (opened, file) else {
        return;
    };
    let envelope = Object::new();
    let _ = Reflect::set(&envelope, &"buffer".into(), file);
    let message = Object::new();
    let _ = Reflect::set(&message, &"vramscope".into(), &envelope);
    let listens = Rc::new(Cell::new(false));
    let listener = EventListener::new(&gloo::utils::window(), "message", {
        let (window, listens) = (window.clone(), listens.clone());
        move |event| {
            let Some(event) = event.dyn_ref::<MessageEvent>() else {
                return;
            };
            let is_of_window = event
                .source()
                .is_some_and(|source| JsValue::from(source) == ***window);
            if is_of_window
                && event.data().as_string().as_deref() == Some("PONG")
                && !listens.replace(true)
            {
                let _ = window.post_message(&message, &own_origin());
            }
        }
    });
    let asking = Asking {
        window,
        listens,
        _answer: listener,
    };
    asking.go_on(MOST_PINGS);
}

/// A window that is asked again and again whether it listens.
struct Asking {
    window: Window,
    listens: Rc<Cell<bool>>,
    /// Ends with the questions.
    _answer: EventListener,
}

impl Asking {
    fn go_on(self, pings: u32) {
        if self.listens.get() || pings == 0 || self.window.closed().unwrap_or(true) {
            return;
        }
        let _ = self.window.post_message(&"PING".into(), &own_origin());
        clock::later(PING_MS, move || self.go_on(pings - 1));
    }
}
