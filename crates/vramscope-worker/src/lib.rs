//! The worker: a program of its own that reads one file, keeps it, draws it and answers questions about it.
//!
//! ```text
//! messages ─> queue ─> open ─> Document ─> answer / Painter ─> messages
//!                          ├─> Ranks ─> answer ───────────────────┤
//!                          └─> text ──────────────────────────────┘
//! ```
//!
//! Everything but `open` and `fetch` is free of the browser and tested natively. Packing, what-if and graphs of
//! torch.compile are another program's (`vramscope-planner`).

mod answer;
mod colours;
mod describe;
mod document;
mod fetch;
mod filter;
mod flame_trees;
mod fleet;
mod gate;
mod live;
mod narrowed;
mod native;
mod open;
mod opened;
mod painter;
#[cfg(test)]
mod picture_tests;
mod prepare;
mod range;
mod reserved;
#[cfg(test)]
mod tests;
mod text;
mod views;
mod warm_up;

pub use native::Native;
use vramscope_port::{Bitmaps, Port, Queue, Ticks, log_error, serve};
use vramscope_protocol::clock;
use vramscope_protocol::views::what_if::Found;
use vramscope_protocol::{
    Answer, Ask, DrawRequest, DrawnFrame, Question, Reply, Request, from_bytes, with_extra,
};

use std::cell::RefCell;
use std::rc::Rc;

use js_sys::Uint8Array;
use wasm_bindgen::JsValue;
use web_sys::ImageBitmap;

use document::Document;
use fleet::Ranks;
use gate::Gate;
use narrowed::Narrowed;
use painter::Painter;

#[derive(Default)]
struct Worker {
    queue: Queue<JsValue>,
    /// Closed while no more may be downloaded.
    gate: Rc<Gate>,
    /// The file, once it is read.
    file: Option<File>,
    /// The next version of the file, once it is read.
    next: Option<Box<live::Next>>,
    painter: Painter,
    bitmaps: Bitmaps,
    views: views::Caches,
    /// The memory pools that were asked about last.
    narrowed: Option<Narrowed>,
    /// Work done ahead of questions.
    preparation: prepare::Preparation,
    /// Until when it works on a tiny snapshot while no request has come.
    warm_up_end_ms: Option<f64>,
}

/// The contents of a file.
enum File {
    Snapshot(Box<Document>),
    Fleet(Box<Ranks>),
}

/// Listens to the page from now on.
pub fn run() {
    // It ends with its thread. So the module needs no code that would free what it keeps.
    let worker: &'static RefCell<Worker> = Box::leak(Box::default());
    let ticks = serve(
        move |request, attachment| worker.borrow_mut().queue.push(request, attachment),
        move |port, ticks| work(worker, port, ticks),
    );
    worker.borrow_mut().warm_up_end_ms = Some(clock::now_ms() + warm_up::DURATION_MS);
    ticks.schedule();
}

/// Answers one question and schedules the next, so that messages come in between and newer questions replace older
/// ones.
fn work(worker: &'static RefCell<Worker>, port: &Rc<Port>, ticks: &Ticks) {
    let next = worker.borrow_mut().queue.pop();
    let Some((request, attachment)) = next else {
        return idle(&mut worker.borrow_mut(), ticks);
    };
    worker.borrow_mut().end_warm_up();
    match request {
        Request::OpenBlob { name } => {
            let port = port.clone();
            wasm_bindgen_futures::spawn_local(async move {
                let file = open::blob(&name, attachment, &port).await;
                worker.borrow_mut().file = file;
            });
        }
        Request::OpenUrl { name, url } => {
            let port = port.clone();
            let gate = worker.borrow().gate.clone();
            wasm_bindgen_futures::spawn_local(async move {
                let file = open::url(&name, &url, &gate, &port).await;
                worker.borrow_mut().file = file;
            });
        }
        Request::Reload { name, url } => live::reload(worker, port.clone(), name, url),
        Request::Take => worker.borrow_mut().take(&attachment),
        Request::Hold(on) => worker.borrow().gate.set_closed(on),
        // The planner's.
        Request::OpenPacked => {}
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
fn idle(worker: &mut Worker, ticks: &Ticks) {
    match &mut worker.file {
        Some(File::Snapshot(document)) => worker.preparation.step(document, &mut worker.views),
        Some(File::Fleet(_)) => {}
        None => worker.warm_up(),
    }
    if worker.has_idle_work() {
        ticks.schedule();
    }
}

impl File {
    fn snapshot(&self) -> Option<&Document> {
        match self {
            Self::Snapshot(document) => Some(document),
            Self::Fleet(_) => None,
        }
    }
}

impl Worker {
    /// Works on a tiny snapshot for a few ms, unless a request has come or the time for that is over.
    fn warm_up(&mut self) {
        let Some(end_ms) = self.warm_up_end_ms else {
            return;
        };
        if warm_up::round(&mut self.painter).is_none() || clock::now_ms() >= end_ms {
            self.end_warm_up();
        }
    }

    fn end_warm_up(&mut self) {
        if self.warm_up_end_ms.take().is_some() {
            self.painter = Painter::default();
        }
    }

    /// Forgets the file and all that was computed from it.
    fn forget(&mut self) {
        *self = Self {
            queue: std::mem::take(&mut self.queue),
            gate: self.gate.clone(),
            bitmaps: std::mem::take(&mut self.bitmaps),
            ..Self::default()
        };
    }

    fn has_idle_work(&self) -> bool {
        match &self.file {
            None => self.warm_up_end_ms.is_some(),
            _ => self.preparation.is_waiting(),
        }
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

    /// Keeps what the planner found, which the page passes on.
    fn take(&mut self, bytes: &JsValue) {
        let found: Result<Found, _> = from_bytes(&Uint8Array::new(bytes).to_vec());
        let document = self.file.as_ref().and_then(File::snapshot);
        let (Ok(found), Some(document)) = (found, document) else {
            return;
        };
        match found.within.clone() {
            None => views::take(found, document, &mut self.views),
            Some(pools) => {
                if let Some(narrowed) = Narrowed::of(document, &pools, &mut self.narrowed) {
                    narrowed.take(found);
                }
            }
        }
    }

    /// The answer to a question, and its attachment or `NULL`.
    fn answer(&mut self, within: Option<&str>, question: &Question) -> (Option<Answer>, JsValue) {
        if self.is_of_other_version(question) {
            return (None, JsValue::NULL);
        }
        if let Question::Adopt(asked) = question {
            return (live::adopt(self, asked), JsValue::NULL);
        }
        let answered = match &mut self.file {
            Some(File::Fleet(ranks)) => match question {
                Question::Fleet(question) => with_extra(question, ranks.answer(question)),
                _ => None,
            },
            Some(File::Snapshot(document)) => {
                let narrowed =
                    within.map(|pools| Narrowed::of(document, pools, &mut self.narrowed));
                if let Question::Draw(draw) = question {
                    let drawn = match narrowed {
                        None => draw_picture(document, &mut self.painter, &mut self.bitmaps, draw),
                        Some(None) => Err("no such pool".to_owned()),
                        Some(Some(Narrowed {
                            document, painter, ..
                        })) => draw_picture(document, painter, &mut self.bitmaps, draw),
                    };
                    return self.shown(drawn);
                }
                let is_of_whole = within.is_none() || narrowed::is_of_whole(question);
                let answered = narrowed
                    .flatten()
                    .and_then(|narrowed| narrowed.answer(question));
                answered.or_else(|| {
                    let (painter, views) = (&mut self.painter, &mut self.views);
                    is_of_whole.then(|| views::answer(question, document, painter, views))?
                })
            }
            None => None,
        };
        self.bitmaps.attached(answered)
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
                log_error(&error);
                (None, JsValue::NULL)
            }
        }
    }
}

fn draw_picture(
    document: &Document,
    painter: &mut Painter,
    bitmaps: &mut Bitmaps,
    draw: &DrawRequest,
) -> Result<(DrawnFrame, ImageBitmap), String> {
    let start_ms = clock::now_ms();
    let device = document.device(draw.look.device).ok_or("no such device")?;
    let (events, allocations) = (
        device.history.event_count,
        device.history.allocations.len() as u32,
    );
    let frame = painter.draw(document, draw).ok_or("no such device")?;
    let bitmap = bitmaps.of_pixels(frame.width_px, frame.height_px, &frame.rgba);
    let bitmap = bitmap.map_err(|error| vramscope_protocol::error_text(&error))?;
    let drawn = DrawnFrame {
        draw: draw.clone(),
        draw_ms: clock::now_ms() - start_ms,
        events,
        allocations,
    };
    Ok((drawn, bitmap))
}
