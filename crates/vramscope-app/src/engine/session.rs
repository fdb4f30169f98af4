//! One open file: its worker, its listener, and its askers.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;

use vramscope_protocol::{
    Answer, Ask, Failure, Question, Reply, Request, RequestId, Slot, to_bytes,
};
use wasm_bindgen::{JsCast, JsValue};
use web_sys::ImageBitmap;
use yew::Callback;

use super::Source;
use super::planner::{Planner, Planning};
use super::port::{Port, Starters, failed};
use crate::browser::{clock, error_text, url};

/// The number of an open file; never reused while the page is open.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SessionId(pub u32);

/// A callback for the answer to a question and its attachment.
type TakeAnswer = Box<dyn FnOnce(Option<Answer>, JsValue)>;

/// One open file, or some of its memory pools. Cheap to clone; equal if the same. Its worker ends with
/// [`Session::close`] or with the last clone.
#[derive(Clone)]
pub struct Session {
    inner: Rc<Inner>,
    /// The pools that questions are about, as a search; `None` for all.
    within: Option<Rc<str>>,
    /// The version of the file that questions are about.
    version: u32,
}

pub(super) struct Inner {
    id: SessionId,
    name: String,
    source: Source,
    pub(super) starters: Starters,
    /// The version of the file that the worker has.
    version: Cell<u32>,
    port: RefCell<Option<Port>>,
    /// The planner of a snapshot, from its first question until nobody needs it.
    pub(super) planner: RefCell<Option<Rc<Planner>>>,
    /// How many need it.
    pub(super) planning: Cell<u32>,
    /// Why the last one ended before its time.
    pub(super) planner_fault: RefCell<Option<String>>,
    listener: RefCell<Callback<Reply>>,
    /// News for the next listener.
    kept: RefCell<Option<Reply>>,
    last_request: Cell<RequestId>,
    last_slot: Cell<Slot>,
    /// The callbacks that wait for answers.
    askers: RefCell<HashMap<Slot, Vec<(RequestId, TakeAnswer)>>>,
    /// Called once the file is open, has failed or is closed.
    on_settled: RefCell<Option<Box<dyn FnOnce()>>>,
    /// Whether no more of the file may be downloaded.
    is_held: Cell<bool>,
    is_closed: Cell<bool>,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl PartialEq for Session {
    fn eq(&self, other: &Self) -> bool {
        self.is_alike(other) && self.version == other.version
    }
}

impl Session {
    /// A session without a worker.
    pub(super) fn new(
        id: SessionId,
        source: &Source,
        listener: Callback<Reply>,
        starters: &Starters,
    ) -> Self {
        let inner = Inner {
            id,
            name: source.name(),
            source: source.clone(),
            starters: starters.clone(),
            version: Cell::new(0),
            port: RefCell::new(None),
            planner: RefCell::default(),
            planning: Cell::new(0),
            planner_fault: RefCell::default(),
            listener: RefCell::new(listener),
            kept: RefCell::new(None),
            last_request: Cell::new(0),
            last_slot: Cell::new(0),
            askers: RefCell::default(),
            on_settled: RefCell::new(None),
            is_held: Cell::new(false),
            is_closed: Cell::new(false),
        };
        Self {
            inner: Rc::new(inner),
            within: None,
            version: 0,
        }
    }

    /// The same file, with all questions about these memory pools only, given as a search. Allocations and segments
    /// are numbered as in the whole file.
    #[must_use]
    pub fn within(&self, pools: Option<&str>) -> Self {
        Self {
            inner: self.inner.clone(),
            within: pools.map(Rc::from),
            version: self.version,
        }
    }

    /// The same file in the version that the worker has: another session than before the worker went over to it, so
    /// that all is asked anew.
    #[must_use]
    pub fn newest(&self) -> Self {
        Self {
            version: self.inner.version.get(),
            ..self.clone()
        }
    }

    /// The same file in any version: the same session as before.
    #[must_use]
    pub fn of_all_versions(&self) -> Self {
        Self {
            version: 0,
            ..self.clone()
        }
    }

    /// Takes the version that the worker has gone over to. A planner has a copy of the last one.
    pub fn set_version(&self, version: u32) {
        self.inner.version.set(version);
        self.inner.planner.take();
    }

    /// Keeps the planner running as long as what is returned lives. It starts with the first question to it.
    #[must_use]
    pub fn plan(&self) -> Planning {
        Planning::of(&self.inner)
    }

    /// Why the planner ended before its answers, in words.
    #[must_use]
    pub fn planner_fault(&self) -> Option<String> {
        self.inner.planner_fault.borrow().clone()
    }

    /// Whether both are the same but for the version.
    #[must_use]
    pub fn is_alike(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.inner, &other.inner) && self.within == other.within
    }

    /// Has the worker read the next version of the file from the page's server. Answered by [`Reply::Reloaded`].
    pub fn reload(&self) {
        if let Source::Served(served) = &self.inner.source {
            self.send(&Request::Reload {
                name: self.inner.name.clone(),
                url: url::absolute(served),
            });
        }
    }

    /// Takes the worker that will read the file. `on_settled` is called once, when the file is open, has failed or is
    /// closed.
    pub(super) fn start(&self, port: Port, on_settled: impl FnOnce() + 'static) {
        self.inner.on_settled.replace(Some(Box::new(on_settled)));
        self.inner.go_on_with(port);
        if self.inner.is_held.get() {
            self.send(&Request::Hold(true));
        }
    }

    /// Takes the worker away; `None` if it has ended.
    pub(super) fn release(&self) -> Option<Port> {
        self.inner.port.take()
    }

    /// Says that no worker could be started.
    pub(super) fn fail(&self, error: &JsValue) {
        let inner = self.inner.clone();
        let failure = failed(not_started(error));
        wasm_bindgen_futures::spawn_local(async move { inner.emit(failure) });
    }

    /// The number of this file.
    #[must_use]
    pub fn id(&self) -> SessionId {
        self.inner.id
    }

    /// The file's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// The address from which the file was fetched, as the page got it; `None` for a file of the user's machine.
    #[must_use]
    pub fn url(&self) -> Option<&str> {
        match &self.inner.source {
            Source::Sample(url) | Source::Linked(url) => Some(url),
            // The page opens it anyway.
            Source::Served(_) | Source::File(_) | Source::Handed(_) | Source::Open(_) => None,
        }
    }

    /// The file itself, of the user's machine.
    #[must_use]
    pub fn file(&self) -> Option<&web_sys::File> {
        match &self.inner.source {
            Source::File(file) | Source::Handed(file) => Some(file),
            _ => None,
        }
    }

    /// Whether the page around this one has the file itself.
    #[must_use]
    pub fn is_handed(&self) -> bool {
        matches!(self.inner.source, Source::Handed(_))
    }

    /// The file at a path from the folder of this one; `None` if this one is of the user's machine, or the path leads out
    /// of that folder.
    #[must_use]
    pub fn beside(&self, path: &str) -> Option<Source> {
        let at = |own: &str| url::beside(own, path);
        match &self.inner.source {
            Source::Sample(own) => at(own).map(Source::Sample),
            Source::Served(own) => at(own).map(Source::Served),
            Source::Linked(own) => at(own).map(Source::Linked),
            Source::File(_) | Source::Handed(_) | Source::Open(_) => None,
        }
    }

    /// Whether the session was closed.
    pub(super) fn is_closed(&self) -> bool {
        self.inner.is_closed.get()
    }

    /// Takes no more bytes of the file from its server, or (`false`) goes on.
    pub fn hold(&self, on: bool) {
        if self.inner.is_held.replace(on) != on {
            self.send(&Request::Hold(on));
        }
    }

    /// Keeps news that the listener does not understand for the next one.
    pub fn keep(&self, news: Reply) {
        self.inner.kept.replace(Some(news));
    }

    /// The news that were kept.
    pub(super) fn take_kept(&self) -> Option<Reply> {
        self.inner.kept.take()
    }

    /// Whether no more of the file may be downloaded.
    pub(super) fn is_held(&self) -> bool {
        self.inner.is_held.get()
    }

    /// Goes on with a worker that was asked by another program: its numbers are left out, so that its answers are no one's.
    pub(super) fn go_on_from_other(&self, is_held: bool) {
        const AFTER: u32 = 1 << 20;
        self.inner.last_request.set(AFTER);
        self.inner.last_slot.set(AFTER);
        self.inner.is_held.set(is_held);
    }

    /// Sends all news to `listener` from now on, soon also those that were kept.
    pub(super) fn listen(&self, listener: Callback<Reply>) {
        self.inner.listener.replace(listener);
        if let Some(kept) = self.inner.kept.take() {
            let inner = self.inner.clone();
            clock::soon(move || inner.emit(kept));
        }
    }

    /// Where the file came from.
    pub(super) fn source(&self) -> &Source {
        &self.inner.source
    }

    /// A new asker of questions about the file.
    #[must_use]
    pub fn asker(&self) -> Asker {
        Asker {
            session: self.clone(),
            slot: self.next_slot(),
        }
    }

    /// Asks a question that no newer one supersedes, such as a download; see [`Asker::ask`].
    pub fn ask_once<Q: Ask>(
        &self,
        question: Q,
        take: impl FnOnce(Option<Q::Answer>, JsValue) + 'static,
    ) {
        self.ask_in(self.next_slot(), question, take);
    }

    fn next_slot(&self) -> Slot {
        let next = self.inner.last_slot.get().wrapping_add(1);
        self.inner.last_slot.set(next);
        next
    }

    fn ask_in<Q: Ask>(
        &self,
        slot: Slot,
        question: Q,
        take: impl FnOnce(Option<Q::Answer>, JsValue) + 'static,
    ) {
        let take = move |answer: Option<Answer>, attachment| {
            take(answer.and_then(Q::pick), attachment);
        };
        self.ask_any(slot, question.into(), Box::new(take));
    }

    fn ask_any(&self, slot: Slot, question: Question, take: TakeAnswer) {
        let request = self.inner.last_request.get().wrapping_add(1).max(1);
        self.inner.last_request.set(request);
        let mut askers = self.inner.askers.borrow_mut();
        askers.entry(slot).or_default().push((request, take));
        drop(askers);
        let is_planners = matches!(question, Question::WhatIf(_));
        let asked = Request::Ask {
            request,
            slot,
            within: self.within.as_deref().map(str::to_owned),
            question: Box::new(question),
        };
        match is_planners {
            true => self.inner.ask_planner(asked),
            false => self.inner.send(&asked),
        }
    }

    /// Sends the worker a request. Does nothing before there is one, and once the session is closed.
    pub(super) fn send(&self, request: &Request) {
        self.inner.send(request);
    }

    pub(super) fn send_with(&self, request: &Request, attachment: &JsValue) {
        self.inner.send_with(request, attachment);
    }

    /// Ends the worker and frees its memory: the tab is closed, or opening is cancelled.
    pub fn close(&self) {
        self.inner.is_closed.set(true);
        self.inner.port.replace(None);
        self.inner.planner.take();
        self.inner.settled();
    }
}

/// Asks questions about a file, of which only the newest matters. Answers that arrive
/// after it is dropped are ignored.
pub struct Asker {
    session: Session,
    slot: Slot,
}

impl Asker {
    /// Asks a question; `take` gets the answer (`None` if the worker has none) and its attachment, an
    /// `ImageBitmap`, an `ArrayBuffer` or `NULL`. It is dropped if a newer question is answered first. The
    /// worker skips only questions that still wait when the next one comes, so an asker that asks all the
    /// time still gets answers.
    pub fn ask<Q: Ask>(
        &self,
        question: Q,
        take: impl FnOnce(Option<Q::Answer>, JsValue) + 'static,
    ) {
        self.session.ask_in(self.slot, question, take);
    }
}

impl Drop for Asker {
    fn drop(&mut self) {
        self.session.inner.askers.borrow_mut().remove(&self.slot);
    }
}

impl Inner {
    /// The session of the whole file.
    pub(super) fn whole(self: &Rc<Self>) -> Session {
        Session {
            inner: self.clone(),
            within: None,
            version: 0,
        }
    }

    fn emit(&self, news: Reply) {
        let listener = self.listener.borrow().clone();
        listener.emit(news);
    }

    fn send(&self, request: &Request) {
        self.send_with(request, &JsValue::NULL);
    }

    pub(super) fn send_with(&self, request: &Request, attachment: &JsValue) {
        let sent = {
            let port = self.port.borrow();
            let Some(port) = port.as_ref() else { return };
            port.send(&to_bytes(request), attachment)
        };
        if let Err(error) = sent {
            self.emit(failed(Failure::internal(&error_text(&error))));
        }
    }

    fn settled(&self) {
        let on_settled = self.on_settled.borrow_mut().take();
        if let Some(on_settled) = on_settled {
            on_settled();
        }
    }

    /// Has this worker answer from now on. One before it ends.
    fn go_on_with(self: &Rc<Self>, port: Port) {
        // Weak: a worker must not keep alive the session that would end it.
        let weak = Rc::downgrade(self);
        port.listen(move |reply, attachment| {
            if let Some(inner) = weak.upgrade() {
                inner.take(reply, attachment);
            }
        });
        self.port.replace(Some(port));
    }

    /// Has a planner read the file in place of the worker.
    fn go_to_planner(self: &Rc<Self>, file: JsValue) {
        self.port.replace(None);
        let inner = self.clone();
        wasm_bindgen_futures::spawn_local(async move {
            let planner = Port::start_planner(inner.starters.clone()).await;
            if inner.is_closed.get() {
                return;
            }
            match planner {
                Ok(planner) => {
                    inner.go_on_with(planner);
                    let name = inner.name.clone();
                    inner.send_with(&Request::OpenBlob { name }, &file);
                }
                Err(error) => inner.take_news(failed(not_started(&error))),
            }
        });
    }

    fn take(self: &Rc<Self>, reply: Reply, attachment: JsValue) {
        match reply {
            Reply::Answer {
                request,
                slot,
                answer,
            } => self.answer(slot, request, answer, attachment),
            Reply::ForPlanner => self.go_to_planner(attachment),
            news => self.take_news(news),
        }
    }

    /// Passes an answer on to its asker.
    pub(super) fn answer(
        &self,
        slot: Slot,
        request: RequestId,
        answer: Option<Answer>,
        attachment: JsValue,
    ) {
        match self.waiting(slot, request) {
            Some(take) => take(answer, attachment),
            None => close_bitmap(&attachment),
        }
    }

    /// Removes and returns the callback for this answer, and removes those for older questions of the same asker.
    fn waiting(&self, slot: Slot, request: RequestId) -> Option<TakeAnswer> {
        let mut askers = self.askers.borrow_mut();
        let waiting = askers.get_mut(&slot)?;
        let place = waiting.iter().position(|(known, _)| *known == request)?;
        let (_, take) = waiting.drain(..=place).next_back()?;
        if waiting.is_empty() {
            askers.remove(&slot);
        }
        Some(take)
    }

    /// Handles a worker's messages that answer no question.
    pub(super) fn take_news(&self, reply: Reply) {
        if let Reply::Mark { name, at_ms } = reply {
            return clock::mark_at(&format!("vramscope:{name}"), at_ms);
        }
        let is_final = matches!(reply, Reply::Failed(_));
        let is_opened = mark_opened(&reply);
        if is_opened || is_final {
            self.settled();
        }
        self.emit(reply);
        if is_final {
            self.port.replace(None);
        }
    }
}

/// The failure of a worker that could not be started.
pub(super) fn not_started(error: &JsValue) -> Failure {
    let why = error_text(error);
    Failure::internal(&format!("no worker could be started ({why})"))
}

/// Frees the memory of a picture that nobody waits for.
fn close_bitmap(attachment: &JsValue) {
    if let Some(bitmap) = attachment.dyn_ref::<ImageBitmap>() {
        bitmap.close();
    }
}

/// Sets a User Timing mark if this reply says that the file is open; returns whether it does.
fn mark_opened(reply: &Reply) -> bool {
    let figures = match reply {
        Reply::Opened(opened) => vec![
            ("read_ms", opened.file.read_ms.into()),
            (
                "worker_bytes",
                JsValue::from(opened.file.worker_bytes as f64),
            ),
        ],
        Reply::OpenedGraphs(opened) => vec![("read_ms", opened.read_ms.into())],
        Reply::OpenedFleet(opened) => vec![("read_ms", opened.read_ms.into())],
        Reply::OpenedText(opened) => vec![("read_ms", opened.read_ms.into())],
        _ => return false,
    };
    clock::mark_with("vramscope:opened", &figures);
    true
}
