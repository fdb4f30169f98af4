//! The worker's messages to and from the page, and the turns of its work.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use js_sys::Array;
use vramscope_protocol::clock;
use vramscope_protocol::message::{message, received};
use vramscope_protocol::{Failure, Reply, Request, reply_bytes};
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{Blob, DedicatedWorkerGlobalScope, MessageChannel, MessageEvent};

/// Reports a panic to the page.
type Report = Box<dyn Fn(String)>;

thread_local! {
    /// The reporter for the panic hook. A hook must be `Send`, so it cannot hold the worker's scope, which is not.
    static REPORT: RefCell<Option<Report>> = const { RefCell::new(None) };
}

/// The connection to the page.
pub struct Port {
    scope: DedicatedWorkerGlobalScope,
}

/// Listens to the page from now on. `take` gets each request with its attachment; after it, `work` is called, in turns between
/// which further messages come in. Returns what asks for the next turn.
pub fn serve(
    take: impl Fn(Request, JsValue) + 'static,
    work: impl Fn(&Rc<Port>, &Ticks) + 'static,
) -> Ticks {
    let port = Rc::new(Port {
        scope: js_sys::global().unchecked_into(),
    });
    port.report_panics();
    let ticks = {
        let port = port.clone();
        Ticks::new(move |ticks| work(&port, ticks))
    };
    let (own, next) = (port.clone(), ticks.clone());
    port.listen(move |event| {
        match received(&event) {
            Ok((request, attachment)) => take(request, attachment),
            Err(error) => own.fail(Failure::internal(&error.to_string())),
        }
        next.schedule();
    });
    port.send(&Reply::Ready);
    ticks
}

impl Port {
    /// Hands every message from now on to `take`.
    fn listen(&self, take: impl Fn(MessageEvent) + 'static) {
        let on_message = Closure::<dyn Fn(MessageEvent)>::new(take);
        self.scope
            .set_onmessage(Some(on_message.as_ref().unchecked_ref()));
        // Forgotten, as it listens as long as the worker lives.
        on_message.forget();
    }

    /// Sends a reply without an attachment.
    pub fn send(&self, reply: &Reply) {
        self.post(reply, &Array::new(), &JsValue::NULL);
    }

    /// Sets a User Timing mark of the page now.
    pub fn mark(&self, name: &str) {
        self.send(&Reply::Mark {
            name: name.to_owned(),
            at_ms: clock::epoch_ms(),
        });
    }

    /// Says why the file cannot be read, or why the worker ends.
    pub fn fail(&self, failure: Failure) {
        self.send(&Reply::Failed(Box::new(failure)));
    }

    /// Sends a reply with an attachment, which moves to the page; `NULL` for none. A blob is passed by reference.
    pub fn send_with(&self, reply: &Reply, attachment: &JsValue) {
        let moving = match attachment.is_null() || attachment.is_instance_of::<Blob>() {
            true => Array::new(),
            false => Array::of1(attachment),
        };
        self.post(reply, &moving, attachment);
    }

    fn post(&self, reply: &Reply, moving: &Array, attachment: &JsValue) {
        let message = message(&reply_bytes(reply), attachment, moving);
        if let Err(error) = self.scope.post_message_with_transfer(&message, moving) {
            log_error(&vramscope_protocol::error_text(&error));
        }
    }

    /// Reports panics to the page from now on, before the module traps.
    fn report_panics(&self) {
        let port = Self {
            scope: self.scope.clone(),
        };
        let report = move |text: String| {
            port.fail(panicked(&text));
        };
        REPORT.with(|slot| *slot.borrow_mut() = Some(Box::new(report)));
        std::panic::set_hook(Box::new(|info| {
            REPORT.with(|slot| {
                if let Some(report) = &*slot.borrow() {
                    report(info.to_string());
                }
            });
        }));
    }
}

/// The failure of a panic. The standard library panics when a list would need more than half of the addresses, which on
/// wasm32 are 2 GiB; if less is missing, it stops without a panic.
fn panicked(text: &str) -> Failure {
    match text.ends_with("capacity overflow") {
        true => Failure::no_memory(text),
        false => Failure::internal(text),
    }
}

/// Logs an error that cannot be sent to the page.
pub fn log_error(text: &str) {
    gloo::console::error!(text);
}

/// Calls back after the waiting messages have been received: a message to oneself goes to the end of their queue,
/// without the delay of a timer.
#[derive(Clone)]
pub struct Ticks {
    inner: Rc<Inner>,
}

struct Inner {
    channel: MessageChannel,
    is_scheduled: Cell<bool>,
}

impl Ticks {
    fn new(work: impl Fn(&Self) + 'static) -> Self {
        // The specification has no reason for which this can fail.
        let channel = MessageChannel::new().unwrap_or_else(|error| wasm_bindgen::throw_val(error));
        let ticks = Self {
            inner: Rc::new(Inner {
                channel,
                is_scheduled: Cell::new(false),
            }),
        };
        let own = ticks.clone();
        let on_tick = Closure::<dyn Fn()>::new(move || {
            own.inner.is_scheduled.set(false);
            work(&own);
        });
        ticks
            .inner
            .channel
            .port1()
            .set_onmessage(Some(on_tick.as_ref().unchecked_ref()));
        on_tick.forget();
        ticks
    }

    /// Asks for the next call. Further requests before that call change nothing.
    pub fn schedule(&self) {
        if !self.inner.is_scheduled.replace(true) {
            let _ = self.inner.channel.port2().post_message(&JsValue::NULL);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    #[test]
    fn a_list_too_large_is_no_fault_of_this_program() {
        let panic = catch_unwind(|| Vec::<u64>::with_capacity(usize::MAX)).unwrap_err();
        let text = panic.downcast_ref::<&str>().unwrap();
        let message = |text: &str| panicked(text).message;
        assert!(message(&format!("panicked at raw_vec/mod.rs:28:5:\n{text}")).contains("memory"));
        assert!(message("index out of bounds").contains("internal"));
    }
}
