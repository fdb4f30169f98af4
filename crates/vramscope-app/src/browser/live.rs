//! The changes of files that the page's own server tells (`vramscope view --live`), as server-sent events.

use gloo::events::EventListener;
use std::cell::RefCell;
use std::rc::Rc;
use wasm_bindgen::JsCast;
use web_sys::{EventSource, MessageEvent};

/// The address at which they are told; `None` if this page is not to follow its files.
#[must_use]
pub fn address() -> Option<String> {
    let link = gloo::utils::document().query_selector("link[rel=events]");
    link.ok()??.get_attribute("href")
}

/// Hears what the server tells, while it lives and the page is looked at. A page that is out of sight has no connection,
/// of which browsers have six to each server.
pub struct Listener {
    _connection: Rc<RefCell<Option<Connection>>>,
    _visibility: EventListener,
}

/// A connection, closed when it is dropped. The browser makes it anew when it breaks off.
struct Connection {
    source: EventSource,
    _listeners: [EventListener; 2],
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.source.close();
    }
}

impl Listener {
    /// `take` gets each message, and `None` when the connection breaks off.
    pub fn new(address: &str, take: impl Fn(Option<String>) + Clone + 'static) -> Self {
        let address = address.to_owned();
        let connect = move || {
            let is_hidden = gloo::utils::document().hidden();
            (!is_hidden)
                .then(|| Connection::new(&address, take.clone()))
                .flatten()
        };
        let connection = Rc::new(RefCell::new(connect()));
        let changing = connection.clone();
        let document = gloo::utils::document();
        let visibility = EventListener::new(&document, "visibilitychange", move |_| {
            changing.replace(connect());
        });
        Self {
            _connection: connection,
            _visibility: visibility,
        }
    }
}

impl Connection {
    fn new(address: &str, take: impl Fn(Option<String>) + Clone + 'static) -> Option<Self> {
        let source = EventSource::new(address).ok()?;
        let on_message = take.clone();
        let listeners = [
            EventListener::new(&source, "message", move |event| {
                let message = event.dyn_ref::<MessageEvent>();
                on_message(message.and_then(|message| message.data().as_string()));
            }),
            EventListener::new(&source, "error", move |_| take(None)),
        ];
        Some(Self {
            source,
            _listeners: listeners,
        })
    }
}
