//! A worker and the wire to it: JSON text, with an attachment where there is one.

use std::cell::RefCell;

use js_sys::Array;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{ErrorEvent, MessageEvent, Worker, WorkerOptions, WorkerType};

use super::Boot;
use crate::protocol::{Failure, Reply, from_text};

type Listener<E> = RefCell<Option<Closure<dyn FnMut(E)>>>;

/// A running worker; ends when dropped.
pub(super) struct Port {
    worker: Worker,
    on_message: Listener<MessageEvent>,
    on_error: Listener<ErrorEvent>,
}

impl Port {
    /// Starts a worker and gives it the compiled module.
    pub(super) fn start(boot: &Boot) -> Result<Self, JsValue> {
        let options = WorkerOptions::new();
        options.set_type(WorkerType::Module);
        options.set_name("vramscope");
        let worker = Worker::new_with_options(&boot.worker_url, &options)?;
        worker.post_message(&boot.module)?;
        Ok(Self {
            worker,
            on_message: RefCell::default(),
            on_error: RefCell::default(),
        })
    }

    /// Hands everything that comes from now on to `take`, with its attachment.
    ///
    /// An error that the worker did not catch, as when its memory runs out, comes as [`Reply::Failed`].
    pub(super) fn listen(&self, take: impl Fn(Reply, JsValue) + Clone + 'static) {
        let take_error = take.clone();
        let on_message = Closure::<dyn FnMut(_)>::new(move |event: MessageEvent| {
            let parts = Array::from(&event.data());
            let text = parts.get(0).as_string().unwrap_or_default();
            match from_text(&text) {
                Ok(reply) => take(reply, parts.get(1)),
                Err(error) => take(internal(&error.to_string()), JsValue::NULL),
            }
        });
        let on_error = Closure::<dyn FnMut(_)>::new(move |event: ErrorEvent| {
            event.prevent_default();
            take_error(trap(&event.message()), JsValue::NULL);
        });
        self.worker
            .set_onmessage(Some(on_message.as_ref().unchecked_ref()));
        self.worker
            .set_onerror(Some(on_error.as_ref().unchecked_ref()));
        self.on_message.replace(Some(on_message));
        self.on_error.replace(Some(on_error));
    }

    /// Sends a message. `attachment` is copied by reference (a `Blob`) or not there (`NULL`).
    pub(super) fn send(&self, text: &str, attachment: &JsValue) -> Result<(), JsValue> {
        self.worker
            .post_message(&Array::of2(&text.into(), attachment))
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        self.worker.set_onmessage(None);
        self.worker.set_onerror(None);
        self.worker.terminate();
    }
}

/// A fault of ours.
pub(super) fn internal(what: &str) -> Reply {
    Reply::Failed(Box::new(Failure {
        message: format!("internal error: {what}"),
        advice: "Please report this, if you may with the file. Other open files are not affected."
            .into(),
        is_internal: true,
        ..Failure::default()
    }))
}

/// A worker that stopped without a word of its own: our panics say what happened before they trap, so
/// what is left is memory.
fn trap(message: &str) -> Reply {
    Reply::Failed(Box::new(Failure {
        message: "the browser gave no more memory for this file".into(),
        advice: format!(
            "A page can use at most 4 GiB per file. Close other tabs and files, or read this file with \
             the command line: `vramscope info FILE`. (The browser says: {message})"
        ),
        ..Failure::default()
    }))
}
