//! A worker, and messages to and from it: bytes with an optional attachment.

use std::cell::RefCell;
use std::rc::Rc;

use js_sys::{Array, Function, Promise};
use vramscope_protocol::message::{message, received};
use vramscope_protocol::{Failure, Reply};
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{ErrorEvent, MessageEvent, Worker};

use crate::browser::clock;

type OnMessage = Closure<dyn FnMut(MessageEvent)>;
type TakeError = Box<dyn Fn(&str)>;

/// `www/page.js`'s functions that start a worker.
#[derive(Clone, Debug)]
pub struct Starters {
    /// Returns one with the program that reads files.
    pub worker: Function,
    /// Promises one with the planner, which is loaded later than the page.
    pub planner: Function,
}

/// A running worker. It ends when this is dropped.
pub(super) struct Port {
    worker: Worker,
    on_message: RefCell<Option<OnMessage>>,
    /// The listener for errors, which must live as long as the worker.
    _on_error: Closure<dyn FnMut(ErrorEvent)>,
    errors: Rc<Errors>,
}

/// Errors that a worker did not catch.
#[derive(Default)]
struct Errors {
    /// An error before [`Port::listen`]: a spare worker can fail to start.
    early: RefCell<Option<String>>,
    take: RefCell<Option<TakeError>>,
}

impl Errors {
    fn report(&self, message: String) {
        match &*self.take.borrow() {
            Some(take) => take(&message),
            None => *self.early.borrow_mut() = Some(message),
        }
    }
}

impl Port {
    /// Starts a worker that reads a file.
    pub(super) fn start(starters: &Starters) -> Result<Self, JsValue> {
        let worker = starters.worker.call0(&JsValue::NULL)?;
        Ok(Self::of(worker.unchecked_into()))
    }

    /// Starts a planner.
    pub(super) async fn start_planner(starters: Starters) -> Result<Self, JsValue> {
        let worker = starters.planner.call0(&JsValue::NULL)?;
        let worker = JsFuture::from(worker.unchecked_into::<Promise>()).await?;
        Ok(Self::of(worker.unchecked_into()))
    }

    /// A worker that runs.
    pub(super) fn of(worker: Worker) -> Self {
        let errors = Rc::new(Errors::default());
        let on_error = {
            let errors = errors.clone();
            Closure::<dyn FnMut(_)>::new(move |event: ErrorEvent| {
                event.prevent_default();
                // A script that cannot be loaded fails without a word.
                let message = js_sys::Reflect::get(&event, &"message".into());
                let message = message.ok().and_then(|message| message.as_string());
                errors.report(message.unwrap_or_else(|| "a worker could not be started".into()));
            })
        };
        worker.set_onerror(Some(on_error.as_ref().unchecked_ref()));
        Self {
            worker,
            on_message: RefCell::default(),
            _on_error: on_error,
            errors,
        }
    }

    /// Passes every message from now on to `take`, with its attachment.
    ///
    /// An error that the worker did not catch, as when its memory runs out, comes as [`Reply::Failed`].
    pub(super) fn listen(&self, take: impl Fn(Reply, JsValue) + Clone + 'static) {
        let take_error = take.clone();
        let on_message = Closure::<dyn FnMut(_)>::new(move |event: MessageEvent| {
            let (reply, attachment) = received(&event).unwrap_or_else(|error| {
                (failed(Failure::internal(&error.to_string())), JsValue::NULL)
            });
            take(reply, attachment);
        });
        self.worker
            .set_onmessage(Some(on_message.as_ref().unchecked_ref()));
        self.on_message.replace(Some(on_message));
        let take_error = move |message: &str| take_error(failed(trap(message)), JsValue::NULL);
        self.errors.take.replace(Some(Box::new(take_error)));
        let early = self.errors.early.borrow_mut().take();
        if let Some(early) = early {
            let errors = self.errors.clone();
            // Not before whoever opens the file has its session.
            clock::soon(move || errors.report(early));
        }
    }

    /// Sends a message. `attachment` is a `Blob`, which is passed by reference, or `NULL`.
    pub(super) fn send(&self, bytes: &[u8], attachment: &JsValue) -> Result<(), JsValue> {
        let moving = Array::new();
        self.worker
            .post_message_with_transfer(&message(bytes, attachment, &moving), &moving)
    }
}

impl Port {
    /// The worker, which runs on, and whose messages whoever takes it is to listen to.
    pub(super) fn into_worker(self) -> Worker {
        self.worker.set_onmessage(None);
        self.worker.set_onerror(None);
        let worker = self.worker.clone();
        // It would end the worker.
        std::mem::forget(self);
        worker
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        self.worker.set_onmessage(None);
        self.worker.set_onerror(None);
        self.worker.terminate();
    }
}

/// The reply for a failure.
pub(super) fn failed(failure: Failure) -> Reply {
    Reply::Failed(Box::new(failure))
}

/// The failure of a worker that stopped without a message. Panics send a message before they trap, so
/// any other trap means that memory ran out; all other errors are faults of this program.
fn trap(message: &str) -> Failure {
    match is_memory(message) {
        true => Failure::no_memory(message),
        false => Failure::internal(message),
    }
}

/// Whether the error's text says that the module ran out of memory, in the words of any browser.
fn is_memory(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    ["unreachable", "memory", "array buffer allocation"]
        .iter()
        .any(|word| message.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_told_from_faults() {
        for message in [
            "Uncaught RuntimeError: unreachable",
            "RuntimeError: Unreachable code should not be executed (evaluating 'a.b')",
            "Uncaught RangeError: Array buffer allocation failed",
            "out of memory",
        ] {
            assert!(is_memory(message), "{message}");
        }
        assert!(!is_memory("Uncaught TypeError: x is not a function"));
        let internal = trap("Uncaught TypeError: x");
        assert_eq!(internal.message, "internal error: Uncaught TypeError: x");
    }
}
