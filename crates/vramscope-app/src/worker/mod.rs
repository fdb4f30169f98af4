//! A worker reads one file, keeps it, draws it and answers questions about it.
//!
//! ```text
//! messages ─> queue ─> open ─> Document ─> answer / Painter ─> messages
//!                          ├─> Graphs ─> answer ──────────────────┤
//!                          ├─> Ranks ─> answer ───────────────────┤
//!                          └─> text ──────────────────────────────┘
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
mod text;
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
use open::Told;
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
    Snapshot(Box<Document>, Told),
    Graphs(Box<Graphs>),
    Fleet(Box<Ranks>),
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
            // At once: what comes next may be read only with it.
            Ok((Request::Part(part), modules)) => {
                worker.borrow_mut().take_part(part, modules, &Port::new());
            }
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
        Request::WarmUp => begin_warm_up(&mut worker.borrow_mut()),
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
        Request::Reload { name, url } => live::reload(worker, port.clone(), name, url),
        // Taken in when it came.
        Request::Part(_) => {}
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

/// Does one piece of work ahead of questions, if there is any, and schedules the next.
fn idle(worker: &mut Worker, port: &Port, ticks: &port::Ticks) {
    if parts::is_here(Part::Whole) {
        work_ahead(worker, port);
    }
    if worker.has_idle_work() {
        ticks.schedule();
    }
}

apart! { "whole", "57",
    fn work_ahead(worker: &mut Worker, port: &Port) -> () {
        worker.warm_up(port);
        match &mut worker.file {
            Some(File::Snapshot(document, _)) => worker.preparation.step(document, &mut worker.views),
            Some(File::Graphs(graphs)) => search(graphs),
            Some(File::Fleet(_)) | None => {}
        }
    }
}

apart! { "whole", "58",
    fn begin_warm_up(worker: &mut Worker) -> () {
        worker.bitmaps.warm_up();
        worker.warm_up = Some(WarmUp::new(clock::now_ms()));
        wasm_bindgen_futures::spawn_local(async {
            open::rehearse(warm_up::SNAPSHOT).await;
        });
    }
}

apart! { "whole", "59",
    /// Forgets the tiny snapshot, and all that was computed from it.
    fn forget_warm_up(worker: &mut Worker) -> () {
        *worker = Worker {
            queue: std::mem::take(&mut worker.queue),
            gate: worker.gate.clone(),
            bitmaps: std::mem::take(&mut worker.bitmaps),
            ..Worker::default()
        };
    }
}

apart! { "mini", "5b",
    /// The answer to a question about the first picture, with its attachment.
    fn answer_first(worker: &mut Worker, question: &Question) -> (Option<Answer>, JsValue) {
        let (Some(File::Snapshot(document, _)), None) = (&worker.file, Part::that_answers(question)) else {
            return (None, JsValue::NULL);
        };
        if let Question::Draw(draw) = question {
            let drawn = draw_picture(document, &mut worker.painter, &mut worker.bitmaps, draw);
            return worker.shown(drawn);
        }
        let answered = views::of_first_picture(question, document, &mut worker.painter);
        worker.attached(answered)
    }
}

apart! { "whole", "5a",
    fn answer_any(worker: &mut Worker, within: Option<&str>, question: &Question) -> (Option<Answer>, JsValue) {
        if let Question::Adopt(asked) = question {
            return (live::adopt(worker, asked), JsValue::NULL);
        }
        let answered = match (&mut worker.file, within) {
            (Some(File::Graphs(graphs)), _) => match question {
                Question::Graph(question) => of_graphs(graphs, question),
                _ => None,
            },
            (Some(File::Fleet(ranks)), _) => match question {
                Question::Fleet(question) => of_fleet(ranks, question),
                _ => None,
            },
            (Some(File::Snapshot(document, _)), None) => {
                if let Question::Draw(draw) = question {
                    let drawn = draw_picture(document, &mut worker.painter, &mut worker.bitmaps, draw);
                    return worker.shown(drawn);
                }
                views::answer(question, document, &mut worker.painter, &mut worker.views)
            }
            (Some(File::Snapshot(document, _)), Some(pools)) => {
                let narrowed = Narrowed::of(document, pools, &mut worker.narrowed);
                if let Question::Draw(draw) = question {
                    let drawn = narrowed.ok_or("no such pool".to_owned()).and_then(|narrowed| {
                        draw_picture(&narrowed.document, &mut narrowed.painter, &mut worker.bitmaps, draw)
                    });
                    return worker.shown(drawn);
                }
                narrowed.and_then(|narrowed| narrowed.answer(question)).or_else(|| {
                    narrowed::is_of_whole(question).then(|| {
                        views::answer(question, document, &mut worker.painter, &mut worker.views)
                    })?
                })
            }
            (None, _) => None,
        };
        worker.attached(answered)
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

impl File {
    fn snapshot(&self) -> Option<&Document> {
        match self {
            Self::Snapshot(document, _) => Some(document),
            Self::Graphs(_) | Self::Fleet(_) => None,
        }
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
                self.file = Some(File::Snapshot(Box::new(document), Told::default()));
                port.send(&Reply::Rehearsed(Box::new(opened)));
            }
            ControlFlow::Break(None) => {}
        }
    }

    /// Forgets what the warm-up left.
    fn forget(&mut self) {
        if parts::is_here(Part::Whole) {
            forget_warm_up(self);
        }
    }

    /// Takes a part in, and reads the file that waited for it.
    fn take_part(&mut self, part: Part, modules: JsValue, port: &Port) {
        if let Err(error) = parts::take(part, &modules.unchecked_into()) {
            let error = Failure::internal(&crate::browser::error_text(&error));
            port.send(&Reply::Failed(Box::new(error)));
        }
        match (part, &self.file) {
            (Part::Views, _) => self.preparation.again(),
            (Part::Whole, Some(File::Snapshot(document, told))) => {
                open::tell_all(document, told, port);
            }
            _ => {}
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
        let waits = self.warm_up.is_some() || self.preparation.is_waiting() || is_searching;
        waits && parts::is_here(Part::Whole)
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
        if self.is_of_other_version(question) {
            return (None, JsValue::NULL);
        }
        match parts::is_here(Part::Whole) {
            true => answer_any(self, within, question),
            false => answer_first(self, question),
        }
    }

    /// An answer with its attachment.
    fn attached(&mut self, answered: Option<(Answer, Extra)>) -> (Option<Answer>, JsValue) {
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
    fn shown(
        &mut self,
        drawn: Result<(DrawnFrame, ImageBitmap), String>,
    ) -> (Option<Answer>, JsValue) {
        match drawn {
            Ok((frame, bitmap)) => {
                self.preparation.begin();
                (Some(DrawRequest::wrap(frame)), bitmap.into())
            }
            Err(error) => {
                port::log_error(&error);
                (None, JsValue::NULL)
            }
        }
    }
}

fn draw_picture(
    document: &Document,
    painter: &mut Painter,
    bitmaps: &mut bitmap::Bitmaps,
    draw: &DrawRequest,
) -> Result<(DrawnFrame, ImageBitmap), String> {
    let start_ms = clock::now_ms();
    let device = document.device(draw.look.device).ok_or("no such device")?;
    let (events, allocations) = (
        device.history.event_count,
        device.history.allocations.len() as u32,
    );
    let frame = painter.draw(document, draw).ok_or("no such device")?;
    let bitmap = bitmaps.bitmap(frame);
    let bitmap = bitmap.map_err(|error| crate::browser::error_text(&error))?;
    let drawn = DrawnFrame {
        draw: draw.clone(),
        draw_ms: clock::now_ms() - start_ms,
        events,
        allocations,
    };
    Ok((drawn, bitmap))
}
