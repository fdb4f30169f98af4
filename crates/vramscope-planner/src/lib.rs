//! The planner: a program of its own for what takes long and is seldom wanted, in a worker of its own. So it keeps no answer of
//! the file's worker waiting, and gives all its memory back when it ends.
//!
//! It reads graphs of torch.compile, draws them and searches for better orders while no question waits.

mod graphs;
mod open;

use std::cell::RefCell;

use vramscope_port::{Bitmaps, Port, Queue, Ticks, serve};
use vramscope_protocol::{Answer, Question, Reply, Request, clock, with_extra};
use wasm_bindgen::JsValue;

use graphs::Graphs;

#[derive(Default)]
struct Planner {
    queue: Queue<JsValue>,
    /// The file, once it is read.
    graphs: Option<Graphs>,
    bitmaps: Bitmaps,
}

/// Listens to the page from now on.
pub fn run() {
    // It ends with its thread. So the module needs no code that would free what it keeps.
    let planner: &'static RefCell<Planner> = Box::leak(Box::default());
    serve(
        move |request, attachment| planner.borrow_mut().queue.push(request, attachment),
        move |port, ticks| work(planner, port, ticks),
    );
}

/// Answers one question, or searches if none waits, and schedules the next turn.
fn work(planner: &RefCell<Planner>, port: &Port, ticks: &Ticks) {
    let next = planner.borrow_mut().queue.pop();
    match next {
        Some((Request::OpenBlob { name }, blob)) => {
            planner.borrow_mut().graphs = open::graphs(&name, blob, port);
        }
        Some((
            Request::Ask {
                request,
                slot,
                question,
                ..
            },
            _,
        )) => {
            let (answer, attachment) = planner.borrow_mut().answer(&question);
            let reply = Reply::Answer {
                request,
                slot,
                answer,
            };
            port.send_with(&reply, &attachment);
        }
        // The worker of the file fetches.
        Some(_) => {}
        None => planner.borrow_mut().search(),
    }
    let planner = planner.borrow();
    if !planner.queue.is_empty() || planner.graphs.as_ref().is_some_and(Graphs::is_searching) {
        ticks.schedule();
    }
}

impl Planner {
    /// The answer to a question, and its attachment or `NULL`.
    fn answer(&mut self, question: &Question) -> (Option<Answer>, JsValue) {
        let answered = match (&mut self.graphs, question) {
            (Some(graphs), Question::Graph(question)) => {
                with_extra(question, graphs.answer(question))
            }
            _ => None,
        };
        self.bitmaps.attached(answered)
    }

    fn search(&mut self) {
        if let Some(graphs) = &mut self.graphs {
            graphs.search(clock::now_ms);
        }
    }
}
