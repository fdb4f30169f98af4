//! One open file: its worker, its listener, and its canvas.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::{Rc, Weak};

use wasm_bindgen::{JsCast, JsValue};
use web_sys::ImageBitmap;
use yew::Callback;

use super::Source;
use super::port::{Port, internal};
use crate::browser::clock;
use crate::protocol::{
    Answer, DrawnFrame, OutlineColumns, Question, Reply, Request, RequestId, Slot, to_text,
};

/// Tells open files apart; never used twice while the page lives.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SessionId(pub u32);

/// A picture that a worker drew.
#[derive(Clone, Debug)]
pub struct DrawnBitmap {
    /// What it shows.
    pub frame: DrawnFrame,
    /// Its pixels.
    pub bitmap: ImageBitmap,
}

/// What a canvas hears from the worker.
pub(crate) trait CanvasListener {
    /// A picture is there; given back if it is not this canvas's.
    fn drawn(&self, drawn: DrawnBitmap) -> Option<DrawnBitmap>;
    /// An outline is there.
    fn outline(&self, outline: &OutlineColumns);
    /// Any other reply, before the page's listener gets it.
    fn other(&self, reply: &Reply);
}

/// Takes the answer to a view's question, and its attachment.
type TakeAnswer = Box<dyn FnOnce(Option<Answer>, JsValue)>;

/// One open file. Cheap to clone; equal if the same. Its worker ends with [`Session::close`] or with the
/// last clone.
#[derive(Clone)]
pub struct Session {
    inner: Rc<Inner>,
}

struct Inner {
    id: SessionId,
    name: String,
    /// Where it was fetched from.
    url: Option<String>,
    port: RefCell<Option<Port>>,
    listener: Callback<Reply>,
    /// Weak: canvases hold the session.
    canvases: RefCell<Vec<Weak<dyn CanvasListener>>>,
    last_request: Cell<RequestId>,
    /// Who waits for an answer to which question.
    askers: RefCell<HashMap<Slot, Vec<(RequestId, TakeAnswer)>>>,
    /// Called once the file is open or has failed.
    on_settled: RefCell<Option<Box<dyn FnOnce()>>>,
}

impl PartialEq for Session {
    fn eq(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.inner, &other.inner)
    }
}

impl Session {
    /// `on_settled` is called once, when the file is open or has failed.
    pub(super) fn new(
        id: SessionId,
        source: &Source,
        port: Port,
        listener: Callback<Reply>,
        on_settled: impl FnOnce() + 'static,
    ) -> Self {
        let session = Self::without_port(id, source, listener);
        session.inner.on_settled.replace(Some(Box::new(on_settled)));
        // Weak: a worker must not keep alive the session that would end it.
        let weak = Rc::downgrade(&session.inner);
        port.listen(move |reply, attachment| {
            if let Some(inner) = weak.upgrade() {
                inner.take(reply, attachment);
            }
        });
        session.inner.port.replace(Some(port));
        session
    }

    /// A session whose worker could not be started.
    pub(super) fn dead(
        id: SessionId,
        source: &Source,
        listener: Callback<Reply>,
        error: &JsValue,
    ) -> Self {
        let session = Self::without_port(id, source, listener);
        let inner = session.inner.clone();
        let why = crate::browser::error_text(error);
        wasm_bindgen_futures::spawn_local(async move {
            inner
                .listener
                .emit(internal(&format!("no worker could be started ({why})")));
        });
        session
    }

    fn without_port(id: SessionId, source: &Source, listener: Callback<Reply>) -> Self {
        let inner = Inner {
            id,
            name: source.name(),
            url: match source {
                Source::Url(url) => Some(url.clone()),
                Source::File(_) => None,
            },
            port: RefCell::new(None),
            listener,
            canvases: RefCell::default(),
            last_request: Cell::new(0),
            askers: RefCell::default(),
            on_settled: RefCell::new(None),
        };
        Self {
            inner: Rc::new(inner),
        }
    }

    /// Tells open files apart.
    #[must_use]
    pub fn id(&self) -> SessionId {
        self.inner.id
    }

    /// The file's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// Where the file was fetched from, as the page was told; `None` for a file of the user's machine.
    #[must_use]
    pub fn url(&self) -> Option<&str> {
        self.inner.url.as_deref()
    }

    /// Asks the worker; the answer goes to the listener. Nothing happens once the session is closed.
    pub fn ask(&self, request: &Request) {
        self.ask_about(request, &JsValue::NULL);
    }

    /// Asks a view's question; `take` gets the answer (`None`: there is nothing to say) and its attachment.
    /// It is dropped if a newer question of the same asker is answered first, as the worker skips those
    /// that still wait when the next one comes; so someone who asks all the time still hears something.
    pub fn ask_for(
        &self,
        slot: Slot,
        question: Question,
        take: impl FnOnce(Option<Answer>, JsValue) + 'static,
    ) {
        let request = self.next_request();
        let asker = (request, Box::new(take) as TakeAnswer);
        let mut askers = self.inner.askers.borrow_mut();
        askers.entry(slot).or_default().push(asker);
        drop(askers);
        self.ask(&Request::Ask {
            request,
            slot,
            question: Box::new(question),
        });
    }

    /// Forgets who waits for an answer.
    pub fn forget(&self, slot: Slot) {
        self.inner.askers.borrow_mut().remove(&slot);
    }

    /// [`ask`](Self::ask) with an attachment.
    pub(super) fn ask_about(&self, request: &Request, attachment: &JsValue) {
        let sent = {
            let port = self.inner.port.borrow();
            let Some(port) = port.as_ref() else { return };
            let text = to_text(request).map_err(|error| JsValue::from(error.to_string()));
            text.and_then(|text| port.send(&text, attachment))
        };
        if let Err(error) = sent {
            self.inner
                .listener
                .emit(internal(&crate::browser::error_text(&error)));
        }
    }

    /// A number for a question whose answer must be told from a stale one.
    #[must_use]
    pub fn next_request(&self) -> RequestId {
        let next = self.inner.last_request.get().wrapping_add(1).max(1);
        self.inner.last_request.set(next);
        next
    }

    /// Ends the worker and frees its memory: the tab is closed, or opening is cancelled.
    pub fn close(&self) {
        self.inner.port.replace(None);
        self.inner.canvases.take();
        self.inner.settled();
    }

    /// Sends its pictures and outlines to `canvas`, too, from now on.
    pub(crate) fn attach_canvas(&self, canvas: Weak<dyn CanvasListener>) {
        let mut canvases = self.inner.canvases.borrow_mut();
        canvases.retain(|known| known.strong_count() > 0);
        canvases.push(canvas);
    }
}

impl Inner {
    fn settled(&self) {
        let on_settled = self.on_settled.borrow_mut().take();
        if let Some(on_settled) = on_settled {
            on_settled();
        }
    }

    fn take(&self, reply: Reply, attachment: JsValue) {
        let canvases = self.canvases.borrow();
        let canvases: Vec<_> = canvases.iter().filter_map(Weak::upgrade).collect();
        match reply {
            Reply::Drawn(frame) => {
                let bitmap = attachment.unchecked_into::<ImageBitmap>();
                let drawn = Some(DrawnBitmap { frame, bitmap });
                let left = canvases.iter().fold(drawn, |drawn, canvas| {
                    drawn.and_then(|drawn| canvas.drawn(drawn))
                });
                if let Some(unwanted) = left {
                    unwanted.bitmap.close();
                }
            }
            Reply::Answer {
                request,
                slot,
                answer,
            } => {
                let mut askers = self.askers.borrow_mut();
                let asker = askers.get_mut(&slot).and_then(|waiting| {
                    let place = waiting.iter().position(|(known, _)| *known == request)?;
                    waiting.drain(..=place).next_back()
                });
                // It may ask again at once.
                drop(askers);
                if let Some((_, take)) = asker {
                    take(answer.map(|answer| *answer), attachment);
                }
            }
            Reply::Outline(outline) => {
                for canvas in &canvases {
                    canvas.outline(&outline);
                }
            }
            reply => {
                for canvas in &canvases {
                    canvas.other(&reply);
                }
                let is_final = matches!(reply, Reply::Failed(_));
                if mark_opened(&reply) || is_final {
                    self.settled();
                }
                self.listener.emit(reply);
                if is_final {
                    self.port.replace(None);
                }
            }
        }
    }
}

/// Marks the moment at which a file is open, if this says so; says whether it does.
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
        _ => return false,
    };
    clock::mark_with("vramscope:opened", &figures);
    true
}
