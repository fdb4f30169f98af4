//! The planner: a program of its own for what takes long and is seldom wanted, in a worker of its own. So it keeps no answer of
//! the file's worker waiting, and gives all its memory back when it ends.
//!
//! Of a snapshot, which the file's worker passes on through the page as a packed copy, it plans packings and replays other
//! settings. Graphs of torch.compile it reads, draws and searches for better orders itself.
//!
//! Each question is answered as a whole, but for searches: a packing is searched for in turns, for as long as it is asked, an order
//! while no question waits.

mod graphs;
mod open;
mod snapshot;
mod what_if;

use std::cell::RefCell;

use vramscope_port::{Bitmaps, Port, Queue, Ticks, serve};
use vramscope_protocol::{Answer, Question, Reply, Request, clock, with_extra};
use wasm_bindgen::JsValue;

use graphs::Graphs;
use snapshot::Snapshot;

#[derive(Default)]
struct Planner {
    queue: Queue<JsValue>,
    /// The file, once it is read.
    file: Option<File>,
    bitmaps: Bitmaps,
}

/// The contents of a file.
enum File {
    Snapshot(Box<Snapshot>),
    Graphs(Box<Graphs>),
}

/// Listens to the page from now on.
pub fn run() {
    // It ends with its thread. So the module needs no code that would free what it keeps.
    let planner: &'static RefCell<Planner> = Box::leak(Box::default());
    serve(
        move |request, attachment| planner.borrow_mut().queue.push(request, attachment),
        move |port, ticks| planner.borrow_mut().work(port, ticks),
    );
}

impl Planner {
    /// Answers one question, or searches if none waits, and schedules the next turn.
    fn work(&mut self, port: &Port, ticks: &Ticks) {
        match self.queue.pop() {
            Some((request, attachment)) => self.take(request, attachment, port),
            None => self.search(),
        }
        let is_searching = match &self.file {
            Some(File::Graphs(graphs)) => graphs.is_searching(),
            _ => false,
        };
        if is_searching || !self.queue.is_empty() {
            ticks.schedule();
        }
    }

    fn take(&mut self, request: Request, attachment: JsValue, port: &Port) {
        match request {
            Request::OpenBlob { name } => {
                let graphs = open::graphs(&name, attachment, port);
                self.file = graphs.map(|graphs| File::Graphs(Box::new(graphs)));
            }
            Request::OpenPacked => {
                let snapshot = open::packed(attachment, port);
                self.file = snapshot.map(|snapshot| File::Snapshot(Box::new(snapshot)));
            }
            Request::Ask {
                request,
                slot,
                within,
                question,
            } => {
                let (answer, attachment) = self.answer(within.as_deref(), &question);
                let reply = Reply::Answer {
                    request,
                    slot,
                    answer,
                };
                port.send_with(&reply, &attachment);
            }
            // The worker of the file fetches and draws.
            Request::OpenUrl { .. } | Request::Reload { .. } | Request::Take | Request::Hold(_) => {
            }
        }
    }

    /// The answer to a question, and its attachment or `NULL`.
    fn answer(&mut self, within: Option<&str>, question: &Question) -> (Option<Answer>, JsValue) {
        let answered = match (&mut self.file, question) {
            (Some(File::Graphs(graphs)), Question::Graph(question)) => {
                with_extra(question, graphs.answer(question))
            }
            (Some(File::Snapshot(snapshot)), Question::WhatIf(question)) => {
                with_extra(question, snapshot.answer(within, question, clock::now_ms))
            }
            _ => None,
        };
        self.bitmaps.attached(answered)
    }

    fn search(&mut self) {
        if let Some(File::Graphs(graphs)) = &mut self.file {
            graphs.search(clock::now_ms);
        }
    }
}
