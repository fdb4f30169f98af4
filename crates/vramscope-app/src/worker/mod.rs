//! A worker reads one file, keeps it, draws it and answers questions about it.
//!
//! ```text
//! messages ─> queue ─> open ─> Document ─> answer / Painter ─> messages
//!                          ├─> Graphs ─> answer ──────────────────┤
//!                          └─> Ranks ─> answer ───────────────────┘
//! ```
//!
//! Everything but `port`, `open`, `blob`, `fetch` and `bitmap` is free of the browser and
//! tested natively.

mod answer;
mod bitmap;
mod blob;
mod colours;
mod describe;
mod document;
mod fetch;
mod filter;
mod flame_trees;
mod fleet;
mod gate;
mod graphs;
mod live;
mod narrowed;
mod open;
mod opened;
mod pace;
mod painter;
#[cfg(test)]
mod picture_tests;
mod port;
mod prepare;
mod queue;
mod range;
mod reserved;
#[cfg(test)]
mod saved_tests;
#[cfg(test)]
mod tests;
mod views;
mod warm_up;

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::rc::Rc;

use wasm_bindgen::{JsCast, JsValue};
use web_sys::ImageBitmap;

use crate::browser::clock;
use crate::browser::message::received;
use crate::parts::{self, Part, apart};
use crate::protocol::views::fleet::Sealed;
use crate::protocol::views::graph::Question as GraphQuestion;
use crate::protocol::{
    Answer, Ask, DrawRequest, DrawnFrame, Extra, Failure, Question, Reply, Request,
};
use document::Document;
use fleet::Ranks;
use gate::Gate;
use graphs::Graphs;
use narrowed::Narrowed;
use painter::Painter;
use port::Port;
use queue::Queue;
use warm_up::WarmUp;

#[derive(Default)]
struct Worker {
    queue: Queue<JsValue>,
    /// Closed while no more may be downloaded.
    gate: Rc<Gate>,
    /// The file, once it is read.
    file: Option<File>,
    /// The next version of the file, once it is read.
    next: Option<Box<live::Next>>,
    /// The name and the blob of a file that is read again once its part is here.
    waiting: Option<(String, JsValue)>,
    painter: Painter,
    bitmaps: bitmap::Bitmaps,
    views: views::Caches,
    /// The memory pools that were asked about last.
    narrowed: Option<Narrowed>,
    /// Work done ahead of questions.
    preparation: prepare::Preparation,
    /// The rest of [`Request::WarmUp`].
    warm_up: Option<WarmUp>,
}

/// The contents of a file.
enum File {
    Snapshot(Box<Document>),
    Graphs(Box<Graphs>),
    Fleet(Box<Ranks>),
}

impl File {
    fn snapshot(&self) -> Option<&Document> {
        match self {
            Self::Snapshot(document) => Some(document),
            Self::Graphs(_) | Self::Fleet(_) => None,
        }
    }
}

/// Runs the worker: listens to the page from now on.
pub(crate) fn run() {
    let port = Rc::new(Port::new());
    port.report_panics();
    // It ends with its thread. So the module needs no code that would free what it keeps.
    let worker: &'static RefCell<Worker> = Box::leak(Box::default());
    let ticks = {
        let port = port.clone();
        port::Ticks::new(move |ticks| work(worker, &port, ticks))
    };
    port.listen(move |event| {
        match received(&event) {
            Ok((request, attachment)) => worker.borrow_mut().queue.push(request, attachment),
            Err(error) => Port::new().send(&Reply::Failed(Box::new(Failure::internal(
                &error.to_string(),
            )))),
        }
        ticks.schedule();
    });
    Port::new().send(&Reply::Ready);
}

/// Answers one question and schedules the next, so that messages come in between and newer questions replace older
/// ones.
fn work(worker: &'static RefCell<Worker>, port: &Rc<Port>, ticks: &port::Ticks) {
    let next = worker.borrow_mut().queue.pop();
    let Some((request, attachment)) = next else {
        return idle(&mut worker.borrow_mut(), port, ticks);
    };
    match request {
        Request::WarmUp => {
            let worker = &mut *worker.borrow_mut();
            worker.bitmaps.warm_up();
            worker.warm_up = Some(WarmUp::new(clock::now_ms()));
            wasm_bindgen_futures::spawn_local(async {
                open::rehearse(warm_up::SNAPSHOT).await;
            });
        }
        Request::OpenBlob { name } => {
            let port = port.clone();
            worker.borrow_mut().forget();
            wasm_bindgen_futures::spawn_local(async move {
                let opening = open::blob(&name, attachment, &port).await;
                worker.borrow_mut().opened(name, opening, &port);
            });
        }
        Request::OpenUrl { name, url } => {
            let port = port.clone();
            worker.borrow_mut().forget();
            let gate = worker.borrow().gate.clone();
            wasm_bindgen_futures::spawn_local(async move {
                let opening = open::url(&name, &url, &gate, &port).await;
                worker.borrow_mut().opened(name, opening, &port);
            });
        }
        Request::Reload { name, url } => reload(worker, port, name, url),
        Request::Part(part) => worker.borrow_mut().take_part(part, attachment, port),
        Request::Hold(on) => worker.borrow().gate.set_closed(on),
        Request::Ask {
            request,
            slot,
            within,
            question,
        } => {
            let is_first = !worker.borrow().preparation.has_begun();
            if is_first {
                port.mark("asked");
            }
            let (answer, attachment) = worker.borrow_mut().answer(within.as_deref(), &question);
            if is_first && !attachment.is_null() {
                port.mark("drawn");
            }
            let reply = Reply::Answer {
                request,
                slot,
                answer,
            };
            port.send_with(&reply, &attachment);
        }
    }
    let worker = worker.borrow();
    if !worker.queue.is_empty() || worker.has_idle_work() {
        ticks.schedule();
    }
}

/// Reads the next version of the file, which stays open meanwhile.
fn reload(worker: &'static RefCell<Worker>, port: &Rc<Port>, name: String, url: String) {
    let port = port.clone();
    let gate = worker.borrow().gate.clone();
    wasm_bindgen_futures::spawn_local(async move {
        let next = open::next(&name, &url, &gate, &port).await;
        let failure = match next {
            Ok(next) => {
                worker.borrow_mut().next = Some(Box::new(next));
                None
            }
            Err(failure) => Some(Box::new(failure)),
        };
        port.send(&Reply::Reloaded(failure));
    });
}

/// Does one piece of work ahead of questions, if there is any, and schedules the next.
fn idle(worker: &mut Worker, port: &Port, ticks: &port::Ticks) {
    worker.warm_up(port);
    match &mut worker.file {
        Some(File::Snapshot(document)) => worker.preparation.step(document, &mut worker.views),
        Some(File::Graphs(graphs)) => search(graphs),
        Some(File::Fleet(_)) | None => {}
    }
    if worker.has_idle_work() {
        ticks.schedule();
    }
}

apart! { "planning", "15",
    fn of_graphs(graphs: &mut Graphs, question: &GraphQuestion) -> Option<(Answer, Extra)> {
        views::with_extra(question, graphs.answer(question))
    }
}

apart! { "fleet", "97",
    fn of_fleet(ranks: &mut Ranks, question: &Sealed) -> Option<(Answer, Extra)> {
        views::with_extra(question, ranks.answer(question))
    }
}

apart! { "planning", "16",
    fn search(graphs: &mut Graphs) -> () {
        graphs.search(clock::now_ms);
    }
}

impl Worker {
    /// Warms up a little, and in the end opens the tiny snapshot.
    fn warm_up(&mut self, port: &Port) {
        let Some(warm_up) = self.warm_up.take() else {
            return;
        };
        match warm_up.round(clock::now_ms()) {
            ControlFlow::Continue(rest) => self.warm_up = Some(rest),
            ControlFlow::Break(Some((document, opened))) => {
                self.file = Some(File::Snapshot(Box::new(document)));
                port.send(&Reply::Rehearsed(Box::new(opened)));
            }
            ControlFlow::Break(None) => {}
        }
    }

    /// Forgets the tiny snapshot, and all that was computed from it.
    fn forget(&mut self) {
        *self = Self {
            queue: std::mem::take(&mut self.queue),
            gate: self.gate.clone(),
            bitmaps: std::mem::take(&mut self.bitmaps),
            ..Self::default()
        };
    }

    /// Takes a part in, and reads the file that waited for it.
    fn take_part(&mut self, part: Part, modules: JsValue, port: &Port) {
        if let Err(error) = parts::take(part, &modules.unchecked_into()) {
            let error = Failure::internal(&crate::browser::error_text(&error));
            port.send(&Reply::Failed(Box::new(error)));
        }
        if part == Part::Views {
            self.preparation.again();
        }
        if let Some((name, blob)) = self.waiting.take() {
            self.queue.push(Request::OpenBlob { name }, blob);
        }
    }

    /// Keeps a file that was read, or asks for the part that reading it takes.
    fn opened(&mut self, name: String, opening: open::Opening, port: &Port) {
        match opening {
            open::Opening::Over(file) => self.file = file,
            open::Opening::Needs(part, blob) => {
                self.waiting = Some((name, blob));
                port.send(&Reply::Needs(part));
            }
        }
    }

    fn has_idle_work(&self) -> bool {
        let is_searching = match &self.file {
            Some(File::Graphs(graphs)) => graphs.is_searching(),
            _ => false,
        };
        self.warm_up.is_some() || self.preparation.is_waiting() || is_searching
    }

    /// Whether a question is about a picture of another version of the file, whose places and numbers mean something
    /// else in this one.
    fn is_of_other_version(&self, question: &Question) -> bool {
        let look = match question {
            Question::Draw(draw) => &draw.look,
            Question::Hit(of) => &of.draw.look,
            Question::Outline(of) => &of.draw.look,
            Question::BandLabels(of) => &of.draw.look,
            _ => return false,
        };
        let document = self.file.as_ref().and_then(File::snapshot);
        document.is_some_and(|document| document.version != look.version)
    }

    /// The answer to a question, and its attachment or `NULL`.
    fn answer(&mut self, within: Option<&str>, question: &Question) -> (Option<Answer>, JsValue) {
        if let Question::Adopt(asked) = question {
            return (live::adopt(self, asked), JsValue::NULL);
        }
        if self.is_of_other_version(question) {
            return (None, JsValue::NULL);
        }
        let answered = match (&mut self.file, question) {
            (_, Question::Draw(draw)) => return self.drawn(within, draw),
            (Some(File::Graphs(graphs)), Question::Graph(question)) => of_graphs(graphs, question),
            (Some(File::Fleet(ranks)), Question::Fleet(question)) => of_fleet(ranks, question),
            (Some(File::Snapshot(document)), question) => match within {
                None => views::answer(question, document, &mut self.painter, &mut self.views),
                Some(pools) => Narrowed::of(document, pools, &mut self.narrowed)
                    .and_then(|narrowed| narrowed.answer(question))
                    .or_else(|| {
                        narrowed::is_of_whole(question).then(|| {
                            views::answer(question, document, &mut self.painter, &mut self.views)
                        })?
                    }),
            },
            _ => None,
        };
        let Some((answer, extra)) = answered else {
            return (None, JsValue::NULL);
        };
        match extra {
            Extra::Nothing => (Some(answer), JsValue::NULL),
            // The array is dropped here; its buffer moves to the page.
            Extra::Bytes(bytes) => {
                let array = js_sys::Uint8Array::from(bytes.as_slice());
                (Some(answer), array.buffer().into())
            }
            Extra::Pixels {
                width_px,
                height_px,
                rgba,
            } => match self.bitmaps.of_pixels(width_px, height_px, &rgba) {
                Ok(bitmap) => (Some(answer), bitmap.into()),
                Err(error) => {
                    port::log_error(&crate::browser::error_text(&error));
                    (None, JsValue::NULL)
                }
            },
        }
    }

    /// The answer to a request for a picture, with its bitmap. The pixels are not copied.
    fn drawn(&mut self, within: Option<&str>, draw: &DrawRequest) -> (Option<Answer>, JsValue) {
        match self.draw(within, draw) {
            Ok((frame, bitmap)) => (Some(DrawRequest::wrap(frame)), bitmap.into()),
            Err(error) => {
                port::log_error(&error);
                (None, JsValue::NULL)
            }
        }
    }

    fn draw(
        &mut self,
        within: Option<&str>,
        draw: &DrawRequest,
    ) -> Result<(DrawnFrame, ImageBitmap), String> {
        let file = self.file.as_ref();
        let document = file.and_then(File::snapshot).ok_or("no file to draw")?;
        let start_ms = clock::now_ms();
        let (document, painter) = match within {
            None => (document, &mut self.painter),
            Some(pools) => {
                let narrowed = Narrowed::of(document, pools, &mut self.narrowed);
                let narrowed = narrowed.ok_or("no such pool")?;
                (&narrowed.document, &mut narrowed.painter)
            }
        };
        let device = document.device(draw.look.device).ok_or("no such device")?;
        let (events, allocations) = (
            device.history.event_count,
            device.history.allocations.len() as u32,
        );
        let frame = painter.draw(document, draw).ok_or("no such device")?;
        let bitmap = self.bitmaps.bitmap(frame);
        let bitmap = bitmap.map_err(|error| crate::browser::error_text(&error))?;
        let draw_ms = clock::now_ms() - start_ms;
        self.preparation.begin();
        let drawn = DrawnFrame {
            draw: draw.clone(),
            draw_ms,
            events,
            allocations,
        };
        Ok((drawn, bitmap))
    }
}
