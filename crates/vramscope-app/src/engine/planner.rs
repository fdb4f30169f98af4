//! The planner of a snapshot: a worker beside the file's, with a copy of the snapshot.
//!
//! It starts with the first question to it, and ends when nobody [needs](Planning) it: then all its memory is free. What it finds
//! goes to the file's worker, which draws it, before the page gets the answer.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;

use js_sys::{Array, ArrayBuffer};
use vramscope_protocol::views::export;
use vramscope_protocol::{Failure, Reply, Request, RequestId, Slot, to_bytes};
use wasm_bindgen::{JsCast, JsValue};
use web_sys::Blob;

use crate::browser::clock;

use super::port::Port;
use super::session::{Inner, not_started};

/// How long it stays when nobody needs it, in ms: somebody may need it in the next view.
const LINGER_MS: i32 = 1_000;

/// A planner. Its worker ends when this is dropped.
#[derive(Default)]
pub(super) struct Planner {
    port: OnceCell<Port>,
    /// Whether it has the snapshot.
    is_open: Cell<bool>,
    /// Questions until then.
    waiting: RefCell<Vec<Request>>,
    /// All questions without an answer.
    asked: RefCell<Vec<(Slot, RequestId)>>,
}

/// Somebody needs the planner.
pub struct Planning(Rc<Inner>);

impl Planning {
    pub(super) fn of(session: &Rc<Inner>) -> Self {
        session.planning.update(|planning| planning + 1);
        Self(session.clone())
    }
}

impl Drop for Planning {
    fn drop(&mut self) {
        self.0.planning.update(|planning| planning - 1);
        let session = Rc::downgrade(&self.0);
        clock::later(LINGER_MS, move || {
            let session = session.upgrade().filter(|it| it.planning.get() == 0);
            let _ended = session.and_then(|session| session.planner.take());
        });
    }
}

impl Planner {
    fn ask(&self, question: Request) {
        if let Request::Ask { slot, request, .. } = question {
            self.asked.borrow_mut().push((slot, request));
        }
        match self.port.get().filter(|_| self.is_open.get()) {
            Some(port) => send(port, &question, &JsValue::NULL),
            None => self.waiting.borrow_mut().push(question),
        }
    }

    /// Gives it the snapshot, packed, and what was asked meanwhile.
    ///
    /// # Errors
    /// Where there is no copy of the snapshot, or the browser has no memory for it.
    fn open(&self, packed: JsValue) -> Result<(), JsValue> {
        let packed: ArrayBuffer = packed.dyn_into()?;
        let blob = Blob::new_with_buffer_source_sequence(&Array::of1(&packed))?;
        let port = self.port.get().ok_or(JsValue::NULL)?;
        send(port, &Request::OpenPacked, &blob);
        self.is_open.set(true);
        for question in self.waiting.take() {
            send(port, &question, &JsValue::NULL);
        }
        Ok(())
    }
}

/// A request cannot be refused: it is bytes and a blob.
fn send(port: &Port, request: &Request, attachment: &JsValue) {
    let _ = port.send(&to_bytes(request), attachment);
}

impl Inner {
    /// Asks the planner, which is started if it does not run.
    pub(super) fn ask_planner(self: &Rc<Self>, question: Request) {
        let planner = self.planner.borrow().clone();
        let planner = planner.unwrap_or_else(|| {
            self.planner_fault.take();
            let planner = Rc::new(Planner::default());
            self.planner.replace(Some(planner.clone()));
            let (session, weak) = (Rc::downgrade(self), Rc::downgrade(&planner));
            let started = Port::start_planner(self.starters.clone());
            wasm_bindgen_futures::spawn_local(async move {
                let port = started.await;
                // It may have ended meanwhile.
                if let (Some(session), Some(planner)) = (session.upgrade(), weak.upgrade()) {
                    match port {
                        Ok(port) => session.start_planner(&planner, port),
                        Err(error) => session.end_planner(&not_started(&error)),
                    }
                }
            });
            planner
        });
        planner.ask(question);
    }

    /// Has the planner listen, and the file's worker pack the snapshot for it.
    fn start_planner(self: &Rc<Self>, planner: &Rc<Planner>, port: Port) {
        let session = Rc::downgrade(self);
        port.listen(move |reply, attachment| {
            if let Some(session) = session.upgrade() {
                session.take_planned(reply, attachment);
            }
        });
        let _ = planner.port.set(port);
        let (session, planner) = (Rc::downgrade(self), Rc::downgrade(planner));
        self.whole()
            .ask_once(export::Question::Packed { key: None }, move |_, packed| {
                if let (Some(session), Some(planner)) = (session.upgrade(), planner.upgrade())
                    && planner.open(packed).is_err()
                {
                    session.end_planner(&Failure::internal("the snapshot cannot be copied"));
                }
            });
    }

    fn take_planned(&self, reply: Reply, attachment: JsValue) {
        match reply {
            Reply::Answer {
                request,
                slot,
                answer,
            } => {
                if let Some(planner) = &*self.planner.borrow() {
                    planner
                        .asked
                        .borrow_mut()
                        .retain(|asked| *asked != (slot, request));
                }
                if !attachment.is_null() {
                    self.send_with(&Request::Take, &attachment);
                }
                self.answer(slot, request, answer, JsValue::NULL);
            }
            Reply::Failed(failure) => self.end_planner(&failure),
            news => self.take_news(news),
        }
    }

    /// Ends the planner, which failed. Nothing that was asked has an answer.
    fn end_planner(&self, failure: &Failure) {
        let words = format!("{}. {}", failure.message, failure.advice);
        self.planner_fault.replace(Some(words));
        let planner = self.planner.take();
        let asked = planner.map(|planner| planner.asked.take());
        for (slot, request) in asked.unwrap_or_default() {
            self.answer(slot, request, None, JsValue::NULL);
        }
    }
}
