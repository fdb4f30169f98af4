//! Opening: from a blob or an address to a [`Document`], with progress on the way.

use std::ops::ControlFlow;

use wasm_bindgen::{JsCast, JsValue};
use web_sys::Blob;

use vramscope_core::Limits;
use vramscope_core::decode::{Options, decode_with};

use super::blob::BlobReader;
use super::document::Document;
use super::port::Port;
use super::{fetch, opened};
use crate::browser::clock;
use crate::protocol::{Failure, Progress, Reply, Stage};

/// Least time between two progress messages, in ms.
const PROGRESS_EVERY_MS: f64 = 50.0;

/// Sends progress, but not too often.
struct Reporter<'a> {
    port: &'a Port,
    last_ms: f64,
}

impl<'a> Reporter<'a> {
    fn new(port: &'a Port) -> Self {
        Self {
            port,
            last_ms: clock::now_ms(),
        }
    }

    fn report(&mut self, progress: Progress) {
        let now_ms = clock::now_ms();
        if now_ms - self.last_ms >= PROGRESS_EVERY_MS {
            self.last_ms = now_ms;
            self.port.send(&Reply::Progress(progress));
        }
    }
}

/// Fetches and reads what lies at `url`. Tells the page how it goes.
pub(super) async fn url(name: &str, url: &str, port: &Port) -> Option<Document> {
    let mut reporter = Reporter::new(port);
    let fetched = fetch::blob(url, |done_bytes, total_bytes| {
        reporter.report(Progress {
            stage: Stage::Fetching,
            done_bytes,
            total_bytes,
            events: 0,
        });
    });
    match fetched.await {
        Ok(fetched) => blob(name, fetched.into(), port),
        Err(failure) => fail(failure, port),
    }
}

/// Reads a blob. Tells the page how it goes.
pub(super) fn blob(name: &str, blob: JsValue, port: &Port) -> Option<Document> {
    let start_ms = clock::now_ms();
    let reader = match BlobReader::new(blob.unchecked_into::<Blob>()) {
        Ok(reader) => reader,
        Err(error) => {
            let message = format!(
                "cannot read the file: {}",
                crate::browser::error_text(&error)
            );
            return fail(
                Failure {
                    message,
                    is_internal: true,
                    ..Failure::default()
                },
                port,
            );
        }
    };
    let size_bytes = reader.size_bytes();
    let mut reporter = Reporter::new(port);
    let mut events = 0;
    let decoded = decode_with(
        reader,
        Options {
            limits: Limits::default(),
            file_bytes: Some(size_bytes),
            on_progress: &mut |progress| {
                events = progress.events;
                reporter.report(Progress {
                    stage: Stage::Reading,
                    done_bytes: progress.file_bytes,
                    total_bytes: Some(size_bytes),
                    events,
                });
                // Cancelling ends the whole worker.
                ControlFlow::Continue(())
            },
        },
    );
    match decoded {
        Ok(snapshot) => {
            let stage = Stage::Replaying;
            let done = Progress {
                stage,
                done_bytes: size_bytes,
                total_bytes: Some(size_bytes),
                events,
            };
            reporter.report(done);
            let document = Document::new(snapshot);
            let read_ms = clock::now_ms() - start_ms;
            port.send(&Reply::Opened(Box::new(opened::opened(
                &document, name, size_bytes, read_ms,
            ))));
            // While the page builds what it shows of that.
            document.prepare();
            Some(document)
        }
        Err(error) => fail(opened::failure(&error), port),
    }
}

fn fail(failure: Failure, port: &Port) -> Option<Document> {
    port.send(&Reply::Failed(Box::new(failure)));
    None
}
